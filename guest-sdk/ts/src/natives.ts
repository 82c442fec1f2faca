/** The host as the template component gives it; `flows/_js/src/natives.rs` is the other side. */

import type { AdapterStatus, FileInfo, Host, TaskId, ToolDescriptor } from "./host.js";
import type { Json } from "./json.js";
import type { ResponseRef } from "./response.js";
import { type Outcome, valueOf } from "./wire.js";

/** The component's imports. Methods that return a text return an outcome as JSON. */
export interface Natives {
  start(adapter: string, tool: string, args: string): string;
  waitAny(tasks: readonly number[]): string;
  cancel(task: number): string;
  progress(label: string, state: string): void;
  probe(adapter: string, intent: string, limit: number): string;
  status(adapter: string): string;
  runFlow(name: string, parameters: string): string;
  getVariable(name: string): string;
  setVariable(name: string, value: string): string;
  variableNames(): string;
  writeFile(name: string, content: Uint8Array): string;
  readFile(name: string): string | Uint8Array;
  fileNames(): string;
  queryResponse(id: number, program: string): string;
  queryValue(input: string, program: string): string;
  now(): number;
  elapsed(): number;
  sleep(milliseconds: number): void;
  random(length: number): Uint8Array;
  human(text: string): void;
  summary(text: string): void;
  result(value: string): string;
  log(level: string, message: string): void;
}

/** Returns the host that asks the component's imports. */
export function nativeHost(natives: Natives): Host {
  return {
    ...nativeCalls(natives),
    ...nativeWorkspace(natives),
    now: () => natives.now(),
    elapsed: () => natives.elapsed(),
    sleep: (milliseconds) => natives.sleep(milliseconds),
    random: (length) => natives.random(length),
    human: (line) => natives.human(text(line)),
    summary: (line) => natives.summary(text(line)),
    result: (value) => read(natives.result(write(value))),
    log: (level, message) => natives.log(level, text(message)),
  };
}

type Calls = Pick<Host, "start" | "waitAny" | "cancel" | "progress" | "probe" | "status" | "runFlow">;

function nativeCalls(natives: Natives): Calls {
  return {
    start: (call) => read<TaskId>(natives.start(text(call.adapter), text(call.tool), write(call.arguments))),
    waitAny: (tasks) => {
      const [index, outcome] = read<[number, Outcome<ResponseRef>]>(natives.waitAny(tasks));
      return { index, outcome };
    },
    cancel: (task) => read(natives.cancel(task)),
    progress: (label, state) => natives.progress(text(label), state),
    probe: (adapter, intent, limit) => read<ToolDescriptor[]>(natives.probe(text(adapter), text(intent), limit)),
    status: (adapter) => read<AdapterStatus>(natives.status(text(adapter))),
    runFlow: (name, parameters) => read<Json>(natives.runFlow(text(name), write(parameters))),
  };
}

type Workspace = Pick<
  Host,
  | "getVariable"
  | "setVariable"
  | "variableNames"
  | "writeFile"
  | "readFile"
  | "fileNames"
  | "queryResponse"
  | "queryValue"
>;

function nativeWorkspace(natives: Natives): Workspace {
  return {
    getVariable: (name) => read<Json[]>(natives.getVariable(text(name)))[0],
    setVariable: (name, value) => read(natives.setVariable(text(name), write(value))),
    variableNames: () => read<string[]>(natives.variableNames()),
    writeFile: (name, content) => read(natives.writeFile(text(name), content)),
    readFile: (name) => {
      const content = natives.readFile(text(name));
      return typeof content === "string" ? read<Uint8Array>(content) : content;
    },
    fileNames: () => read<FileInfo[]>(natives.fileNames()).map(({ name, bytes }) => ({ name, bytes })),
    queryResponse: (id, program) => read<Json[]>(natives.queryResponse(id, text(program))),
    queryValue: (input, program) => read<Json[]>(natives.queryValue(write(input), text(program))),
  };
}

/** Returns a text that has a UTF-8 form: halves of surrogate pairs become U+FFFD. A script may hand in any value. */
function text(value: unknown): string {
  return String(value).replace(/\p{Surrogate}/gu, "\ufffd");
}

function read<T>(outcome: string): T {
  return valueOf(JSON.parse(outcome) as Outcome<T>);
}

/** Writes a value as JSON; what JSON has no word for is null. */
function write(value: Json): string {
  return JSON.stringify(value) ?? "null";
}
