import assert from "node:assert/strict";
import { test } from "node:test";

import * as sdk from "../src/index.js";
import {
  AdapterChecker,
  AdapterRegistry,
  extractContent,
  FlowOutput,
  getExpectedFingerprint,
  initAutoTracking,
  InvalidInputError,
  isLintMode,
  Query,
  Rote,
  RoteError,
  runPreflight,
  sleep,
  TokenManager,
} from "../src/index.js";
import { FakeHost, runFlow } from "../src/testing.js";

const drifted = { adapters: { calendar: { expected: "mcp_old", installed: "mcp_new" } } };

test("the SDK exports what flows are written against", () => {
  const errors = "Auth Cancelled ConfirmationNeeded Denied FingerprintMismatch Http Internal InvalidInput Limit NotFound Upstream";
  const names = [
    ..."Adapter AdapterChecker AdapterRegistry Executor Files FlowOutput Flows Query Response Rote RoteError Task".split(" "),
    ..."TaskQueue TokenManager Variables extractContent getExpectedFingerprint initAutoTracking isLintMode".split(" "),
    "runPreflight",
    "sleep",
    ...errors.split(" ").map((name) => `${name}Error`),
  ];
  assert.deepEqual(Object.keys(sdk).sort(), names.sort());
});

test("a flow waits for a number of milliseconds, and not for anything else", async () => {
  const host = new FakeHost({ now: 1_000, tools: { "calendar/list": () => [] } });
  const flow = async () => {
    const call = (await Rote.workspace("w")).adapter("calendar").call("list");
    await sleep(1_500.2);
    await call;
    for (const wrong of [-1, Number.NaN, Number.POSITIVE_INFINITY, "5" as unknown as number]) {
      await assert.rejects(sleep(wrong), { kind: "invalid-input" });
    }
    return [host.now(), host.elapsed()];
  };
  assert.deepEqual((await runFlow(flow, {}, host)).result, [2_501, 1_501]);
});

test("a drifted adapter is refused in the words of the specification", async () => {
  const check = (endpoint: string, expected?: string) => runFlow(() => AdapterChecker.checkEndpoint(endpoint, expected), {}, new FakeHost(drifted));
  const message = [
    "⚠️ Calendar adapter fingerprint mismatch.",
    "Expected: mcp_old",
    "Installed: mcp_new",
    "Re-export this flow to update fingerprints.",
  ].join("\n");
  assert.deepEqual((await check("adapter/calendar")).error, { kind: "fingerprint-mismatch", message });
  assert.deepEqual((await check("calendar", "mcp_old")).error, { kind: "fingerprint-mismatch", message });
  const result = { adapter: "calendar", expected: "mcp_new", installed: "mcp_new" };
  assert.deepEqual((await check("calendar", "mcp_new")).result, result);
});

test("a pinned adapter is checked before its first call", async () => {
  const host = new FakeHost({ ...drifted, tools: { "calendar/list": () => [] } });
  const run = await runFlow(
    async () => {
      const calendar = (await Rote.workspace("w")).adapter("calendar");
      await assert.rejects(calendar.withFingerprint("mcp_old").call("list"), { kind: "fingerprint-mismatch" });
      assert.equal(host.calls.length, 0);
      return (await calendar.withFingerprint("mcp_new").call("list")).status;
    },
    {},
    host,
  );
  assert.equal(run.result, 200);
});

test("preflight gives the adapters, or the first problem", async () => {
  const credentials = [{ slot: "token", present: false }];
  const preflight = (adapters: string[]) =>
    runFlow(
      async () => {
        const ready = await runPreflight(await Rote.workspace("w"), { adapters });
        return { ids: Object.keys(ready.adapters), sessions: ready.sessions };
      },
      {},
      new FakeHost({ adapters: { ...drifted.adapters, mail: { credentials }, drive: {} } }),
    );
  const sessions = [{ adapter: "drive", fingerprint: "mcp_drive", credentials: [] }];
  assert.deepEqual((await preflight(["adapter/drive"])).result, { ids: ["drive"], sessions });
  assert.equal((await preflight(["mail", "calendar"])).error?.kind, "fingerprint-mismatch");
  assert.deepEqual((await preflight(["mail"])).error, { kind: "auth", message: "adapter `mail` has no value for `token`" });
  assert.equal((await preflight(["none"])).error?.kind, "not-found");
});

