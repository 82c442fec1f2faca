/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [name: string]: Json;
}

/**
 * Returns a value as JSON has it: a copy, with null for what JSON has no word for. Throws `TypeError` for what it
 * cannot hold, such as a cycle.
 */
export function jsonOf(value: unknown): Json {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : (JSON.parse(text) as Json);
}
