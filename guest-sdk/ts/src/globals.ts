/**
 * The globals of a flow: what scripts expect of an engine, all from the host, so that a replay sees the same.
 * `Date` is the engine's own and asks the host for the time. There are no timers: `sleep` of the SDK waits.
 */

import type { Host, LogLevel } from "./host.js";
import { decode, encode } from "./utf8.js";
import { shown } from "./wire.js";

/** How many random bytes are fetched at once for `Math.random`. */
const RANDOM_BATCH_BYTES = 256;

/** Most bytes of one `getRandomValues`, as the Web Cryptography API has it. */
const RANDOM_LIMIT_BYTES = 65_536;

/** Defines the globals. */
export function defineGlobals(host: Host): void {
  define("console", consoleOf(host));
  define("performance", Object.freeze({ now: () => host.elapsed() }));
  define("crypto", cryptoOf(host));
  define("TextEncoder", TextEncoder);
  define("TextDecoder", TextDecoder);
  Math.random = randomOf(host);
}

/** Defines one global that a flow may replace for itself. */
export function define(name: string, value: unknown): void {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

function consoleOf(host: Host): Record<string, (...values: unknown[]) => void> {
  const line = (level: LogLevel) => {
    return (...values: unknown[]): void => host.log(level, values.map(shown).join(" "));
  };
  return { log: line("info"), info: line("info"), warn: line("warn"), error: line("error"), debug: line("debug") };
}

/** Returns a `Math.random`: 53 random bits as a fraction. */
function randomOf(host: Host): () => number {
  let words = new Uint32Array(0);
  let next = 0;
  return () => {
    if (next + 2 > words.length) {
      words = new Uint32Array(host.random(RANDOM_BATCH_BYTES).slice().buffer);
      next = 0;
    }
    const high = (words[next++] ?? 0) >>> 5;
    const low = (words[next++] ?? 0) >>> 6;
    return (high * 67_108_864 + low) / 9_007_199_254_740_992;
  };
}

function cryptoOf(host: Host): object {
  const getRandomValues = <T extends ArrayBufferView>(array: T): T => {
    if (array.byteLength > RANDOM_LIMIT_BYTES) {
      throw new RangeError(`at most ${RANDOM_LIMIT_BYTES} random bytes at once`);
    }
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(host.random(array.byteLength));
    return array;
  };
  return Object.freeze({ getRandomValues, randomUUID: () => uuid(host.random(16)) });
}

/** Returns a version 4 UUID (RFC 9562, section 5.4) of 16 random bytes. */
function uuid(random: Uint8Array): string {
  const bytes = [...random];
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const digits = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** UTF-8 only. */
class TextEncoder {
  readonly encoding = "utf-8";

  encode(text = ""): Uint8Array {
    return encode(text);
  }
}

/** UTF-8 only; never fatal. */
class TextDecoder {
  readonly encoding = "utf-8";

  constructor(label = "utf-8") {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`the encoding \`${label}\` is not known; only utf-8 is`);
  }

  decode(bytes: ArrayBufferView = new Uint8Array(0)): string {
    return decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}
