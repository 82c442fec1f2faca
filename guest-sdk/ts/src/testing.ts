/**
 * A host for the unit tests of flows: `@rote/sdk/testing`.
 *
 * @packageDocumentation
 */

import { adapterId } from "./checker.js";
import { Driver, mainOf } from "./driver.js";
import { RoteError } from "./errors.js";
import type { AdapterStatus, FileInfo, Host, LogLevel, StepState, TaskId, ToolCall, ToolDescriptor } from "./host.js";
import type { Json } from "./json.js";
import type { ResponseRef } from "./response.js";
import { install, uninstall } from "./runtime.js";
import { pathQuery } from "./testing_query.js";
import { type Outcome, type WireError, errorOf, wireOf } from "./wire.js";

export type { AdapterStatus, FileInfo, Host, Json, LogLevel, Outcome, ResponseRef, StepState };
export type { TaskId, ToolCall, ToolDescriptor, WireError };

/** An answer with a status; a fake tool that returns a plain body answers with 200. */
export class FakeAnswer {
  readonly body: Json;
  readonly status: number;
  readonly contentType: string;

  constructor(body: Json, status = 200, contentType = "application/json") {
    this.body = body;
    this.status = status;
    this.contentType = contentType;
  }
}

/** A tool: returns its answer, or refuses with {@link refuse}. */
export type FakeTool = (args: Json) => Json | FakeAnswer;

/** What the fake host knows. */
export interface FakeOptions {
  /** Tools by `adapter/tool`. A call of any other is `not-found`. */
  tools?: Record<string, FakeTool>;
  /** Adapters by id; what is left out is in order. */
  adapters?: Record<string, Partial<AdapterStatus>>;
  /** What `probe` finds, by adapter. */
  probes?: Record<string, ToolDescriptor[]>;
  /** Other flows by name. */
  flows?: Record<string, (parameters: Json) => Json>;
  variables?: Record<string, Json>;
  files?: Record<string, Uint8Array>;
  /** Runs a jq program; without it, only paths such as `.items[0].name` are understood. */
  query?: (input: Json, program: string) => Json[];
  /** Which of the calls in flight is done first; the one started first by default. */
  done?: (open: readonly ToolCall[]) => number;
  /** The time, in milliseconds since 1970; 0 by default. */
  now?: number;
}

/** Refuses as the host would: throws the error that the SDK makes of it. */
export function refuse(error: WireError): never {
  throw errorOf(error);
}

interface OpenCall {
  call: ToolCall;
  outcome: Outcome<ResponseRef>;
}

/** A host that answers from memory and remembers what it was asked. */
export class FakeHost implements Host {
  /** Every call, in the order of the starts. */
  readonly calls: ToolCall[] = [];
  /** `started list`, `done list`, … in the order in which it happened. */
  readonly events: string[] = [];
  readonly steps: { label: string; state: StepState }[] = [];
  readonly humanLines: string[] = [];
  readonly summaryLines: string[] = [];
  readonly logLines: { level: LogLevel; message: string }[] = [];
  readonly variables: Map<string, Json>;
  readonly files: Map<string, Uint8Array>;
  readonly #options: FakeOptions;
  readonly #bodies: Json[] = [];
  readonly #open = new Map<TaskId, OpenCall>();
  #resultGiven = false;
  /** Milliseconds. */
  #slept = 0;

  constructor(options: FakeOptions = {}) {
    this.#options = options;
    this.variables = new Map(Object.entries(options.variables ?? {}));
    this.files = new Map(Object.entries(options.files ?? {}));
  }

  start(call: ToolCall): TaskId {
    const sent = { ...call, arguments: JSON.parse(JSON.stringify(call.arguments)) as Json };
    const task = this.calls.push(sent);
    this.events.push(`started ${call.tool}`);
    this.#open.set(task, { call: sent, outcome: this.#outcome(sent) });
    return task;
  }

