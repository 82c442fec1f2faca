import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json } from "../src/index.js";
import { FakeHost, runFlow } from "../src/testing.js";
import absent from "./emitted/absent.ts";
import asked from "./emitted/asked.ts";
import beside from "./emitted/beside.ts";
import forms from "./emitted/forms.json" with { type: "json" };
import found from "./emitted/found.ts";
import given from "./emitted/given.ts";
import made from "./emitted/made.ts";
import paged from "./emitted/paged.ts";
import repeated from "./emitted/repeated.ts";
import waited from "./emitted/waited.ts";

// What rote writes for a plan does what the plan did. The sources and `forms.json` are written by the tests of the
// host's crate `rote-flow`.
const flows = { absent, asked, beside, found, given, made, paged, repeated, waited } as unknown as Record<string, (parameters: object) => unknown>;

for (const { name, answers, runs, queries } of forms) {
  const known = new Map(queries.map(({ input, program, outputs }) => [JSON.stringify([input, program]), outputs as Json[]]));
  const query = (input: Json, program: string): Json[] => {
    if (program === ".") return [input];
    const outputs = known.get(JSON.stringify([input, program]));
    assert.ok(outputs, `the plan did not ask \`${program}\` of ${JSON.stringify(input)}`);
    return outputs;
  };
  runs.forEach(({ parameters, calls, slept, result }, number) => {
    test(`the source of \`${name}\` does what the plan did (${number + 1})`, async () => {
      const bodies = answers as Record<string, Json & { $in_order?: Json[] }>;
      const answer = (call: string): (() => Json) => {
        const inOrder = [...(bodies[call]?.$in_order ?? [bodies[call] ?? null])];
        return () => (inOrder.length > 1 ? inOrder.shift() : inOrder[0]) ?? null;
      };
      const tools = Object.fromEntries(
        [...Object.keys(bodies), ...calls.map(({ adapter, tool }) => `${adapter}/${tool}`)].map((call) => [call, answer(call)]),
      );
      const host = new FakeHost({ tools, query });
      const flow = flows[name];
      assert.ok(flow);
      const run = await runFlow(flow, parameters, host);
      assert.deepEqual(host.calls, calls);
      assert.equal(host.elapsed(), slept);
      if ("ok" in result) assert.deepEqual(run.result, result.ok);
      else assert.ok(run.error, `the plan failed: ${result.error}`);
    });
  });
}
