import { CancelledError, InternalError, RoteError } from "./errors.js";
import { type Json, jsonOf } from "./json.js";
import type { Runtime } from "./runtime.js";
import { type Outcome, described, wireOf } from "./wire.js";

/** A flow's entry point. */
export type Main = (parameters: Json) => unknown;

/**
 * Runs one flow, without a loop of its own: whoever has the engine runs the jobs (what follows an `await`) until
 * there are none, asks for {@link Driver.outcome}, and calls {@link Driver.step} while there is none.
 */
export class Driver {
  readonly #run: Runtime;
  #outcome: Outcome<Json> | undefined;
  readonly #rejections = new Map<unknown, unknown>();

  constructor(run: Runtime) {
    this.#run = run;
  }

  /** Calls the flow with its parameters. */
  start(main: Main, parameters: Json): void {
    (async () => main(parameters))().then(
      (value) => this.#end(() => ({ ok: this.#result(value) })),
      (error: unknown) => this.fail(error),
    );
  }

  /** Ends the flow with an exception. Calls in flight are waited for, so that none stays in doubt. */
  fail(thrown: unknown): void {
    this.#run.scheduler.close();
    this.#end(() => ({ err: wireOf(thrown) }));
  }

  /** Returns what came of the flow, once it has ended and no call is in flight. */
  outcome(): Outcome<Json> | undefined {
    if (this.#run.exitCode !== undefined) this.#outcome = this.#exited(this.#run.exitCode);
    if (this.#outcome === undefined || this.#run.scheduler.size > 0) return undefined;
    this.#report();
    return this.#outcome;
  }

  /** Waits for one call. When there is none to wait for, the flow never ends by itself. */
  step(): void {
    if (this.#run.scheduler.size === 0) {
      this.fail(new InternalError("the flow waits for something that never happens"));
      return;
    }
    try {
      this.#run.scheduler.step();
    } catch (error) {
      // The host waits for nothing more, so asking again would never end.
      this.#run.scheduler.abandon();
      this.fail(error);
    }
  }

  /** Notes that a promise was rejected, or that somebody came to handle it. What the flow gave up is not a failure. */
  rejected(promise: unknown, reason: unknown, handled: boolean): void {
    if (reason instanceof CancelledError) return;
    if (handled) this.#rejections.delete(promise);
    else this.#rejections.set(promise, reason);
  }

  /** The first end counts. */
  #end(outcome: () => Outcome<Json>): void {
    if (this.#outcome !== undefined) return;
    try {
      this.#outcome = outcome();
    } catch (error) {
      this.#outcome = { err: wireOf(error) };
    }
  }

  /** What the flow gave, which the host has already, else what it returned, else what it collected. */
  #result(returned: unknown): Json {
    if (this.#run.result !== undefined) return this.#run.result.value;
    if (returned !== undefined) return jsonOf(returned);
    return Object.keys(this.#run.collected).length > 0 ? jsonOf(this.#run.collected) : null;
  }

  #exited(code: number): Outcome<Json> {
    if (code === 0) return { ok: this.#result(undefined) };
    return { err: { kind: "internal", message: `the flow exited with code ${code}` } };
  }

  /** Failures that nobody looked at are said once, in the log. */
  #report(): void {
    for (const reason of this.#rejections.values()) {
      const text = reason instanceof RoteError ? reason.message : described(reason);
      this.#run.host.log("warn", `nobody handled a failure: ${text}`);
    }
    this.#rejections.clear();
  }
}

/** Returns the entry point among a module's exports. Throws `InternalError` when there is none. */
export function mainOf(exports: unknown): Main {
  if (typeof exports === "object" && exports !== null) {
    if ("default" in exports && typeof exports.default === "function") return exports.default as Main;
    if ("run" in exports && typeof exports.run === "function") return exports.run as Main;
  }
  throw new InternalError("the flow exports no function, `default` or `run`");
}
