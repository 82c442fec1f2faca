import { type Json, type JsonObject, type Response, Rote } from "@rote/sdk";

interface Params {
  any: Json;
  first?: string;
  items?: Json[];
  second?: string;
  size?: number;
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const shop = rote.adapter("shop");

  const listedAnswer = await shop.call("list", {
    either: params.first ?? params.second,
    text: `size ${text(given("size", params.size))}`,
    list: [given("size", params.size), { deep: params.second }],
  });

  const answers: Response[] = [];
  for (const item of list(given("items", params.items))) {
    answers.push(await shop.call("get", { item: field(item), more: { first: params.first } }));
  }

  if (answers.some((answer2) => exists(answer2, ".ok"))) {
    await shop.call("count", {
      count: one(listedAnswer, "map(select(.k == $k)) | length", { k: some("any", params.any) }),
    });
  }

  return params.first ?? null;
}

/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string, values: Record<string, Json> = {}): Json {
  const outputs = response.query(program, values);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || value === null) {
    throw new Error(`\`${program}\` of @${response.id} gives ${JSON.stringify(outputs)}, one value is needed`);
  }
  return value;
}

/** Whether a jq program has an output other than null. */
function exists(response: Response, program: string, values: Record<string, Json> = {}): boolean {
  return response.query(program, values).some((output) => output !== null);
}

/** Returns what an item has at this path, which must be something. */
function field(item: Json, ...path: string[]): Json {
  let value: Json | undefined = item;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (value === undefined || value === null) throw new Error(`\`.${path.join(".")}\` of an item is missing`);
  return value;
}

/** Returns the items of an array. */
function list(value: Json): Json[] {
  if (!Array.isArray(value)) throw new Error(`an array is needed, not ${JSON.stringify(value)}`);
  return value;
}

/** Returns a parameter that is needed here although a run may be without it. */
function given<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`parameter \`${name}\` was not given`);
  return value;
}

/** Returns a value that must not be null. */
function some(name: string, value: Json): Json {
  if (value === null) throw new Error(`\`$${name}\` is null`);
  return value;
}

/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
