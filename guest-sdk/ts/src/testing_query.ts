import type { Json } from "./json.js";
import { errorOf } from "./wire.js";

/**
 * Understands the paths of jq, `.items[0].name | .[]`, and nothing else: enough for most tests without an engine.
 * Throws `InvalidInputError` for other programs.
 */
export function pathQuery(input: Json, program: string): Json[] {
  const keys = keysOf(program);
  return keys.reduce<Json[]>((values, key) => values.flatMap((value) => step(value, key)), [input]);
}

/** Every item of an array or object, `.[]`. */
const EACH = Symbol("each item");

type Key = string | number | typeof EACH;

function keysOf(program: string): Key[] {
  const keys: Key[] = [];
  for (const part of program.split("|").map((text) => text.trim())) {
    const tokens = part.match(/\.?\[[^\]]*\]|\.[A-Za-z_]\w*/g) ?? [];
    if (tokens.join("") !== (part === "." ? "" : part) || !part.startsWith(".")) {
      const message = `the fake host knows paths only, not \`${program}\`; give it a \`query\``;
      throw errorOf({ kind: "invalid-input", problems: [{ pointer: "", message }] });
    }
    keys.push(...tokens.map(keyOf));
  }
  return keys;
}

function keyOf(token: string): Key {
  const inner = token.match(/^\.?\[(.*)\]$/)?.[1];
  if (inner === undefined) return token.slice(1);
  return inner === "" ? EACH : (JSON.parse(inner) as string | number);
}

function step(value: Json, key: Key): Json[] {
  if (value === null || typeof value !== "object") return [null];
  if (key === EACH) return Object.values(value);
  if (Array.isArray(value)) return [typeof key === "number" ? (value.at(key) ?? null) : null];
  return [value[key] ?? null];
}