  waitAny(tasks: readonly TaskId[]): { index: number; outcome: Outcome<ResponseRef> } {
    const open = tasks.map((task) => this.#open.get(task)).filter((call) => call !== undefined);
    if (open.length === 0 || open.length !== tasks.length) {
      refuse({ kind: "invalid-input", problems: [{ pointer: "", message: "an unknown task" }] });
    }
    const index = this.#options.done?.(open.map(({ call }) => call)) ?? 0;
    const done = open[index] ?? refuse({ kind: "internal", message: `\`done\` chose ${index} of ${open.length}` });
    this.#open.delete(tasks[index] ?? 0);
    this.events.push(`done ${done.call.tool}`);
    return { index, outcome: done.outcome };
  }

  cancel(task: TaskId): void {
    this.events.push(`cancelled ${this.#open.get(task)?.call.tool}`);
    this.#open.delete(task);
  }

  progress(label: string, state: StepState): void {
    this.steps.push({ label, state });
  }

  probe(adapter: string, _intent: string, limit: number): ToolDescriptor[] {
    return (this.#options.probes?.[adapter] ?? []).slice(0, limit);
  }

  status(adapter: string): AdapterStatus {
    const known = this.#options.adapters?.[adapter];
    if (known === undefined) refuse({ kind: "not-found", message: `no adapter \`${adapter}\`` });
    const fingerprint = `mcp_${adapter}`;
    const status = { adapter, expected: fingerprint, installed: fingerprint, drift: null, credentials: [], ...known };
    return { matches: status.expected === status.installed, ...status };
  }

  runFlow(name: string, parameters: Json): Json {
    const flow = this.#options.flows?.[name];
    return flow === undefined ? refuse({ kind: "not-found", message: `no flow \`${name}\`` }) : flow(parameters);
  }

  getVariable(name: string): Json | undefined {
    return this.variables.get(name);
  }

  setVariable(name: string, value: Json): void {
    this.variables.set(name, JSON.parse(JSON.stringify(value)) as Json);
  }

  variableNames(): string[] {
    return [...this.variables.keys()].sort();
  }

  writeFile(name: string, content: Uint8Array): void {
    this.files.set(name, content.slice());
  }

  readFile(name: string): Uint8Array {
    return this.files.get(name) ?? refuse({ kind: "not-found", message: `no file \`${name}\`` });
  }

  fileNames(): FileInfo[] {
    return [...this.files].sort().map(([name, content]) => ({ name, bytes: content.length }));
  }

  queryResponse(id: number, program: string): Json[] {
    const body = this.#bodies[id - 1];
    return body === undefined ? refuse({ kind: "not-found", message: `no response @${id}` }) : this.queryValue(body, program);
  }

  queryValue(input: Json, program: string): Json[] {
    return (this.#options.query ?? pathQuery)(input, program);
  }

  now(): number {
    return (this.#options.now ?? 0) + this.#slept;
  }

  elapsed(): number {
    return this.#slept;
  }

  sleep(milliseconds: number): void {
    this.#slept += milliseconds;
  }

  random(length: number): Uint8Array {
    return Uint8Array.from({ length }, (_, index) => index % 256);
  }

  human(text: string): void {
    this.humanLines.push(text);
  }

  summary(text: string): void {
    this.summaryLines.push(text);
  }

  result(_value: Json): void {
    if (this.#resultGiven) {
      refuse({ kind: "invalid-input", problems: [{ pointer: "", message: "the result was given before" }] });
    }
    this.#resultGiven = true;
  }

  log(level: LogLevel, message: string): void {
    this.logLines.push({ level, message });
  }

  #outcome(call: ToolCall): Outcome<ResponseRef> {
    const tool = this.#options.tools?.[`${adapterId(call.adapter)}/${call.tool}`];
    try {
      if (tool === undefined) refuse({ kind: "not-found", message: `no tool \`${call.adapter}/${call.tool}\`` });
      return this.#record(tool(call.arguments));
    } catch (error) {
      if (error instanceof RoteError) return { err: wireOf(error) };
      throw error;
    }
  }

  #record(answer: Json | FakeAnswer): Outcome<ResponseRef> {
    const { body, status, contentType } = answer instanceof FakeAnswer ? answer : new FakeAnswer(answer);
    const id = this.#bodies.push(body);
    const response = { id, status, contentType, bytes: JSON.stringify(body).length };
    return isFailure(status) ? { err: { kind: "http", response } } : { ok: response };
  }
}

/** Whether the caller of a tool is told of a failure, by the host's rule: 304 answers a condition that the caller set. */
function isFailure(status: number): boolean {
  return status >= 300 && status !== 304;
}

/** What came of a flow under test. */
export interface FakeRun {
  /** The result; undefined when the flow failed. */
  result: Json | undefined;
  /** What the host would be told; undefined when the flow went well. */
  error: WireError | undefined;
}

/**
 * Runs a flow, the default export of its module, against a fake host, as the template component would: calls that
 * were started together are in flight together, and a flow that waits for nothing fails.
 *
 * One flow runs at a time, since a flow's SDK has one host.
 */
export async function runFlow<P extends object>(
  main: (parameters: P) => unknown,
  parameters: P,
  host: Host = new FakeHost(),
): Promise<FakeRun> {
  const driver = new Driver(install(host));
  try {
    driver.start(mainOf({ default: main }), parameters as Json);
    let outcome: Outcome<Json> | undefined;
    for (;;) {
      await jobs();
      outcome = driver.outcome();
      if (outcome !== undefined) break;
      driver.step();
    }
    return "ok" in outcome ? { result: outcome.ok, error: undefined } : { result: undefined, error: outcome.err };
  } finally {
    uninstall();
  }
}

declare function setTimeout(callback: () => void): unknown;

/** A timer fires only when no job is left. */
function jobs(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}
