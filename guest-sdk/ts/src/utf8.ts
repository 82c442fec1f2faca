/** UTF-8, since the engine has no `TextEncoder`. */

/** Returns the bytes of a text; lone surrogates become U+FFFD. */
export function encode(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const point = code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 63));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
    else {
      bytes.push(0xf0 | (point >> 18), 0x80 | ((point >> 12) & 63));
      bytes.push(0x80 | ((point >> 6) & 63), 0x80 | (point & 63));
    }
  }
  return Uint8Array.from(bytes);
}

/** Returns the text of bytes; what is not UTF-8 becomes U+FFFD, one for each longest beginning of a character. */
export function decode(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let index = 0; index < bytes.length; ) {
    const [point, length] = decodeAt(bytes, index);
    parts.push(String.fromCodePoint(point));
    index += length;
  }
  return parts.join("");
}

/** The second bytes of characters whose first byte does not allow all; no overlong forms, no surrogates, no end. */
const SECOND: Record<number, readonly [number, number]> = {
  0xe0: [0xa0, 0xbf],
  0xed: [0x80, 0x9f],
  0xf0: [0x90, 0xbf],
  0xf4: [0x80, 0x8f],
};

/** Returns the code point at `index` and how many bytes it takes. */
function decodeAt(bytes: Uint8Array, index: number): [number, number] {
  const first = bytes[index] ?? 0;
  if (first < 0x80) return [first, 1];
  if (first < 0xc2 || first > 0xf4) return [0xfffd, 1];
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  let point = first & (0xff >> (length + 1));
  for (let offset = 1; offset < length; offset++) {
    const [least, most] = (offset === 1 ? SECOND[first] : undefined) ?? [0x80, 0xbf];
    const next = bytes[index + offset] ?? 0;
    // The bytes so far are one broken character, and what follows may be a good one.
    if (next < least || next > most) return [0xfffd, offset];
    point = (point << 6) | (next & 63);
  }
  return [point, length];
}
