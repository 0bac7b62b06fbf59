/** Comparison of a text with bytes at a place. */
import { foldedByte } from "./case-folding.ts";

/** Returns whether `text` is at a position. With `ignoreCase` it must be in lower case. */
export function equalsAt(bytes: Uint8Array, at: number, text: Uint8Array, ignoreCase: boolean): boolean {
  if (ignoreCase) {
    for (let i = 0; i < text.length; i++) if (foldedByte[bytes[at + i]!] !== text[i]) return false;
    return true;
  }
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** The first position of a text in bytes[from, to), or -1. */
export function indexOfText(
  bytes: Uint8Array,
  from: number,
  to: number,
  text: Uint8Array,
  ignoreCase: boolean,
): number {
  for (let at = from; at + text.length <= to; at++) if (equalsAt(bytes, at, text, ignoreCase)) return at;
  return -1;
}
