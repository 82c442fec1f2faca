import { CancelledError } from "./errors.js";
import { current } from "./runtime.js";
import { Task } from "./task.js";

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

class Signal implements CancelSignal {
  cancelled = false;
  readonly #listeners: (() => void)[] = [];

  onCancel(listener: () => void): void {
    if (this.cancelled) listener();
    else this.#listeners.push(listener);
  }

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    for (const listener of this.#listeners) listener();
  }
}

/** Work with a name in the live progress. */
export class TaskQueue {
  #open = new Set<Task<unknown>>();

  /** Runs `work` as one step and waits for it. */
  async run<T>(work: () => T | Promise<T>, { label }: TaskOptions): Promise<T> {
    const { host } = current();
    host.progress(label, "running");
    try {
      const value = await work();
      host.progress(label, "done");
      return value;
    } catch (error) {
      host.progress(label, "failed");
      throw error;
    }
  }

  /**
   * Starts `work` as one step in the background. It runs up to its first `await` now. When it is cancelled, its task
   * rejects at once; to give up the calls that it made, hand its signal on to `callBg`.
   */
  submit<T>(work: (signal: CancelSignal) => T | Promise<T>, { label }: TaskOptions): Task<T> {
    const { host } = current();
    const signal = new Signal();
    const result = new Promise<T>((resolve, reject) => {
      host.progress(label, "running");
      signal.onCancel(() => {
        host.progress(label, "skipped");
        reject(new CancelledError(label));
      });
      const settle = (state: "done" | "failed", end: () => void): void => {
        this.#open.delete(task);
        if (signal.cancelled) return;
        host.progress(label, state);
        end();
      };
      (async () => work(signal))().then(
        (value) => settle("done", () => resolve(value)),
        (error: unknown) => settle("failed", () => reject(error)),
      );
    });
    const task = new Task(label, result, () => {
      if (this.#open.delete(task)) signal.cancel();
    });
    this.#open.add(task);
    return task;
  }

  /** Waits until all submitted work is done. Rejects with the first failure, after all have ended. */
  async wait(): Promise<void> {
    const ends = await Promise.allSettled([...this.#open].map((task) => task.result));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** Gives all submitted work up that is not done. */
  cancel(): void {
    for (const task of [...this.#open]) task.cancel();
  }
}
