import { InvalidInputError } from "./errors.js";
import { type Json, jsonOf } from "./json.js";
import { current } from "./runtime.js";

/** A reference to a recorded response. The body stays with the host until it is read. */
export interface ResponseRef {
  /** Its number in the workspace, `@7`; starts at 1. */
  id: number;
  /** HTTP status, 100–599. */
  status: number;
  /** Media type without parameters; empty when the remote sent none. */
  contentType: string;
  /** Size of the decoded body in bytes. */
  bytes: number;
}

/** A recorded response. Reading it asks the host; nothing is kept here. */
export class Response implements ResponseRef {
  readonly id: number;
  readonly status: number;
  readonly contentType: string;
  readonly bytes: number;

  constructor(ref: ResponseRef) {
    this.id = ref.id;
    this.status = ref.status;
    this.contentType = ref.contentType;
    this.bytes = ref.bytes;
  }

  /** Returns the whole body. The type is the caller's claim and is not checked. */
  json<T = Json>(): T {
    return this.query<T>(".")[0] as T;
  }

  /** Returns the body as text; a JSON body is written compactly. */
  text(): string {
    const body = this.json();
    return typeof body === "string" ? body : JSON.stringify(body);
  }

  /**
   * Runs a jq program on the body and returns its outputs. `values` are its variables, by name without `$`; they are
   * data whatever they hold. Throws `InvalidInputError` when it does not parse.
   */
  query<T = Json>(program: string, values: Record<string, unknown> = {}): T[] {
    return current().host.queryResponse(this.id, bound(program, values)) as T[];
  }
}

/** Puts the values in front of a program. In parentheses: jq reads `-5 as $n` as `-(5 as $n …)`. */
function bound(program: string, values: Record<string, unknown>): string {
  const bindings = Object.entries(values).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      throw new InvalidInputError([{ pointer: "", message: `\`${name}\` is not a variable of jq: use letters, digits and _` }]);
    }
    return `(${JSON.stringify(jsonOf(value))}) as $${name} | `;
  });
  return bindings.join("") + program;
}
