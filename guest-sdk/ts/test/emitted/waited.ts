import { type Json, type Response, Rote, sleep } from "@rote/sdk";

interface Params {
  id: string;
  view?: string;
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const shop = rote.adapter("shop");

  const startedExport = await shop.call("startExport", { id: params.id });

  const fetchedExport = await until(['.status == "done"', ""], [2000, 5], () =>
    shop.call("getExport", { export: one(startedExport, ".id"), view: params.view }),
  );

  if (compare(read(fetchedExport, ".parts"), 1) > 0) {
    await until(['.status == "done"', '.status == "lost"'], [2000, 2], () =>
      shop.call("getArchive", { export: one(startedExport, ".id") }),
    );
  }

  await shop.call("publish", { url: one(fetchedExport, ".url") });

  return read(fetchedExport, ".parts");
}

/** Returns the one output of a jq program; null is not one. */
function one(response: Response, program: string): Json {
  const value = read(response, program);
  if (value === null) throw new Error(`\`${program}\` of @${response.id} is null`);
  return value;
}

/** Returns the one output of a jq program. */
function read(response: Response, program: string): Json {
  const outputs = response.query(program);
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined) {
    throw new Error(`\`${program}\` of @${response.id} has ${outputs.length} outputs, one is needed`);
  }
  return value;
}

/** Makes a call until something is so of its answer: pauses so many milliseconds between two, and makes so many at most. */
async function until(
  [program, never]: [string, string],
  [pause, most]: [number, number],
  call: () => Promise<Response>,
): Promise<Response> {
  for (let made = 1; ; made += 1) {
    const answer = await call();
    const says = (asked: string) => answer.query(asked).some((said) => said !== null && said !== false);
    if (says(program)) return answer;
    if (never !== "" && says(never)) throw new Error(`waited in vain for \`${program}\`: \`${never}\``);
    if (made === most) throw new Error(`waited in vain: \`${program}\` was not so in ${most} calls`);
    await sleep(pause);
  }
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
