import { InvalidInputError } from "./errors.js";
import type { Json } from "./json.js";
import { Response } from "./response.js";
import { current } from "./runtime.js";

/** Names a recorded response: `7`, `"@7"` or the response. */
export type ResponseId = number | `@${number}` | Response;

/** A jq program over a recorded response, built step by step. Each step is a new query. */
export class Query {
  readonly #id: number;
  readonly #steps: readonly string[];

  constructor(response: ResponseId, steps: readonly string[] = []) {
    this.#id = responseNumber(response);
    this.#steps = steps;
  }

  /** The jq program. */
  get program(): string {
    return this.#steps.length === 0 ? "." : this.#steps.join(" | ");
  }

  /** Selects by a jq expression, such as `.items[] | .name`. */
  select(expression: string): Query {
    return this.pipe(expression);
  }

  /** Goes down a path of names, `items.owner.login` or `["odd.name", 0]`; jq's own spelling `.items[0]` works too. */
  path(path: string | readonly (string | number)[]): Query {
    if (typeof path === "string" && /^[.[]/.test(path)) return this.pipe(path);
    const keys = typeof path === "string" ? path.split(".") : path;
    return this.pipe(`.${keys.map((key) => `[${JSON.stringify(key)}]`).join("")}`);
  }

  /** Takes one item of an array; negative numbers count from its end. */
  at(index: number): Query {
    return this.pipe(`.[${Math.trunc(index)}]`);
  }

  /** Adds a jq expression. */
  pipe(expression: string): Query {
    return new Query(this.#id, [...this.#steps, expression]);
  }

  /** Keeps the items of an array for which the jq expression is true. */
  filter(expression: string): Query {
    return this.pipe(`map(select(${expression}))`);
  }

  /** Replaces every item of an array by the jq expression's value. */
  map(expression: string): Query {
    return this.pipe(`map(${expression})`);
  }

  /** Reads a string as JSON. */
  parseJson(): Query {
    return this.pipe("fromjson");
  }

  /** Returns the output; an array when there are several, null when there is none. */
  async execute<T = Json>(): Promise<T> {
    const outputs = await this.all();
    return (outputs.length > 1 ? outputs : (outputs[0] ?? null)) as T;
  }

  /** Returns all outputs. */
  async all<T = Json>(): Promise<T[]> {
    return current().host.queryResponse(this.#id, this.program) as T[];
  }
}

function responseNumber(response: ResponseId): number {
  if (response instanceof Response) return response.id;
  const id = typeof response === "number" ? response : Number(response.replace(/^@/, ""));
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new InvalidInputError([{ pointer: "", message: `\`${response}\` is not the number of a response` }]);
}
