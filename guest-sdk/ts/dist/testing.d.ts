/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
interface JsonObject {
	[name: string]: Json;
}
/** A reference to a recorded response. The body stays with the host until it is read. */
export interface ResponseRef {
	/** Its number in the workspace, `@7`; starts at 1. */
	id: number;
	/** HTTP status, 100–599. */
	status: number;
	/** Media type without parameters; empty when the remote sent none. */
	contentType: string;
	/** Size of the decoded body in bytes. */
	bytes: number;
}
interface Problem {
	/** JSON pointer into the arguments; empty for the whole. */
	pointer: string;
	message: string;
}
type WireCause = {
	kind: "denied";
	rule: string;
	message: string;
	hint: string;
} | {
	kind: "confirmation-needed";
	tool: string;
	impact: string;
} | {
	kind: "http";
	response: ResponseRef;
} | {
	kind: "invalid-input";
	problems: Problem[];
} | {
	kind: "fingerprint-mismatch" | "auth" | "upstream" | "not-found" | "limit" | "internal";
	message: string;
};
/** An error: why, which of the host's it is, and what the flow was doing. */
export type WireError = WireCause & {
	id?: number | null;
	context?: string;
};
/** What came of something: a value or the host's error. */
export type Outcome<T> = {
	ok: T;
} | {
	err: WireError;
};
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
	credentials: {
		slot: string;
		present: boolean;
	}[];
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
	waitAny(tasks: readonly TaskId[]): {
		index: number;
		outcome: Outcome<ResponseRef>;
	};
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
/** An answer with a status; a fake tool that returns a plain body answers with 200. */
export declare class FakeAnswer {
	readonly body: Json;
	readonly status: number;
	readonly contentType: string;
	constructor(body: Json, status?: number, contentType?: string);
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
export declare function refuse(error: WireError): never;
/** A host that answers from memory and remembers what it was asked. */
export declare class FakeHost implements Host {
	#private;
	/** Every call, in the order of the starts. */
	readonly calls: ToolCall[];
	/** `started list`, `done list`, … in the order in which it happened. */
	readonly events: string[];
	readonly steps: {
		label: string;
		state: StepState;
	}[];
	readonly humanLines: string[];
	readonly summaryLines: string[];
	readonly logLines: {
		level: LogLevel;
		message: string;
	}[];
	readonly variables: Map<string, Json>;
	readonly files: Map<string, Uint8Array>;
	constructor(options?: FakeOptions);
	start(call: ToolCall): TaskId;
	waitAny(tasks: readonly TaskId[]): {
		index: number;
		outcome: Outcome<ResponseRef>;
	};
	cancel(task: TaskId): void;
	progress(label: string, state: StepState): void;
	probe(adapter: string, _intent: string, limit: number): ToolDescriptor[];
	status(adapter: string): AdapterStatus;
	runFlow(name: string, parameters: Json): Json;
	getVariable(name: string): Json | undefined;
	setVariable(name: string, value: Json): void;
	variableNames(): string[];
	writeFile(name: string, content: Uint8Array): void;
	readFile(name: string): Uint8Array;
	fileNames(): FileInfo[];
	queryResponse(id: number, program: string): Json[];
	queryValue(input: Json, program: string): Json[];
	now(): number;
	elapsed(): number;
	sleep(milliseconds: number): void;
	random(length: number): Uint8Array;
	human(text: string): void;
	summary(text: string): void;
	result(_value: Json): void;
	log(level: LogLevel, message: string): void;
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
export declare function runFlow<P extends object>(main: (parameters: P) => unknown, parameters: P, host?: Host): Promise<FakeRun>;

export {};
