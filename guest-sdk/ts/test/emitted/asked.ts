import { type Json, type Response, Rote } from "@rote/sdk";

interface Params {
  rest?: number;
  title: string;
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const tracker = rote.adapter("tracker");

  // Typed by hand for @1: issue_id.
  const issue = await tracker.call("getIssue", { issue_id: 7 });

  let closedIssue: Response | undefined;
  if (
    read(issue, ".state") !== "open"
    && (compare(read(issue, ".n"), 2) > 0 || compare(read(issue, ".title"), params.title) <= 0)
    && !exists(issue, ".gone")
    && read(issue, ".ok") === true
  ) {
    [closedIssue] = await Promise.all([
      tracker.call("closeIssue"),
      // Typed by hand for @3: body.
      tracker.call("addComment", { body: "both" }),
    ]);
  }

  if (contains(read(issue, ".labels"), "bug")) {
    await tracker.call("addLabels");
  }

  if (params.rest !== undefined) {
    await tracker.call("setRest", { rest: params.rest });
  }

  if (closedIssue !== undefined) {
    await tracker.call("addLink", { to: one(closedIssue, ".id") });
  }

  if (!(closedIssue !== undefined && exists(closedIssue, ".id"))) {
    await tracker.call("open");
  }

  if (same(read(issue, ".labels"), read(issue, ".marks"))) {
    await tracker.call("same");
  }

  if ((params.rest ?? null) === null) {
    await tracker.call("none");
  }

  if (false) {
    await tracker.call("never");
  }

  if (closedIssue === undefined) throw new Error("the result needs `s2`, which was skipped");
  return [read(closedIssue, ".id")];
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

/** Whether a jq program has an output other than null. */
function exists(response: Response, program: string): boolean {
  return response.query(program).some((output) => output !== null);
}

/** Whether two values are the same JSON, whatever the order of members. */
function same(left: Json, right: Json): boolean {
  if (left === null || right === null || typeof left !== "object" || typeof right !== "object") {
    return left === right;
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const [mine, others] = [Object.entries(left), new Map<string, Json>(Object.entries(right))];
  const has = (name: string, value: Json): boolean => others.has(name) && same(value, others.get(name) ?? null);
  return mine.length === others.size && mine.every(([name, value]) => has(name, value));
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

/** Whether a text has this part, an array this item, an object this member. */
function contains(container: Json, part: Json): boolean {
  if (Array.isArray(container)) return container.some((item) => same(item, part));
  if (typeof part === "string" && typeof container === "string") return container.includes(part);
  if (typeof part === "string" && container !== null && typeof container === "object") {
    return Object.hasOwn(container, part);
  }
  throw new Error("a text, an array or an object is needed");
}
