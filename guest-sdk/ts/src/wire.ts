/**
 * Outcomes as JSON texts between the SDK and the template component; `flows/_js/src/wire.rs` is the other side.
 */

import {
  AuthError,
  ConfirmationNeededError,
  DeniedError,
  FingerprintMismatchError,
  HttpError,
  InternalError,
  InvalidInputError,
  LimitError,
  NotFoundError,
  type Problem,
  RoteError,
  UpstreamError,
} from "./errors.js";
import { Response, type ResponseRef } from "./response.js";

/** Why something failed, with the fields of its kind. */
type WireCause =
  | { kind: "denied"; rule: string; message: string; hint: string }
  | { kind: "confirmation-needed"; tool: string; impact: string }
  | { kind: "http"; response: ResponseRef }
  | { kind: "invalid-input"; problems: Problem[] }
  | {
      kind: "fingerprint-mismatch" | "auth" | "upstream" | "not-found" | "limit" | "internal";
      message: string;
    };

/** An error: why, which of the host's it is, and what the flow was doing. */
export type WireError = WireCause & { id?: number | null; context?: string };

/** What came of something: a value or the host's error. */
export type Outcome<T> = { ok: T } | { err: WireError };

/** Causes of causes that are looked at. */
const MOST_CAUSES = 32;

/** The host's own words for errors that came from it. A flow cannot add to it. */
const fromHost = new WeakMap<RoteError, WireError>();

/** Makes the exception of a host error, and remembers that the host made it. */
export function errorOf(wire: WireError): RoteError {
  const error = exceptionOf(wire);
  fromHost.set(error, wire);
  return error;
}

function exceptionOf(wire: WireError): RoteError {
  switch (wire.kind) {
    case "denied":
      return new DeniedError(wire.rule, wire.message, wire.hint);
    case "confirmation-needed":
      return new ConfirmationNeededError(wire.tool, wire.impact);
    case "http":
      return new HttpError(new Response(wire.response));
    case "invalid-input":
      return new InvalidInputError(wire.problems);
    case "fingerprint-mismatch":
      return new FingerprintMismatchError(wire.message);
    case "auth":
      return new AuthError(wire.message);
    case "upstream":
      return new UpstreamError(wire.message);
    case "not-found":
      return new NotFoundError(wire.message);
    case "limit":
      return new LimitError(wire.message);
    case "internal":
      return new InternalError(wire.message);
  }
}

/** Returns the value of an outcome. Throws its error. */
export function valueOf<T>(outcome: Outcome<T>): T {
  if ("ok" in outcome) return outcome.ok;
  throw errorOf(outcome.err);
}

/**
 * Returns what the host is told of an exception that ended the flow.
 *
 * The host's own error keeps its kind, so that the host can ask for a confirmation or name the drift, and so does one
 * that is the `cause` of what was thrown, whose message then says what the flow was doing. A flow's own error says that
 * arguments do not fit or that something was not found; it cannot say in the host's name that a policy decided.
 * Everything else is `internal`, with the stack.
 */
export function wireOf(thrown: unknown): WireError {
  const [error, wire] = hostErrorBehind(thrown) ?? [];
  if (wire !== undefined && error === thrown) return wire;
  const own = ownOf(thrown);
  if (wire === undefined) return own ?? { kind: "internal", message: described(thrown) };
  if (own !== undefined && own.kind !== wire.kind) return { ...own, id: wire.id ?? null };
  return { ...wire, context: messageOf(thrown) };
}

/** What a flow may say in its own name. */
function ownOf(thrown: unknown): WireCause | undefined {
  if (!(thrown instanceof RoteError)) return undefined;
  if (thrown.kind === "not-found") return { kind: "not-found", message: thrown.message };
  if (thrown.kind !== "invalid-input") return undefined;
  const problems = thrown instanceof InvalidInputError ? thrown.problems : [{ pointer: "", message: thrown.message }];
  return { kind: "invalid-input", problems: [...problems] };
}

/** Returns the first error of the host among an exception, its causes, and the errors that an `AggregateError` collects. */
function hostErrorBehind(thrown: unknown): [RoteError, WireError] | undefined {
  const open = [thrown];
  for (let seen = 0; seen < MOST_CAUSES && open.length > 0; seen += 1) {
    const next = open.shift();
    if (!(next instanceof Error)) continue;
    if (next instanceof RoteError) {
      const wire = fromHost.get(next);
      if (wire !== undefined) return [next, wire];
    }
    if (next instanceof AggregateError) open.push(...next.errors.slice(0, MOST_CAUSES));
    open.push(next.cause);
  }
  return undefined;
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : shown(thrown);
}

/** Returns an exception as text: name, message, and the frames that are not the SDK's. */
export function described(thrown: unknown): string {
  if (!(thrown instanceof Error)) return `the flow threw ${shown(thrown)}`;
  const frames = (thrown.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("rote:sdk"));
  return [`${thrown.name}: ${thrown.message}`, ...frames].join("\n");
}

/** Returns any value as text for a person; never throws. */
export function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return described(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
