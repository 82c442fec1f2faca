import type { Json } from "./json.js";
import type { ResponseRef } from "./response.js";
import type { Outcome } from "./wire.js";

/** One call of a tool. */
export interface ToolCall {
  adapter: string;
  tool: string;
  arguments: Json;
}

/** A call that was started; the host's number. */
export type TaskId = number;

/** How a step that is shown stands. */
export type StepState = "running" | "done" | "failed" | "skipped";

/** A tool found by intent. */
export interface ToolDescriptor {
  tool: string;
  description: string;
  method: string;
  score: number;
  /** JSON Schema of the arguments. */
  input_schema: Json;
}

/** How an adapter stands. */
export interface AdapterStatus {
  adapter: string;
  /** The fingerprint in the flow's frontmatter. */
  expected: string | null;
  /** The fingerprint of what is installed. */
  installed: string | null;
  matches: boolean;
  /** What changed, in words; null when nothing did. */
  drift: Json;
  /** Which credential slots have a value. Never a value. */
  credentials: { slot: string; present: boolean }[];
}

/** A file among the run's artifacts. */
export interface FileInfo {
  name: string;
  bytes: number;
}

/** How serious a line of the log is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/**
 * Everything the SDK asks of its surroundings. In a flow it is the component's imports; in a test it is a fake.
 *
 * Every method throws a `RoteError` of the host's kind when the host refuses.
 */
export interface Host {
  /** Starts a call; its response number is allocated now. */
  start(call: ToolCall): TaskId;
  /** Waits until one of the tasks is done; says which, by its position. */
  waitAny(tasks: readonly TaskId[]): { index: number; outcome: Outcome<ResponseRef> };
  cancel(task: TaskId): void;
  progress(label: string, state: StepState): void;
  probe(adapter: string, intent: string, limit: number): ToolDescriptor[];
  status(adapter: string): AdapterStatus;
  runFlow(name: string, parameters: Json): Json;
  /** Returns undefined when there is no such variable. */
  getVariable(name: string): Json | undefined;
  setVariable(name: string, value: Json): void;
  variableNames(): string[];
  writeFile(name: string, content: Uint8Array): void;
  readFile(name: string): Uint8Array;
  fileNames(): FileInfo[];
  queryResponse(id: number, program: string): Json[];
  queryValue(input: Json, program: string): Json[];
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Milliseconds since the run began. */
  elapsed(): number;
  /** Waits; calls that were started go on. */
  sleep(milliseconds: number): void;
  /** At most 65,536 random bytes. */
  random(length: number): Uint8Array;
  human(text: string): void;
  summary(text: string): void;
  /** Gives the result; a second one is refused. */
  result(value: Json): void;
  log(level: LogLevel, message: string): void;
}
