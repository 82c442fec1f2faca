import { type Json, type JsonObject, type Response, Rote } from "@rote/sdk";

interface Params {
  "due-date"?: string;
  estimate?: JsonObject;
  labels?: string[];
  note?: string | null;
  pageSize: number;
  priority: "low" | "high";
  share: number;
  title: string;
  type: string | null;
}

export default async function main(params: Params): Promise<unknown> {
  const rote = await Rote.workspace("run");
  const tracker = rote.adapter("tracker");

  // Typed by hand for @1: project.
  const issues = await tracker.call("listIssues", { project: "atlas", size: params.pageSize });

  // Typed by hand for @2: more.odd key.
  const issue = await tracker.call("createIssue", {
    title: `Copy of ${params.title} \`\${1}\` {${params.share}} ${text(one(issues, "[.items[].id]"))}`,
    key: text(one(issues, ".items | length")),
    parent: one(issues, ".items[] | select(.title == $title) | .id", { title: params.title }),
    others: issues.query(".items[].n | select(. >= $n) # all", { n: one(issues, ".items[0].n") }),
    priority: params.priority,
    labels: params.labels,
    more: {
      due: params["due-date"],
      estimate: params.estimate,
      "odd key": [1, 5000000000, 0.5, null],
    },
    type: params.type,
    note: params.note !== undefined ? params.note : "none",
    share: params.share,
  });

  return { id: read(issue, ".id"), note: params.note, none: read(issue, ".missing") };
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

/** Returns a value as it stands inside text. */
function text(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
