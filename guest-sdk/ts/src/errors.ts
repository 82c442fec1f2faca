import type { Response } from "./response.js";

/** Why something failed; the first ten are the host's kinds (`rote:base/types.cause`). */
export type ErrorKind =
  | "denied"
  | "confirmation-needed"
  | "fingerprint-mismatch"
  | "auth"
  | "http"
  | "upstream"
  | "invalid-input"
  | "not-found"
  | "limit"
  | "internal"
  | "cancelled";

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
export class RoteError extends Error {
  /** Why it failed. */
  readonly kind: ErrorKind;
  /** What would help; empty when nothing would. */
  readonly hint: string;
  /** Facts for programs. */
  readonly details: unknown;

  constructor(kind: ErrorKind, message: string, options: RoteErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.kind = kind;
    this.hint = options.hint ?? "";
    this.details = options.details;
  }
}

/** Refused by policy. A retry does not help; the hint may. */
export class DeniedError extends RoteError {
  /** The rule that decided, such as `deny_list`. */
  readonly rule: string;

  constructor(rule: string, message: string, hint: string) {
    super("denied", message, { hint, details: { rule } });
    this.rule = rule;
  }
}

/** The call waits for a person: let it reach the host, which asks and runs the flow again. */
export class ConfirmationNeededError extends RoteError {
  /** The tool, `adapter/tool`. */
  readonly tool: string;
  /** What the call would do, in one sentence. */
  readonly impact: string;

  constructor(tool: string, impact: string) {
    super("confirmation-needed", `\`${tool}\` needs a person's confirmation: ${impact}`, { details: { tool, impact } });
    this.tool = tool;
    this.impact = impact;
  }
}

/** The installed adapter is not the pinned one. */
export class FingerprintMismatchError extends RoteError {
  constructor(message: string, details?: unknown) {
    super("fingerprint-mismatch", message, { details });
  }
}

/** A credential is missing or was refused. */
export class AuthError extends RoteError {
  constructor(message: string, options: RoteErrorOptions = {}) {
    super("auth", message, options);
  }
}

/** The remote answered with a status of 300 or more, but 304; the answer is recorded and can be read. */
export class HttpError extends RoteError {
  /** The recorded answer. */
  readonly response: Response;

  constructor(response: Response) {
    super("http", `the remote answered ${response.status} (@${response.id})`, {
      details: { id: response.id, status: response.status },
    });
    this.response = response;
  }
}

/** The remote could not be reached, or broke the protocol. */
export class UpstreamError extends RoteError {
  constructor(message: string, options: ErrorOptions = {}) {
    super("upstream", message, options);
  }
}

/** One problem with the arguments of a call. */
export interface Problem {
  /** JSON pointer into the arguments; empty for the whole. */
  pointer: string;
  message: string;
}

/** The arguments do not fit. */
export class InvalidInputError extends RoteError {
  /** All problems found. */
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[], options: ErrorOptions = {}) {
    super("invalid-input", problems.map((problem) => `${problem.pointer} ${problem.message}`.trim()).join("; "), {
      ...options,
      details: { problems },
    });
    this.problems = problems;
  }
}

/** Nothing of that name. */
export class NotFoundError extends RoteError {
  constructor(message: string, options: ErrorOptions = {}) {
    super("not-found", message, options);
  }
}

/** A bound on time, memory, bytes or steps was reached. */
export class LimitError extends RoteError {
  constructor(message: string, options: ErrorOptions = {}) {
    super("limit", message, options);
  }
}

/** The host, the SDK or the flow itself failed. */
export class InternalError extends RoteError {
  constructor(message: string, options: ErrorOptions = {}) {
    super("internal", message, options);
  }
}

/** The flow gave the task up. */
export class CancelledError extends RoteError {
  constructor(label: string) {
    super("cancelled", `\`${label}\` was cancelled`);
  }
}
