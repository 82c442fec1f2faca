import { type Json, type JsonObject, Query, type Response, Rote } from "@rote/sdk";

interface Params {
  body: string;
  names: string[];
}

export default async function main(params: Params): Promise<Json> {
  const rote = await Rote.workspace("run");
  const tracker = rote.adapter("tracker");

  const issues = await tracker.call("listIssues");

  const fetchedIssues = await Promise.all(
    issues.query('.items[] | select(.state == "open")').map(async (issue) => tracker.call("getIssue", {
      issue_id: field(issue, "id"),
    })),
  );

  const comments: Response[] = [];
  for (const [index, issue] of fetchedIssues.map((fetchedIssue) => one(fetchedIssue, ".")).entries()) {
    comments.push(await tracker.call("addComment", {
      issue_id: field(issue, "owner", "id"),
      body: `${params.body}, ${text(await oneOf(issue, '.labels | join("+")'))} #${index}`,
      all: field(issue),
    }));
  }

  for (const name of params.names) {
    await tracker.call("invite", { name, of: comments.map((comment) => one(comment, ".id")) });
  }

  return {
    comments: comments.map((comment) => read(comment, ".id")),
    tags: comments.flatMap((comment) => comment.query(".tags[]")),
  };
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

/** Returns what an item has at this path, which must be something. */
function field(item: Json, ...path: string[]): Json {
  let value: Json | undefined = item;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (value === undefined || value === null) throw new Error(`\`.${path.join(".")}\` of an item is missing`);
  return value;
}

/** Returns the one output of a jq program on an item; null is not one. */
async function oneOf(item: Json, program: string): Promise<Json> {
  const outputs = await new Query({ value: item }).pipe(program).all();
  const [value] = outputs;
  if (outputs.length !== 1 || value === undefined || value === null) {
    throw new Error(`\`${program}\` of an item has ${outputs.length} outputs, one that is not null is needed`);
  }
  return value;
}

/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
