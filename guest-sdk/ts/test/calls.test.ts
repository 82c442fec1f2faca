import assert from "node:assert/strict";
import { test } from "node:test";

import {
  CancelledError,
  ConfirmationNeededError,
  DeniedError,
  FingerprintMismatchError,
  FlowOutput,
  HttpError,
  NotFoundError,
  Response,
  Rote,
  RoteError,
  TaskQueue,
} from "../src/index.js";
import { FakeAnswer, FakeHost, type FakeOptions, refuse, runFlow } from "../src/testing.js";

const echo: FakeOptions = { tools: { "api/a": () => ({ name: "a" }), "api/b": () => ({ name: "b" }), "api/c": () => "c" } };

test("a call answers with a response that is read lazily", async () => {
  const host = new FakeHost({ tools: { "calendar/list": (args) => ({ items: [{ id: 1, args }] }) } });
  const run = await runFlow(
    async () => {
      const rote = await Rote.workspace("w");
      const response = await rote.adapter("adapter/calendar").call("list", { max: 2 });
      assert.ok(response instanceof Response);
      const { id, status, contentType, bytes } = response;
      assert.deepEqual({ id, status, contentType, bytes }, { id: 1, status: 200, contentType: "application/json", bytes: 37 });
      assert.deepEqual(response.query(".items[0].id"), [1]);
      assert.equal(response.text(), '{"items":[{"id":1,"args":{"max":2}}]}'.replace(/ /g, ""));
      return response.json<{ items: unknown[] }>().items;
    },
    {},
    host,
  );
  assert.deepEqual(run, { result: [{ id: 1, args: { max: 2 } }], error: undefined });
  assert.deepEqual(host.calls, [{ adapter: "calendar", tool: "list", arguments: { max: 2 } }]);
});

test("calls awaited together are in flight together and settle in the order of their ends", async () => {
  const host = new FakeHost({ ...echo, done: (open) => open.length - 1 });
  const seen: string[] = [];
  const run = await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      const call = async (tool: string): Promise<number> => {
        const response = await api.call(tool);
        seen.push(tool);
        return response.id;
      };
      return Promise.all([call("a"), call("b"), call("c")]);
    },
    {},
    host,
  );
  assert.deepEqual(run.result, [1, 2, 3]);
  assert.deepEqual(seen, ["c", "b", "a"]);
  assert.deepEqual(host.events, ["started a", "started b", "started c", "done c", "done b", "done a"]);
});

test("what follows one answer runs while the others are in flight", async () => {
  const host = new FakeHost(echo);
  await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      await Promise.all([api.call("a").then(() => api.call("c")), api.call("b")]);
    },
    {},
    host,
  );
  assert.deepEqual(host.events, ["started a", "started b", "done a", "started c", "done b", "done c"]);
});

test("a batch names what failed and keeps the order", async () => {
  const tools = { ...echo.tools, "api/gone": () => new FakeAnswer({ why: "gone" }, 410) };
  const run = await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      const items = [{ tool: "a", arguments: {} }, { tool_name: "gone" }, { tool: "b" }];
      const { total, succeeded, failed } = await api.batchCall(items);
      return { total, ids: succeeded.map(({ id }) => id), failed: failed.map(({ index, error }) => [index, error.kind]) };
    },
    {},
    new FakeHost({ tools }),
  );
  assert.deepEqual(run.result, { total: 3, ids: [1, 3], failed: [[1, "http"]] });
});

test("an error status rejects with the recorded answer", async () => {
  const host = new FakeHost({ tools: { "api/gone": () => new FakeAnswer({ why: "gone" }, 410) } });
  const run = await runFlow(
    async () => {
      const error = await (await Rote.workspace("w")).adapter("api").call("gone").catch((error: unknown) => error);
      assert.ok(error instanceof HttpError);
      assert.equal(error.message, "the remote answered 410 (@1)");
      return error.response.json();
    },
    {},
    host,
  );
  assert.deepEqual(run.result, { why: "gone" });
});

const refusals: [string, () => never, new (...args: never[]) => RoteError, object][] = [
  [
    "a denial",
    () => refuse({ kind: "denied", rule: "deny_list", message: "no", hint: "rote allow" }),
    DeniedError,
    { kind: "denied", rule: "deny_list", message: "no", hint: "rote allow" },
  ],
  [
    "a needed confirmation",
    () => refuse({ kind: "confirmation-needed", tool: "api/a", impact: "deletes it" }),
    ConfirmationNeededError,
    { kind: "confirmation-needed", tool: "api/a", impact: "deletes it" },
  ],
  [
    "a fingerprint",
    () => refuse({ kind: "fingerprint-mismatch", message: "drifted" }),
    FingerprintMismatchError,
    { kind: "fingerprint-mismatch", message: "drifted" },
  ],
  ["a missing tool", () => refuse({ kind: "not-found", message: "no" }), NotFoundError, { kind: "not-found", message: "no" }],
];

for (const [name, tool, type, wire] of refusals) {
  test(`${name} keeps its kind through the flow`, async () => {
    const host = new FakeHost({ tools: { "api/a": tool } });
    const run = await runFlow(
      async () => {
        try {
          await (await Rote.workspace("w")).adapter("api").call("a");
        } catch (error) {
          assert.ok(error instanceof type);
          throw error;
        }
      },
      {},
      host,
    );
    assert.deepEqual(run.error, wire);
  });
}

