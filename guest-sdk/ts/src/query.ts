import { InvalidInputError } from "./errors.js";
import { type Json, jsonOf } from "./json.js";
import { Response } from "./response.js";
import { current } from "./runtime.js";

/** Names a recorded response: `7`, `"@7"` or the response. */
export type ResponseId = number | `@${number}` | Response;

/** What a query reads: the body of a response, or a value that the flow has. */
type Source = { id: number } | { value: Json };

/** A jq program over a recorded response or a value, built step by step. Each step is a new query. */
export class Query {
  readonly #source: Source;
  readonly #steps: readonly string[];

  constructor(response: ResponseId | { value: unknown }, steps: readonly string[] = []) {
    this.#source = sourceOf(response);
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

  /**
   * Goes down a path of names, `items.0.login` or `["odd.name", 0]`; in a text, a name of digits only is an index.
   * jq's own spelling, with a dot or a bracket first, works too: `.items[0]`.
   */
  path(path: string | readonly (string | number)[]): Query {
    if (typeof path !== "string") return this.pipe(programOf(path));
    if (path.startsWith(".")) return this.pipe(path);
    if (path.startsWith("[")) return this.pipe(`.${path}`);
    const names = path.split(".").filter((name) => name !== "");
    return this.pipe(programOf(names.map((name) => (/^[0-9]+$/.test(name) ? { index: name } : name))));
  }

  /** Takes one item of an array; negative numbers count from its end. */
  at(index: number): Query {
    return this.pipe(`.[${Math.trunc(index)}]`);
  }

  /** Adds a jq expression. */
  pipe(expression: string): Query {
    return new Query("id" in this.#source ? this.#source.id : this.#source, [...this.#steps, expression]);
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
    const { host } = current();
    const source = this.#source;
    const outputs = "id" in source ? host.queryResponse(source.id, this.program) : host.queryValue(source.value, this.program);
    return outputs as T[];
  }
}

/** Writes a path as a jq program, so that no name is one; `index` is a text of digits. */
function programOf(path: readonly (string | number | { index: string })[]): string {
  return path.reduce<string>((program, key) => {
    if (typeof key === "number") return `${program}[${Math.trunc(key)}]`;
    if (typeof key !== "string") return `${program}[${key.index}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key)) return `${program}[${JSON.stringify(key)}]`;
    return program === "." ? `.${key}` : `${program}.${key}`;
  }, ".");
}

function sourceOf(of: ResponseId | { value: unknown }): Source {
  if (of instanceof Response) return { id: of.id };
  if (typeof of === "object") return { value: jsonOf(of.value) };
  const id = typeof of === "number" ? of : Number(of.replace(/^@/, ""));
  if (Number.isSafeInteger(id) && id > 0) return { id };
  throw new InvalidInputError([{ pointer: "", message: `\`${of}\` is not the number of a response` }]);
}
