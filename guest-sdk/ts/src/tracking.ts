import type { RoteError } from "./errors.js";
import { current } from "./runtime.js";
import type { Response } from "./response.js";

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
export class Executor {
  readonly #invocations: Invocation[] = [];
  readonly #listeners: ((invocation: Invocation) => void)[] = [];

  /** The calls that are done, in the order in which they ended. */
  get invocations(): readonly Invocation[] {
    return this.#invocations;
  }

  /** Calls `listener` after every call. */
  onCall(listener: (invocation: Invocation) => void): void {
    this.#listeners.push(listener);
  }

  /** @internal */
  record(invocation: Invocation): void {
    this.#invocations.push(invocation);
    for (const listener of this.#listeners) listener(invocation);
  }
}

/**
 * Writes one line to the run's log after every call of `executor`. The host journals each call in any case; this is
 * for reading along.
 */
export function initAutoTracking(executor: Executor): void {
  executor.onCall(({ adapter, tool, response, error }) => {
    const end = error === undefined ? `@${response?.id} ${response?.status}` : `failed: ${error.message}`;
    current().host.log("debug", `${adapter}/${tool} ${end}`);
  });
}
