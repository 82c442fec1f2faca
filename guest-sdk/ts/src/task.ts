/** Work in the background. `await task.wait()` gives its value. */
export class Task<T> {
  /** What it is called in the live progress. */
  readonly label: string;
  /** Settles when the work is done. */
  readonly result: Promise<T>;
  readonly #cancel: () => void;

  /** @internal */
  constructor(label: string, result: Promise<T>, cancel: () => void) {
    this.label = label;
    this.result = result;
    this.#cancel = cancel;
  }

  /** Waits for the work. Rejects with its error, `CancelledError` when it was given up. */
  wait(): Promise<T> {
    return this.result;
  }

  /** Gives the work up. A call that was not sent yet is not sent; a write that was is recorded as in doubt. */
  cancel(): void {
    this.#cancel();
    // Who gives work up need not wait for it.
    this.result.catch(() => {});
  }
}
