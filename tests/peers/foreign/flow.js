// The flow of the check in JavaScript: one call, one query, one line, and one of WASI's clocks.
import { call } from "rote:host/tools@0.2.0";
import { response } from "rote:host/query@0.2.0";
import { human } from "rote:host/output@0.2.0";

export function describe() {
  return JSON.stringify({ kind: "component" });
}

export function run(parameters) {
  const { project } = JSON.parse(parameters);
  const answer = call({ adapter: "tracker", tool: "listIssues", arguments: JSON.stringify({ project }) });
  const count = JSON.parse(response(answer.id, "length")[0]);
  human(`${project} has ${count} issues`);
  return JSON.stringify({ count, later: Date.now() > 0 });
}
