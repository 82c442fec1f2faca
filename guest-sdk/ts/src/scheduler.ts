import { CancelledError, InternalError } from "./errors.js";
import type { Host, TaskId, ToolCall } from "./host.js";
import { Response } from "./response.js";
import { errorOf } from "./wire.js";

interface Open {
  task: TaskId;
  label: string;
  resolve(response: Response): void;
  reject(error: unknown): void;
}

/** A call in flight. */
export interface Started {
  task: TaskId;
  answer: Promise<Response>;
}

/**
 * The calls in flight. A call starts at once and its promise is settled by {@link Scheduler.step}, which the driver
 * calls when the flow can do nothing but wait.
 */
export class Scheduler {
  readonly #host: Host;
  #open: Open[] = [];
  #closed = false;

  constructor(host: Host) {
    this.#host = host;
  }

  /** How many calls are in flight. */
  get size(): number {
    return this.#open.length;
  }

  /** Starts a call. Throws what the host says to it, such as that a person must confirm first. */
  start(call: ToolCall): Started {
    if (this.#closed) throw new InternalError("the flow has ended and starts no more calls");
    const task = this.#host.start(call);
    const answer = new Promise<Response>((resolve, reject) => {
      this.#open.push({ task, label: `${call.adapter}/${call.tool}`, resolve, reject });
    });
    return { task, answer };
  }

  /** Waits for one call and settles its promise. There must be one in flight. */
  step(): void {
    const { index, outcome } = this.#host.waitAny(this.#open.map((open) => open.task));
    const [open] = this.#open.splice(index, 1);
    if (open === undefined) throw new InternalError(`the host named task ${index} of ${this.#open.length}`);
    if ("ok" in outcome) open.resolve(new Response(outcome.ok));
    else open.reject(errorOf(outcome.err));
  }

  /** Gives a call up: its promise rejects with `CancelledError`. One that is done stays done. */
  cancel(task: TaskId): void {
    const index = this.#open.findIndex((open) => open.task === task);
    if (index < 0) return;
    this.#host.cancel(task);
    const [open] = this.#open.splice(index, 1);
    open?.reject(new CancelledError(open.label));
  }

  /** Forgets the calls in flight; their promises stay open. */
  abandon(): void {
    this.#open = [];
  }

  /** Starts no more calls; those in flight can still be waited for. */
  close(): void {
    this.#closed = true;
  }
}