test("tokens tell their state and never a value", async () => {
  const slots = [{ slot: "token", present: false }];
  const host = new FakeHost({ adapters: { mail: { credentials: slots }, drive: {} } });
  const run = await runFlow(
    async () => {
      const tokens = new TokenManager();
      await assert.rejects(tokens.refresh("mail"), { kind: "auth" });
      return [await tokens.check("adapter/mail"), await tokens.check("drive"), await tokens.info("mail"), await tokens.refresh("drive")];
    },
    {},
    host,
  );
  const mail = { adapter: "mail", ready: false, slots };
  assert.deepEqual(run.result, [false, true, mail, { adapter: "drive", ready: true, slots: [] }]);
});

test("the expected fingerprint is the frontmatter's", async () => {
  const host = new FakeHost({ adapters: { ...drifted.adapters, drive: { expected: null } } });
  const run = await runFlow(
    () => {
      assert.throws(() => getExpectedFingerprint("drive"), { kind: "fingerprint-mismatch" });
      return getExpectedFingerprint("adapter/calendar");
    },
    {},
    host,
  );
  assert.equal(run.result, "mcp_old");
});

test("a query builds jq", () => {
  const query = new Query("@2");
  assert.equal(query.program, ".");
  const built = query.select(".items").filter(".n > 1").map(".name").at(-1).parseJson().path("a.odd-name.0").path([0, "b", "7"]).pipe("keys");
  const steps = [".items", "map(select(.n > 1))", "map(.name)", ".[-1]", "fromjson", '.a["odd-name"][0]', '.[0].b["7"]', "keys"];
  assert.equal(built.program, steps.join(" | "));
  assert.equal(query.path(".items[0]").program, ".items[0]");
  assert.equal(query.path('["odd.name"][0]').path("").path("..a").program, '.["odd.name"][0] | . | ..a');
  for (const wrong of ["@0", "@x", 1.5, -1]) assert.throws(() => new Query(wrong as number), InvalidInputError);
});

test("a program is given its variables in front", async () => {
  const asked: string[] = [];
  const host = new FakeHost({
    adapters: { a: {} },
    tools: { "a/t": () => ({ ok: true }) },
    query: (_input, program) => {
      asked.push(program);
      return [];
    },
  });
  await runFlow(
    async () => {
      const response = await (await Rote.workspace("w")).adapter("a").call("t", {});
      response.query(".[$n] | $text", { n: -5, text: 'a "b" \\(c)' });
      response.query(".");
      assert.throws(() => response.query(".", { "a-b": 1 }), { kind: "invalid-input" });
    },
    {},
    host,
  );
  assert.deepEqual(asked, ['(-5) as $n | ("a \\"b\\" \\\\(c)") as $text | .[$n] | $text', "."]);
});

test("a query gives its output, all of several, null for none", async () => {
  const host = new FakeHost({ tools: { "api/a": () => ({ items: [{ n: 1 }, { n: 2 }], none: [] }) } });
  const run = await runFlow(
    async () => {
      const rote = await Rote.workspace("w");
      const response = await rote.adapter("api").call("a");
      const values = [
        await rote.query(1).path("items").at(0).execute(),
        await rote.query("@1").select(".items[].n").execute(),
        await rote.query(response).select(".none[]").execute(),
        await rote.query(response).select(".items[].n").all<number>(),
      ];
      await assert.rejects(rote.query(9).execute(), { kind: "not-found" });
      const value = { items: [1] };
      const query = rote.queryValue(value).path("items");
      value.items = [];
      assert.deepEqual([await query.at(0).all(), await query.execute()], [[1], [1]]);
      return values;
    },
    {},
    host,
  );
  assert.deepEqual(run.result, [{ n: 1 }, [1, 2], null, [1, 2]]);
});

test("variables, files and other flows are the host's", async () => {
  const host = new FakeHost({ flows: { other: (parameters) => ({ got: parameters }) }, variables: { old: 1 } });
  const text = "grüße € 🎉 \u0000";
  const run = await runFlow(
    async () => {
      const rote = await Rote.workspace("w");
      await rote.vars.set("new", { a: [1] });
      await rote.files.write("f.txt", text);
      await rote.files.write("b", Uint8Array.of(0xff, 0x41));
      assert.equal(await rote.files.readText("f.txt"), text);
      for (const bytes of [[0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90], [0xe2, 0x82], [0xf0, 0x9f, 0x41], [0xc1, 0x81]]) {
        await rote.files.write("broken", Uint8Array.from(bytes));
        assert.equal(await rote.files.readText("broken"), new TextDecoder().decode(Uint8Array.from(bytes)));
      }
      assert.deepEqual(await rote.files.read("f.txt"), new Uint8Array(Buffer.from(text)));
      await assert.rejects(rote.files.read("none"), { kind: "not-found" });
      return {
        vars: [await rote.vars.get("old"), await rote.vars.get("new"), (await rote.vars.get("none")) ?? "none", await rote.vars.names()],
        files: [await rote.files.readText("b"), (await rote.files.names()).filter(({ name }) => name !== "broken")],
        flow: await rote.flows.run("other", { x: 1 }),
      };
    },
    {},
    host,
  );
  assert.deepEqual(run.result, {
    vars: [1, { a: [1] }, "none", ["new", "old"]],
    files: ["\ufffdA", [{ name: "b", bytes: 2 }, { name: "f.txt", bytes: 18 }]],
    flow: { got: { x: 1 } },
  });
});

