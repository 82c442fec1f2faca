import { InvalidInputError } from "./errors.js";
import { current } from "./runtime.js";

/**
 * Waits so many milliseconds. Calls that were started go on; nothing else of the flow does. A replay does not wait, and a run
 * that is resumed does not wait again. Only the time of the run (`rote run --timeout`) bounds it. What is not a number from 0 to
 * 2^53 - 1 is refused.
 */
export async function sleep(milliseconds: number): Promise<void> {
  if (typeof milliseconds !== "number" || !(milliseconds >= 0 && milliseconds <= Number.MAX_SAFE_INTEGER)) {
    throw new InvalidInputError([{ pointer: "", message: `${milliseconds} is not a number of milliseconds` }]);
  }
  // What the flow started before it waits begins before it does.
  await Promise.resolve();
  current().host.sleep(Math.ceil(milliseconds));
}
