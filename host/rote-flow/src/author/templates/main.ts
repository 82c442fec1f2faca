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
 * #     tools: [issues_list]
 * # write_permissions: [tracker/issues_create]
 * ---
 */
import { FlowOutput } from "@rote/sdk";

interface Params {
  who: string;
}

export default async function main(params: Params): Promise<void> {
  const output = new FlowOutput();
  const text = `Hello, ${params.who}!`;
  output.human(text);
  output.summary("greeted");
  output.result({ text });
}