test("an adapter is probed by intent", async () => {
  const found = [1, 2, 3].map((n) => ({ tool: `t${n}`, description: "", method: "GET", score: n, input_schema: {} }));
  const host = new FakeHost({ probes: { api: found } });
  const run = await runFlow(async () => (await Rote.workspace("w")).adapter("api").probe("list", { limit: 2 }), {}, host);
  assert.deepEqual(run.result, found.slice(0, 2));
});

test("a registry gives one object per adapter", () => {
  const registry = new AdapterRegistry();
  assert.equal(registry.adapter("adapter/mail"), registry.adapter("mail"));
  assert.equal(registry.adapter("mail").id, "mail");
});

test("tracking sees every call", async () => {
  const host = new FakeHost({ tools: { "api/a": () => 1 } });
  const run = await runFlow(
    async () => {
      const rote = await Rote.workspace("w");
      initAutoTracking(rote.executor);
      await rote.adapter("api").call("a");
      await rote.adapter("api").call("none").catch(() => {});
      return rote.executor.invocations.map(({ tool, response, error }) => [tool, response?.id ?? 0, error?.kind ?? ""]);
    },
    {},
    host,
  );
  assert.deepEqual(run.result, [["a", 1, ""], ["none", 0, "not-found"]]);
  assert.deepEqual(host.logLines.map(({ message }) => message), ["api/a @1 200", "api/none failed: no tool `api/none`"]);
});

test("content is what an answer says", async () => {
  assert.deepEqual(extractContent({ content: [{ type: "text", text: '{"a":1}' }] }), { a: 1 });
  assert.equal(extractContent({ content: [{ text: "plain" }] }), "plain");
  assert.deepEqual(extractContent({ content: [] }), { content: [] });
  assert.equal(extractContent(7), 7);
  const host = new FakeHost({ tools: { "mcp/a": () => ({ content: [{ text: "[1]" }] }) } });
  const run = await runFlow(async () => extractContent(await (await Rote.workspace("w")).adapter("mcp").call("a")), {}, host);
  assert.deepEqual(run.result, [1]);
});

test("a flow's result is what it gives, else returns, else collects", async () => {
  const result = async (main: () => unknown) => (await runFlow(main, {})).result;
  const gives = () => new FlowOutput().result({ from: "output" });
  const collects = () => new FlowOutput().json("a", 1);
  assert.deepEqual(await result(() => (gives(), "returned")), { from: "output" });
  assert.equal(await result(() => (collects(), "returned")), "returned");
  assert.deepEqual(await result(() => (collects(), gives())), { from: "output" });
  assert.deepEqual(await result(collects), { a: 1 });
  assert.equal(await result(() => undefined), null);
  assert.equal(await result(async () => null), null);
});

test("a flow ends where it exits", async () => {
  const run = (code: number) =>
    runFlow(async () => {
      new FlowOutput().result({ before: true });
      try {
        Rote.exit(code);
      } catch {
        return "caught";
      }
    }, {});
  assert.deepEqual((await run(0)).result, { before: true });
  assert.deepEqual((await run(3)).error, { kind: "internal", message: "the flow exited with code 3" });
});

test("a flow's own errors cannot speak for a policy", async () => {
  const error = async (thrown: unknown) => (await runFlow(() => Promise.reject(thrown), {})).error;
  assert.equal((await error(new RoteError("confirmation-needed", "please")))?.kind, "internal");
  assert.equal((await error(new RoteError("not-found", "no user")))?.kind, "not-found");
  const problems = [{ pointer: "/n", message: "is negative" }];
  assert.deepEqual(await error(new InvalidInputError(problems)), { kind: "invalid-input", problems });
  assert.deepEqual(await error("text"), { kind: "internal", message: "the flow threw text" });
});

test("outside of a run there is no host, and the SDK says so", async () => {
  assert.equal(isLintMode(), true);
  await assert.rejects(Rote.workspace("w"), /there is no host/);
  assert.equal((await runFlow(() => isLintMode(), {})).result, false);
});
