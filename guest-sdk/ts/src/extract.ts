import type { Json } from "./json.js";
import { Response } from "./response.js";

/**
 * Returns what an answer says: the body of a response, and from MCP's `{"content": [{"text": …}]}` the text of its
 * first part, read as JSON where it is JSON. Anything else is returned as it is.
 */
export function extractContent<T = Json>(result: unknown): T {
  const body: unknown = result instanceof Response ? result.json() : result;
  const text = firstText(body);
  if (text === undefined) return body as T;
  try {
    return JSON.parse(text) as T;
  } catch {
    return text as T;
  }
}

function firstText(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("content" in body) || !Array.isArray(body.content)) return undefined;
  const first: unknown = body.content[0];
  if (typeof first !== "object" || first === null || !("text" in first)) return undefined;
  return typeof first.text === "string" ? first.text : undefined;
}
