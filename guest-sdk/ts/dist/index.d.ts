/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
/** A JSON object. */
export interface JsonObject {
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
/** A recorded response. Reading it asks the host; nothing is kept here. */
export declare class Response implements ResponseRef {
	readonly id: number;
	readonly status: number;
	readonly contentType: string;
	readonly bytes: number;
	constructor(ref: ResponseRef);
	/** Returns the whole body. The type is the caller's claim and is not checked. */
	json<T = Json>(): T;
	/** Returns the body as text; a JSON body is written compactly. */
	text(): string;
	/**
	 * Runs a jq program on the body and returns its outputs. `values` are its variables, by name without `$`; they are
	 * data whatever they hold. Throws `InvalidInputError` when it does not parse.
	 */
	query<T = Json>(program: string, values?: Record<string, unknown>): T[];
}
/** Why something failed; the first ten are the host's kinds (`rote:base/types.cause`). */
export type ErrorKind = "denied" | "confirmation-needed" | "fingerprint-mismatch" | "auth" | "http" | "upstream" | "invalid-input" | "not-found" | "limit" | "internal" | "cancelled";
/** What may be said beside an error's message. */
export interface RoteErrorOptions {
	/** What would help, usually a command. */
	hint?: string;
	/** Facts for programs, JSON by convention. */
	details?: unknown;
	/** The error because of which this one is there, as for any `Error`: the host then knows its own behind it. */
	cause?: unknown;
}
/** A failure that has a kind. Everything the SDK throws is one. */
export declare class RoteError extends Error {
	/** Why it failed. */
	readonly kind: ErrorKind;
	/** What would help; empty when nothing would. */
	readonly hint: string;
	/** Facts for programs. */
	readonly details: unknown;
	constructor(kind: ErrorKind, message: string, options?: RoteErrorOptions);
}
/** Refused by policy. A retry does not help; the hint may. */
export declare class DeniedError extends RoteError {
	/** The rule that decided, such as `deny_list`. */
	readonly rule: string;
	constructor(rule: string, message: string, hint: string);
}
/** The call waits for a person: let it reach the host, which asks and runs the flow again. */
export declare class ConfirmationNeededError extends RoteError {
	/** The tool, `adapter/tool`. */
	readonly tool: string;
	/** What the call would do, in one sentence. */
	readonly impact: string;
	constructor(tool: string, impact: string);
}
/** The installed adapter is not the pinned one. */
export declare class FingerprintMismatchError extends RoteError {
	constructor(message: string, details?: unknown);
}
/** A credential is missing or was refused. */
export declare class AuthError extends RoteError {
	constructor(message: string, options?: RoteErrorOptions);
}
/** The remote answered with a status of 300 or more, but 304; the answer is recorded and can be read. */
export declare class HttpError extends RoteError {
	/** The recorded answer. */
	readonly response: Response;
	constructor(response: Response);
}
/** The remote could not be reached, or broke the protocol. */
export declare class UpstreamError extends RoteError {
	constructor(message: string, options?: ErrorOptions);
}
/** One problem with the arguments of a call. */
export interface Problem {
	/** JSON pointer into the arguments; empty for the whole. */
	pointer: string;
	message: string;
}
/** The arguments do not fit. */
export declare class InvalidInputError extends RoteError {
	/** All problems found. */
	readonly problems: readonly Problem[];
	constructor(problems: readonly Problem[], options?: ErrorOptions);
}
/** Nothing of that name. */
export declare class NotFoundError extends RoteError {
	constructor(message: string, options?: ErrorOptions);
}
/** A bound on time, memory, bytes or steps was reached. */
export declare class LimitError extends RoteError {
	constructor(message: string, options?: ErrorOptions);
}
/** The host, the SDK or the flow itself failed. */
export declare class InternalError extends RoteError {
	constructor(message: string, options?: ErrorOptions);
}
/** The flow gave the task up. */
export declare class CancelledError extends RoteError {
	constructor(label: string);
}
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
/** Work in the background. `await task.wait()` gives its value. */
export declare class Task<T> {
	#private;
	/** What it is called in the live progress. */
	readonly label: string;
	/** Settles when the work is done. */
	readonly result: Promise<T>;
	/** Waits for the work. Rejects with its error, `CancelledError` when it was given up. */
	wait(): Promise<T>;
	/** Gives the work up. A call that was not sent yet is not sent; a write that was is recorded as in doubt. */
	cancel(): void;
}
/** How work is shown. */
export interface TaskOptions {
	/** The name of the step in the live progress. */
	label: string;
}
/** Says to work in the background that nobody waits for it any more. */
export interface CancelSignal {
	readonly cancelled: boolean;
	/** Calls `listener` once, when the work is given up; at once if it was. */
	onCancel(listener: () => void): void;
}
/** Work with a name in the live progress. */
export declare class TaskQueue {
	#private;
	/** Runs `work` as one step and waits for it. */
	run<T>(work: () => T | Promise<T>, { label }: TaskOptions): Promise<T>;
	/**
	 * Starts `work` as one step in the background. It runs up to its first `await` now. When it is cancelled, its task
	 * rejects at once; to give up the calls that it made, hand its signal on to `callBg`.
	 */
	submit<T>(work: (signal: CancelSignal) => T | Promise<T>, { label }: TaskOptions): Task<T>;
	/** Waits until all submitted work is done. Rejects with the first failure, after all have ended. */
	wait(): Promise<void>;
	/** Gives all submitted work up that is not done. */
	cancel(): void;
}
/** How a call in the background is shown and given up. */
export interface BackgroundOptions {
	/** Its name as a step in the live progress, which shows every call in any case; in a queue `adapter/tool` by default. */
	label?: string;
	/** Gives the call up when the work that made it is given up. */
	signal?: CancelSignal;
	/** The queue that waits for it and cancels it with its other work. */
	queue?: TaskQueue;
}
/** One call of a batch. */
export interface BatchItem {
	tool: string;
	arguments?: object;
}
/** One call of a batch as older flows write it. */
export interface LegacyBatchItem {
	tool_name: string;
	arguments?: object;
}
/** What came of a batch. */
export interface BatchResult {
	total: number;
	/** Answers of the calls that went well, in the order of the calls. */
	succeeded: Response[];
	/** The calls that failed, with their position. */
	failed: {
		index: number;
		error: RoteError;
	}[];
}
/** How tools are looked for. */
export interface ProbeOptions {
	/** At most so many, 1–50; 10 by default. */
	limit?: number;
}
/** An adapter that is ready to be called. */
export interface Session {
	adapter: string;
	/** The fingerprint of what is installed. */
	fingerprint: string | null;
	credentials: AdapterStatus["credentials"];
}
/** An installed adapter. */
export declare class Adapter {
	#private;
	/** Its id, without `adapter/`. */
	readonly id: string;
	constructor(endpoint: string, fingerprint?: string);
	/** Returns the same adapter, pinned: its first call fails when another fingerprint is installed. */
	withFingerprint(fingerprint: string): Adapter;
	/** Returns how the adapter stands: its fingerprint, the expected one, and which credentials are there. */
	status(): Promise<AdapterStatus>;
	/** Checks fingerprint and credentials. Throws `FingerprintMismatchError` or `AuthError`. */
	initSession(): Promise<Session>;
	/** Ranks the adapter's tools by what they should do, best first. */
	probe(intent: string, { limit }?: ProbeOptions): Promise<ToolDescriptor[]>;
	/**
	 * Calls a tool and waits for the answer. The call is under way when this returns, so that calls which are made
	 * together and awaited together run together.
	 *
	 * Throws `HttpError` when the remote answers with a status of 300 or more, but 304.
	 */
	call(tool: string, args?: object): Promise<Response>;
	/** Starts a call in the background; with a label it is a step. The flow's end waits for it. */
	callBg(tool: string, args?: object, { label, signal, queue }?: BackgroundOptions): Task<Response>;
	/** Makes all calls together. Calls that fail do not end the others. */
	batchCall(items: readonly (BatchItem | LegacyBatchItem)[]): Promise<BatchResult>;
}
/** Adapters by id, one object each. */
export declare class AdapterRegistry {
	#private;
	/** Returns the adapter; `adapter/calendar` and `calendar` are the same. */
	adapter(endpoint: string): Adapter;
}
/** What a check found: an adapter that is the expected one. */
export interface CheckResult {
	adapter: string;
	expected: string;
	installed: string;
}
/** Checks adapters before a flow relies on them. */
export declare class AdapterChecker {
	/**
	 * Checks that the installed adapter is the expected one; without `expected`, the one in the flow's frontmatter.
	 *
	 * Throws `FingerprintMismatchError`, which ends the flow unless it is caught.
	 */
	static checkEndpoint(endpoint: string, expected?: string): Promise<CheckResult>;
}
/**
 * Returns the fingerprint that the flow's frontmatter pins for an adapter. Throws `FingerprintMismatchError` when it
 * pins none.
 */
export declare function getExpectedFingerprint(endpoint: string): string;
/**
 * Returns what an answer says: the body of a response, and from MCP's `{"content": [{"text": …}]}` the text of its
 * first part, read as JSON where it is JSON. Anything else is returned as it is.
 */
export declare function extractContent<T = Json>(result: unknown): T;
/** How an output begins. */
export interface FlowOutputOptions {
	/** A line for people, shown at once. */
	title?: string;
}
/**
 * What a flow shows and returns. The host shows the lines of the mode that was asked for, `--output human`,
 * `summary` or `json`; a flow gives all of them.
 */
export declare class FlowOutput {
	constructor(options?: FlowOutputOptions);
	/** Shows one line for a person. */
	human(text: string): void;
	/** Shows one line for a log or a chat. */
	summary(text: string): void;
	/** Gives the machine result, an object, once. It takes the place of what the flow returns. */
	result(value: object): void;
	/** Adds one entry to an object that is the result when the flow gives and returns no other. */
	json(key: string, value: unknown): void;
}
/** Names a recorded response: `7`, `"@7"` or the response. */
export type ResponseId = number | `@${number}` | Response;
/** A jq program over a recorded response or a value, built step by step. Each step is a new query. */
export declare class Query {
	#private;
	constructor(response: ResponseId | {
		value: unknown;
	}, steps?: readonly string[]);
	/** The jq program. */
	get program(): string;
	/** Selects by a jq expression, such as `.items[] | .name`. */
	select(expression: string): Query;
	/**
	 * Goes down a path of names, `items.0.login` or `["odd.name", 0]`; in a text, a name of digits only is an index.
	 * jq's own spelling, with a dot or a bracket first, works too: `.items[0]`.
	 */
	path(path: string | readonly (string | number)[]): Query;
	/** Takes one item of an array; negative numbers count from its end. */
	at(index: number): Query;
	/** Adds a jq expression. */
	pipe(expression: string): Query;
	/** Keeps the items of an array for which the jq expression is true. */
	filter(expression: string): Query;
	/** Replaces every item of an array by the jq expression's value. */
	map(expression: string): Query;
	/** Reads a string as JSON. */
	parseJson(): Query;
	/** Returns the output; an array when there are several, null when there is none. */
	execute<T = Json>(): Promise<T>;
	/** Returns all outputs. */
	all<T = Json>(): Promise<T[]>;
}
/** Which credentials of an adapter have a value. Never a value: no flow ever sees one. */
export interface TokenStatus {
	adapter: string;
	/** Whether every slot has a value. */
	ready: boolean;
	slots: {
		slot: string;
		present: boolean;
	}[];
}
/** Tells about credentials; the host keeps, refreshes and uses them. */
export declare class TokenManager {
	/** Returns whether every credential that the adapter needs has a value. */
	check(endpoint: string): Promise<boolean>;
	/**
	 * Makes sure that the credentials can be used. The host refreshes what is about to expire when it makes a call, so
	 * this only throws `AuthError` when a value is missing.
	 */
	refresh(endpoint: string): Promise<TokenStatus>;
	/** Returns which credentials have a value. */
	info(endpoint: string): Promise<TokenStatus>;
}
/** One call of the run, once it is done. */
export interface Invocation {
	adapter: string;
	tool: string;
	/** The answer; undefined when the call failed without one. */
	response: Response | undefined;
	/** Why it failed. */
	error: RoteError | undefined;
}
/** Sees every call of the run. */
export declare class Executor {
	#private;
	/** The calls that are done, in the order in which they ended. */
	get invocations(): readonly Invocation[];
	/** Calls `listener` after every call. */
	onCall(listener: (invocation: Invocation) => void): void;
}
/**
 * Writes one line to the run's log after every call of `executor`. The host journals each call in any case; this is
 * for reading along.
 */
export declare function initAutoTracking(executor: Executor): void;
/** Variables of the run's workspace. */
export declare class Variables {
	/** Returns a variable; undefined when there is none. The type is the caller's claim and is not checked. */
	get<T = Json>(name: string): Promise<T | undefined>;
	/** Sets a variable to a JSON value. */
	set(name: string, value: unknown): Promise<void>;
	/** Returns the names, sorted. */
	names(): Promise<string[]>;
}
/** Named files among the artifacts of the run. A name is one path segment of at most 100 bytes. */
export declare class Files {
	/** Writes a whole file; text as UTF-8. */
	write(name: string, content: string | Uint8Array): Promise<void>;
	/** Returns a file's bytes. Throws `NotFoundError`. */
	read(name: string): Promise<Uint8Array>;
	/** Returns a file as text; bytes that are not UTF-8 become U+FFFD. Throws `NotFoundError`. */
	readText(name: string): Promise<string>;
	/** Returns the files, by name. */
	names(): Promise<FileInfo[]>;
}
/** Other flows. */
export declare class Flows {
	/**
	 * Runs a released flow that this one pins and returns its result. It runs to its end before this one goes on.
	 */
	run<T = Json>(name: string, parameters?: object): Promise<T>;
}
/** A flow's workspace: adapters, recorded responses, variables, files. */
export declare class Rote {
	/** The name that the flow gave it. The host isolates every run by itself. */
	readonly name: string;
	readonly adapters: AdapterRegistry;
	readonly tasks: TaskQueue;
	readonly tokens: TokenManager;
	readonly vars: Variables;
	readonly files: Files;
	readonly flows: Flows;
	private constructor();
	/** Returns the run's workspace. */
	static workspace(name: string): Promise<Rote>;
	/**
	 * Ends the flow: with code 0 its result is what `FlowOutput` was given; with another code it fails. Calls in flight
	 * are waited for, no other is started.
	 */
	static exit(code?: number): never;
	/** Sees every call of the run. */
	get executor(): Executor;
	/** Returns an adapter; `adapter/calendar` and `calendar` are the same. */
	adapter(endpoint: string): Adapter;
	/** Begins a query over a recorded response, `7`, `"@7"` or the response itself. */
	query(response: ResponseId): Query;
	/** Begins a query over a value that the flow has, as it is now. Throws `TypeError` when it has no JSON form. */
	queryValue(value: unknown): Query;
}
/** What must be ready. */
export interface PreflightOptions {
	/** Adapters by endpoint, `adapter/calendar` or `calendar`. */
	adapters: readonly string[];
}
/** What is ready. */
export interface PreflightResult {
	/** The adapters by id. */
	adapters: Record<string, Adapter>;
	/** Their sessions, in the order asked. */
	sessions: Session[];
}
/**
 * Checks every adapter before the first call: all fingerprints first, then credentials. Throws the first problem, so
 * that a flow fails before it had any effect.
 */
export declare function runPreflight(rote: Rote, { adapters }: PreflightOptions): Promise<PreflightResult>;
/**
 * Returns whether the module is evaluated without a host: by a linter, a bundler or a type checker. A flow with
 * effects at its top level guards them with it; one that exports a function needs no guard.
 */
export declare function isLintMode(): boolean;
/**
 * Waits so many milliseconds. Calls that were started go on; nothing else of the flow does. A replay does not wait, and a run
 * that is resumed does not wait again. Only the time of the run (`rote run --timeout`) bounds it. What is not a number from 0 to
 * 2^53 - 1 is refused.
 */
export declare function sleep(milliseconds: number): Promise<void>;

export {};
