import { type Json, type JsonObject, Query, type Response, Rote } from "@rote/sdk";

interface Params {
  id: string;
  state?: string;
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const shop = rote.adapter("shop");

  // Typed by hand for @1: size.
  const orders = await pages((said) => ({ cursor: said }), ".next", ".items", (page) =>
    shop.call("listOrders", { state: params.state, size: 2, ...page }),
  );

  for (const order of (await allOfPages(orders, ".items[] | select(.n > 1)"))) {
    await shop.call("getOrder", { id: field(order, "id") });
  }

  if ((await allOfPages(orders, ".items[0]")).some((output) => output !== null)) {
    await shop.call("count", {
      count: await ofPages(orders, ".items | length"),
      named: await ofPages(orders, ".items | map(select(.id == $id)) | length", { id: params.id }),
    });
  }

  if (compare(await ofPages(orders, ".items | length", {}, true), 2) > 0) {
    const notes = await pages((_, read) => ({ page: 1 + read }), ".next", ".items", (page) =>
      shop.call("listNotes", { ...page }),
    );
    await shop.call("addNote", { after: await ofPages(notes, ".items[-1].text") });
  }

  const tags = await pages(onlyPage, ".next", ".items", (page) =>
    shop.call("listTags", { ...page }),
  );

  return {
    orders,
    next: await ofPages(orders, ".next", {}, true),
    tags: await ofPages(tags, ".items", {}, true),
  };
}

/** Reads a list page by page, as long as an answer says that there is another one: the last answer with the items of all. */
async function pages(
  turn: (said: Json, read: number) => JsonObject,
  next: string,
  items: string,
  call: (page: JsonObject) => Promise<Response>,
): Promise<Json> {
  const read: Json[] = [];
  const named: string[] = [];
  let page: JsonObject = {};
  for (;;) {
    const answer = await call(page);
    read.push(answer.json());
    const [said = null] = answer.query(next);
    if (said === null || said === false || said === "") break;
    page = turn(said, read.length);
    const name = JSON.stringify(page);
    if (named.includes(name)) throw new Error(`page ${name} is named twice, so the pages do not end`);
    if (read.length === 100) throw new Error("the list has more than 100 pages");
    named.push(name);
  }
  if (read.length === 1) return read[0] ?? null;
  const join = `[.[] | (${items} // [])[]] as $items | .[-1] | ${items} = $items`;
  return new Query({ value: read }).pipe(join).execute();
}

/** Stops where a list has another page. */
function onlyPage(): never {
  throw new Error("the list has another page, and only one can be read");
}

/** Returns the one output of a jq program on all pages of a list. */
async function ofPages(
  list: Json,
  program: string,
  variables: Record<string, Json> = {},
  nullable: boolean = false,
): Promise<Json> {
  const outputs = await allOfPages(list, program, variables);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || (value === null && !nullable)) {
    throw new Error(`\`${program}\` of all pages gives ${JSON.stringify(outputs)}, one value is needed`);
  }
  return value;
}

/** Returns the outputs of a jq program on all pages of a list. */
async function allOfPages(list: Json, program: string, variables: Record<string, Json> = {}): Promise<Json[]> {
  const bound = Object.entries(variables).map(([name, value]) => `(${JSON.stringify(value)}) as $${name} | `);
  return new Query({ value: list }).pipe(bound.join("") + program).all();
}

/** Returns what an item has at this path, which must be something. */
function field(item: Json, ...path: string[]): Json {
  let value: Json | undefined = item;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (value === undefined || value === null) throw new Error(`\`.${path.join(".")}\` of an item is missing`);
  return value;
}

/** Returns less than, equal to or more than 0, as two numbers or two texts stand in order. */
function compare(left: Json, right: Json): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  if (typeof left !== "string" || typeof right !== "string") throw new Error("two numbers or two texts are needed");
  const codes = (text: string): number[] => Array.from(text, (c) => c.codePointAt(0) ?? 0);
  const [mine, others] = [codes(left), codes(right)];
  const at = mine.findIndex((code, index) => code !== others[index]);
  return at < 0 ? mine.length - others.length : (mine[at] ?? -1) - (others[at] ?? -1);
}
