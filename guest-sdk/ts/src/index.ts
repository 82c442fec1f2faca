/**
 * The SDK of rote's TypeScript flows.
 *
 * A flow is a module whose default export is a function of the run's parameters. It reaches nothing but what is
 * here: no network, no clock and no randomness but the host's, no file but the run's own.
 *
 * @packageDocumentation
 */

export {
  Adapter,
  AdapterRegistry,
  type BackgroundOptions,
  type BatchItem,
  type BatchResult,
  type LegacyBatchItem,
  type ProbeOptions,
  type Session,
} from "./adapter.js";
export { AdapterChecker, type CheckResult, getExpectedFingerprint } from "./checker.js";
export {
  AuthError,
  CancelledError,
  ConfirmationNeededError,
  DeniedError,
  type ErrorKind,
  FingerprintMismatchError,
  HttpError,
  InternalError,
  InvalidInputError,
  LimitError,
  NotFoundError,
  type Problem,
  RoteError,
  type RoteErrorOptions,
  UpstreamError,
} from "./errors.js";
export { extractContent } from "./extract.js";
export type { AdapterStatus, FileInfo, ToolDescriptor } from "./host.js";
export type { Json, JsonObject } from "./json.js";
export { FlowOutput, type FlowOutputOptions } from "./output.js";
export { type PreflightOptions, type PreflightResult, runPreflight } from "./preflight.js";
export { Query, type ResponseId } from "./query.js";
export { Response, type ResponseRef } from "./response.js";
export { Rote } from "./rote.js";
export { isLintMode } from "./runtime.js";
export { sleep } from "./sleep.js";
export { Task } from "./task.js";
export { type CancelSignal, type TaskOptions, TaskQueue } from "./task_queue.js";
export { TokenManager, type TokenStatus } from "./tokens.js";
export { Executor, type Invocation, initAutoTracking } from "./tracking.js";
export { Files, Flows, Variables } from "./workspace.js";
