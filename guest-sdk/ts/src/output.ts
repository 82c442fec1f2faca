import { InvalidInputError } from "./errors.js";
import { type Json, jsonOf } from "./json.js";
import { current } from "./runtime.js";

/** How an output begins. */
export interface FlowOutputOptions {
  /** A line for people, shown at once. */
  title?: string;
}

/**
 * What a flow shows and returns. The host shows the lines of the mode that was asked for, `--output human`,
 * `summary` or `json`; a flow gives all of them.
 */
export class FlowOutput {
  constructor(options: FlowOutputOptions = {}) {
    if (options.title !== undefined) this.human(options.title);
  }

  /** Shows one line for a person. */
  human(text: string): void {
    current().host.human(text);
  }

  /** Shows one line for a log or a chat. */
  summary(text: string): void {
    current().host.summary(text);
  }

  /** Gives the machine result, an object, once. It takes the place of what the flow returns. */
  result(value: object): void {
    const result = jsonOf(value);
    if (typeof result !== "object" || result === null || Array.isArray(result)) {
      throw new InvalidInputError([{ pointer: "", message: "the result is not an object" }]);
    }
    const run = current();
    run.host.result(result);
    run.result = { value: result };
  }

  /** Adds one entry to an object that is the result when the flow gives and returns no other. */
  json(key: string, value: unknown): void {
    current().collected[key] = value as Json;
  }
}
