import { type Json, type JsonObject, type Response, Rote } from "@rote/sdk";

export default async function main(): Promise<Json> {
  const rote = await Rote.workspace("run");
  const shop = rote.adapter("shop");

  const orders = await shop.call("listOrders");

  const fetchedOrders = await Promise.all(
    orders.query(".items[] | select(.n > 1)").map(async (order) => shop.call("getOrder", {
      id: field(order, "id"),
    })),
  );

  for (const order of fetchedOrders.map((fetchedOrder) => one(fetchedOrder, "."))) {
    await shop.call("tellOwner", { to: field(order, "owner") });
  }

  const notes: Response[] = [];
  for (const order of orders.query("[.items[] | select(.n > 1)] as $items | range($items | length) as $at | {s2: $s2[$at], item: $items[$at]}", { s2: fetchedOrders.map((fetchedOrder) => one(fetchedOrder, ".owner")) })) {
    notes.push(await shop.call("addNote", {
      order: field(order, "item", "id"),
      text: `for ${text(field(order, "s2"))}`,
    }));
  }

  return notes.map((note) => read(note, ".id"));
}

/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const value = read(response, program, values);
  if (value === null) throw new Error(`\`${program}\` of @${response.id} is null`);
  return value;
}

/** Returns the one output of a jq program. */
function read(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const outputs = response.query(program, values);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined) {
    throw new Error(`\`${program}\` of @${response.id} has ${outputs.length} outputs, one is needed`);
  }
  return value;
}

/** Returns what an item has at this path, which must be something. */
function field(item: Json, ...path: string[]): Json {
  let value: Json | undefined = item;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (value === undefined || value === null) throw new Error(`\`.${path.join(".")}\` of an item is missing`);
  return value;
}

/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