test("a failed flow waits for calls in flight and starts no more", async () => {
  const host = new FakeHost(echo);
  const late: string[] = [];
  const run = await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      api
        .call("a")
        .then(() => api.call("b"))
        .catch((error: RoteError) => late.push(error.message));
      throw new Error("early");
    },
    {},
    host,
  );
  assert.match(run.error?.kind === "internal" ? run.error.message : "", /^Error: early\n/);
  assert.deepEqual(host.events, ["started a", "done a"]);
  assert.deepEqual(late, ["the flow has ended and starts no more calls"]);
});

test("a call in the background can be cancelled, and is a step when it has a label", async () => {
  const host = new FakeHost(echo);
  const run = await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      const [kept, dropped] = [api.callBg("a", {}, { label: "kept" }), api.callBg("b", {}, { label: "dropped" })];
      api.callBg("c").cancel();
      dropped.cancel();
      const error = await dropped.wait().catch((error: unknown) => error);
      assert.ok(error instanceof CancelledError);
      const response = await kept.wait();
      kept.cancel();
      return response.id;
    },
    {},
    host,
  );
  assert.equal(run.result, 1);
  assert.deepEqual(host.events, ["started a", "started b", "started c", "cancelled c", "cancelled b", "done a"]);
  assert.deepEqual(host.steps, [
    { label: "kept", state: "running" },
    { label: "dropped", state: "running" },
    { label: "dropped", state: "skipped" },
    { label: "kept", state: "done" },
  ]);
});

test("a queue shows, waits and gives up", async () => {
  const host = new FakeHost(echo);
  const run = await runFlow(
    async () => {
      const api = (await Rote.workspace("w")).adapter("api");
      const queue = new TaskQueue();
      const first = await queue.run(() => 1, { label: "first" });
      await assert.rejects(queue.run(() => Promise.reject(new Error("no")), { label: "second" }), /no/);
      const third = queue.submit(async () => (await api.call("a")).id, { label: "third" });
      await queue.wait();
      const fourth = queue.submit((signal) => api.callBg("b", {}, { signal, label: "b" }).wait(), { label: "fourth" });
      const fifth = api.callBg("c", {}, { queue, label: "fifth" });
      queue.cancel();
      const ends = await Promise.allSettled([fourth.wait(), fifth.wait()]);
      return [first, await third.wait(), ends.map((end) => (end.status === "rejected" ? (end.reason as RoteError).kind : "ok"))];
    },
    {},
    host,
  );
  assert.deepEqual(run.result, [1, 1, ["cancelled", "cancelled"]]);
  assert.deepEqual(host.events, ["started a", "done a", "started b", "started c", "cancelled b", "cancelled c"]);
  assert.deepEqual(
    host.steps.map(({ label, state }) => `${label} ${state}`),
    [
      "first running", "first done", "second running", "second failed", "third running", "third done",
      "fourth running", "b running", "fifth running", "fourth skipped", "fifth skipped", "b skipped",
    ],
  );
});

test("a flow that waits for nothing fails instead of hanging", async () => {
  const run = await runFlow(() => new Promise(() => {}), {});
  assert.match(run.error?.kind === "internal" ? run.error.message : "", /waits for something that never happens/);
});

test("arguments that JSON cannot hold fail the call", async () => {
  const run = await runFlow(async () => {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    await (await Rote.workspace("w")).adapter("api").call("a", cycle);
  }, {});
  assert.equal(run.error?.kind, "internal");
});

test("output lines and the result reach the host", async () => {
  const host = new FakeHost();
  const run = await runFlow(
    () => {
      const output = new FlowOutput({ title: "Report" });
      output.human("line");
      output.summary("short");
      output.result({ n: 1 });
      assert.throws(() => output.result({ n: 2 }), { kind: "invalid-input" });
    },
    {},
    host,
  );
  assert.deepEqual(run.result, { n: 1 });
  assert.deepEqual([host.humanLines, host.summaryLines], [["Report", "line"], ["short"]]);
});

test("the host's error is known behind words and errors of the flow's own", async () => {
  const refusal = { kind: "upstream", message: "connection refused", id: 7 } as const;
  const host = () => new FakeHost({ tools: { "api/a": () => refuse(refusal) } });
  const ended = async (thrown: (cause: unknown) => unknown) => {
    const flow = async () => {
      const call = async () => (await Rote.workspace("w")).adapter("api").call("a");
      await call().catch((cause: unknown) => Promise.reject(thrown(cause)));
    };
    return (await runFlow(flow, {}, host())).error;
  };
  const within = { ...refusal, context: "cannot sync" };
  assert.deepEqual(await ended((cause) => new Error("cannot sync", { cause })), within);
  assert.deepEqual(await ended((cause) => new RoteError("limit", "cannot sync", { cause })), within);
  assert.deepEqual(await ended((cause) => new Error("cannot sync", { cause: new Error("inner", { cause }) })), within);
  assert.deepEqual(await ended((cause) => new AggregateError([new Error("other"), cause], "cannot sync")), within);
  const missing = { kind: "not-found", message: "no customer", id: 7 };
  assert.deepEqual(await ended((cause) => new NotFoundError("no customer", { cause })), missing);
  assert.deepEqual(await ended(() => new NotFoundError("no customer")), { kind: "not-found", message: "no customer" });
  const loop = new Error("round and round");
  loop.cause = loop;
  assert.equal((await ended(() => loop))?.kind, "internal");
});
