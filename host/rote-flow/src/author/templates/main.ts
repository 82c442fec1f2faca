/**
 * @rote-frontmatter
 * ---
 * name: {name}
 * description: Greets someone.
 * version: 0.1.0
 * parameters:
 *   properties:
 *     who:
 *       type: string
 *       description: Who is greeted.
 *       examples: [Ada]
 *   required: [who]
 * # adapters:
 * #   tracker:
 * #     tools: [listIssues]
 * # write_permissions: [tracker/createIssue]
 * ---
 */
import { FlowOutput } from "@rote/sdk";

interface Params {
  who: string;
}

export default async function main(params: Params): Promise<void> {
  // An adapter that the frontmatter names is called like this, with `AdapterRegistry` imported from "@rote/sdk" too:
  //   const tracker = new AdapterRegistry().adapter("tracker");
  //   const issues = (await tracker.call("listIssues", { project: "atlas" })).json();
  const output = new FlowOutput();
  const text = `Hello, ${params.who}!`;
  output.human(text);
  output.summary("greeted");
  output.result({ text });
}
