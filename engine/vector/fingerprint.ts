/**
 * 64-bit hashes (fingerprints) for counting distinct texts. Chunks store the texts of one attribute in different
 * encodings, and each encoding is hashed without making the text: a text that JavaScript prints for a number is hashed
 * as that number, else lower-case hexadecimal of whole bytes as those bytes, else any text as its UTF-8. Equal texts
 * have equal hashes whatever their encoding, because a text that is both a number and hexadecimal always counts as a
 * number.
 */
import { parseRoundTripNumber } from "./number.ts";

/** The two halves of a hash a place. Both halves are 0 where there is no text or an empty one. */
export interface Fingerprints {
  low: Uint32Array;
  high: Uint32Array;
}

/** Most bytes that a hexadecimal text stands for; a longer one is hashed as UTF-8. */
const hexBytesMax = 64;
/** Texts longer than this are not what JavaScript prints for a number. */
const numberBytesMax = 32;
/** Seeds of the hash, so that a number, an id and a text with the same bytes have different hashes. */
const KindSeed = { text: 0x3c6ef372, number: 0x510e527f, hex: 0x1f83d9ab } as const;

/** Bytes to hash, and a view that reads little-endian words of the same bytes. */
export interface HashSource {
  bytes: Uint8Array;
  view: DataView;
}

export function toHashSource(bytes: Uint8Array): HashSource {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

/** Holds the bytes of one number or of one hexadecimal text while they are hashed. */
const scratch = toHashSource(new Uint8Array(hexBytesMax));
/** The value of a lower-case hexadecimal digit; 0xff for any other byte. */
const hexDigitValues = Uint8Array.from({ length: 256 }, (_, byte) => {
  return /[0-9a-f]/.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : 0xff;
});

/** Writes the hash of the text bytes[from, to) to place `i`. An empty text writes nothing. */
export function fingerprintText(
  into: Fingerprints,
  i: number,
  source: HashSource,
  from: number,
  to: number,
): void {
  if (from === to) return;
  const number = parseNumber(source.bytes, from, to);
  const width = number === undefined ? packHex(source.bytes, from, to) : 0;
  if (number !== undefined) fingerprintNumber(into, i, number);
  else if (width > 0) hashBytes(into, i, scratch.view, 0, width, KindSeed.hex);
  else hashBytes(into, i, source.view, from, to, KindSeed.text);
}

/** Writes the hash of the text that JavaScript prints for a number to place `i`. */
export function fingerprintNumber(into: Fingerprints, i: number, number: number): void {
  scratch.view.setFloat64(0, number, true);
  hashBytes(into, i, scratch.view, 0, 8, KindSeed.number);
}

/**
 * Writes the hash of a hexadecimal text to place `i`. The source holds its 1 to 64 bytes, two digits each, at [from,
 * to).
 */
export function fingerprintHex(
  into: Fingerprints,
  i: number,
  source: HashSource,
  from: number,
  to: number,
): void {
  const number = areDecimalDigits(source.bytes, from, to)
    ? parseRoundTripNumber(Buffer.from(source.bytes.subarray(from, to)).toString("hex"))
    : undefined;
  if (number !== undefined) fingerprintNumber(into, i, number);
  else hashBytes(into, i, source.view, from, to, KindSeed.hex);
}

/** Returns whether every hexadecimal digit of these bytes is a decimal one. */
function areDecimalDigits(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if ((byte & 15) > 9 || byte > 0x99) return false;
  }
  return true;
}

/** The number that JavaScript prints as bytes[from, to), or undefined. */
function parseNumber(bytes: Uint8Array, from: number, to: number): number | undefined {
  const first = bytes[from]!;
  if (to - from > numberBytesMax || !((first >= 48 && first <= 57) || first === 45)) return undefined;
  return parseRoundTripNumber(
    Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1"),
  );
}

/**
 * Packs hexadecimal digits into `scratch` and returns the number of bytes; 0 where the text has other characters, an
 * odd length or too many digits.
 */
function packHex(bytes: Uint8Array, from: number, to: number): number {
  const digits = to - from;
  if ((digits & 1) === 1 || digits > 2 * hexBytesMax) return 0;
  for (let at = from, target = 0; at < to; at += 2, target++) {
    const high = hexDigitValues[bytes[at]!]!;
    const low = hexDigitValues[bytes[at + 1]!]!;
    if (high === 0xff || low === 0xff) return 0;
    scratch.bytes[target] = (high << 4) | low;
  }
  return digits >> 1;
}

/** Two lanes of 32 bits that mix each other, in the manner of MurmurHash3's x86_128 and with its constants. */
function hashBytes(
  into: Fingerprints,
  i: number,
  view: DataView,
  from: number,
  to: number,
  kind: number,
): void {
  let low = kind;
  let high = ~kind;
  let at = from;
  for (; at + 8 <= to; at += 8) {
    low = Math.imul(rotateLeft(low ^ mixLowWord(view.getInt32(at, true)), 19) + high, 5) + 0x561ccd1b;
    high = Math.imul(rotateLeft(high ^ mixHighWord(view.getInt32(at + 4, true)), 17) + low, 5) + 0x0bcaa747;
  }
  let tailLow = 0;
  let tailHigh = 0;
  for (let shift = 0; at < to; at++, shift += 8) {
    if (shift < 32) tailLow |= view.getUint8(at) << shift;
    else tailHigh |= view.getUint8(at) << (shift - 32);
  }
  low ^= mixLowWord(tailLow) ^ (to - from);
  high ^= mixHighWord(tailHigh) ^ (to - from);
  low = (low + high) | 0;
  high = (high + low) | 0;
  low = finalize(low);
  high = finalize(high);
  low = (low + high) | 0;
  high = (high + low) | 0;
  // Two zeros would mean that there is no text.
  into.low[i] = low === 0 && high === 0 ? 1 : low;
  into.high[i] = high;
}

function mixLowWord(word: number): number {
  return Math.imul(rotateLeft(Math.imul(word, 0x239b961b), 15), 0xab0e9789);
}

function mixHighWord(word: number): number {
  return Math.imul(rotateLeft(Math.imul(word, 0xab0e9789), 16), 0x38b34ae5);
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function finalize(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
