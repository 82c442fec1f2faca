import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

/** What the component's imports answer; `flows/_js` has them for real. */
const answers: Record<string, (...args: never[]) => unknown> = {
  start: (_adapter: string, tool: string) => {
    return tool === "confirm" ? err({ kind: "confirmation-needed", tool: "api/confirm", impact: "deletes" }) : ok(1);
  },
  waitAny: () => ok([0, { ok: { id: 3, status: 200, contentType: "text/plain", bytes: 1 } }]),
  cancel: () => ok(null),
  probe: () => ok([]),
  status: (adapter: string) => ok({ adapter, expected: "a", installed: "a", matches: true, drift: null, credentials: [] }),
  runFlow: (_name: string, parameters: string) => ok(JSON.parse(parameters)),
  getVariable: (name: string) => ok(name === "x" ? [1] : []),
  setVariable: () => ok(null),
  variableNames: () => ok(["x"]),
  writeFile: () => ok(null),
  readFile: (name: string) => (name === "none" ? err({ kind: "not-found", message: "no file" }) : Uint8Array.of(104, 105)),
  fileNames: () => ok([{ name: "f", bytes: 2 }]),
  queryResponse: (_id: number, program: string) => ok([program]),
  queryValue: () => ok([]),
  now: () => 1,
  elapsed: () => 42,
  sleep: () => undefined,
  random: (length: number) => Uint8Array.from({ length }, (_, index) => (index * 37 + 11) % 256),
  result: () => ok(null),
};

const ok = (value: unknown): string => JSON.stringify({ ok: value });
const err = (error: object): string => JSON.stringify({ err: error });

interface Template {
  start(exports: unknown, parameters: string): void;
  fail(thrown: unknown): void;
  outcome(): string | undefined;
  step(): void;
}

/** Runs a script as the component does; returns its outcome and what it asked of the imports. */
async function run(script: string, parameters = "{}"): Promise<{ outcome: unknown; asked: unknown[][] }> {
  const asked: unknown[][] = [];
  const natives = new Proxy({}, { get: (_, name: string) => (...args: never[]) => (asked.push([name, ...args]), answers[name]?.(...args)) });
  const context = createContext({ natives });
  runInContext(readFileSync(new URL("../template.js", import.meta.url), "utf8"), context);
  const driver = runInContext("template.default(natives)", context) as Template;
  try {
    driver.start(runInContext(script, context), parameters);
  } catch (error) {
    driver.fail(error);
  }
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve));
    const outcome = driver.outcome();
    if (outcome !== undefined) return { outcome: JSON.parse(outcome), asked };
    driver.step();
  }
}

const flow = (body: string): string => `(() => ({ default: async (p) => { ${body} } }))()`;

test("a script's default export gets the parameters and the SDK", async () => {
  const body = 'const rote = await __rote_sdk.Rote.workspace("w"); return [p.n, (await rote.adapter("api").call("t", { a: p.n })).json()]';
  const { outcome, asked } = await run(flow(body), '{"n":7}');
  assert.deepEqual(outcome, { ok: [7, "."] });
  // The arrays are another realm's, so their texts are compared.
  assert.equal(JSON.stringify(asked), JSON.stringify([["start", "api", "t", '{"a":7}'], ["waitAny", [1]], ["queryResponse", 3, "."]]));
});

test("a host error that nobody caught goes back as it came", async () => {
  const { outcome } = await run(flow('await (await __rote_sdk.Rote.workspace("w")).adapter("api").call("confirm")'));
  assert.deepEqual(outcome, { err: { kind: "confirmation-needed", tool: "api/confirm", impact: "deletes" } });
});

test("a script without an entry point says so", async () => {
  const { outcome } = await run("({ other: 1 })");
  assert.match(JSON.stringify(outcome), /internal.*exports no function, `default` or `run`/);
});

test("time and randomness are the host's", async () => {
  const body = "return [performance.now(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(2))], Math.random() === Math.random()]";
  const { outcome, asked } = await run(flow(body));
  assert.deepEqual(outcome, { ok: [42, "0b30557a-9fc4-490e-b358-7da2c7ec1136", [11, 48], false] });
  assert.deepEqual(asked.slice(1), [["random", 16], ["random", 2], ["random", 256]]);
});

test("the console is the log, and text is well-formed", async () => {
  const { asked } = await run(flow('console.log("a \\ud800", { b: 1 }, 2n); console.warn("w"); console.error("e"); console.debug("d")'));
  const lines = [["log", "info", 'a \ufffd {"b":1} 2'], ["log", "warn", "w"], ["log", "error", "e"], ["log", "debug", "d"]];
  assert.deepEqual(asked, lines);
});

test("variables and files pass the border", async () => {
  const body = `const rote = await __rote_sdk.Rote.workspace("w");
    await rote.vars.set("y", { z: 1 });
    await rote.files.write("f", "é");
    const missing = await rote.files.read("none").catch((error) => error.kind);
    return [await rote.vars.get("x"), (await rote.vars.get("y")) ?? null, await rote.files.readText("f"), missing, await rote.flows.run("o", { q: 1 })]`;
  const { outcome, asked } = await run(flow(body));
  assert.deepEqual(outcome, { ok: [1, null, "hi", "not-found", { q: 1 }] });
  assert.deepEqual(asked[0], ["setVariable", "y", '{"z":1}']);
  assert.deepEqual([...(asked[1]?.[2] as Uint8Array)], [0xc3, 0xa9]);
});

test("text passes through the encoder and the decoder", async () => {
  const { outcome } = await run(flow('return new TextDecoder().decode(new TextEncoder().encode("grüße €")) + new TextDecoder().decode(Uint8Array.of(0xe2, 0x82, 0x41))'));
  assert.deepEqual(outcome, { ok: "grüße €\ufffdA" });
});

test("code from texts is refused, however its maker is reached", async () => {
  const makers = ["globalThis['ev' + 'al']", "Function", "(() => 1).constructor", "(async () => 1).constructor",
    "(function* () {}).constructor", "(async function* () {}).constructor", "Object.getPrototypeOf((async () => 1).constructor).constructor"];
  for (const maker of makers) {
    const { outcome } = await run(flow(`try { (${maker})("1"); return "ran"; } catch (error) { return String(error); }`));
    assert.match(JSON.stringify(outcome), /TypeError: `\w+` is refused: a flow runs only the code that was bundled/, maker);
  }
});
