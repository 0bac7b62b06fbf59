/**
 * 64-bit hashes by which different texts are counted. Chunks store the texts of one attribute in different ways, and each way is hashed
 * as it lies: a text that is what JavaScript prints for a number as that number, another of whole bytes in lower-case hexadecimal as
 * those bytes, and every other as its UTF-8. No text is of two kinds, for numbers come first.
 */
import { roundTripNumber } from "./number.ts";

/** Hashes as halves; both are 0 where there is no text, or an empty one. */
export interface Fingerprints {
  low: Uint32Array;
  high: Uint32Array;
}

const hexBytesMax = 64;
/** Longer texts are not what a number prints. */
const numberBytesMax = 32;
/** Sets hashes of different kinds apart. */
const Kind = { text: 0x3c6ef372, number: 0x510e527f, hex: 0x1f83d9ab } as const;

/** Little-endian bytes, and the same for words. */
export interface HashSource {
  bytes: Uint8Array;
  view: DataView;
}

export function hashSource(bytes: Uint8Array): HashSource {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}

const packed = hashSource(new Uint8Array(hexBytesMax));
/** The value of a lower-case hexadecimal digit; 0xff for any other byte. */
const digitOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  return /[0-9a-f]/.test(String.fromCharCode(byte)) ? Number.parseInt(String.fromCharCode(byte), 16) : 0xff;
});

/** Writes the hash of a text, bytes [from, to), to place i. */
export function fingerprintText(
  into: Fingerprints,
  i: number,
  source: HashSource,
  from: number,
  to: number,
): void {
  if (from === to) return;
  const number = numberIn(source.bytes, from, to);
  const width = number === undefined ? packHex(source.bytes, from, to) : 0;
  if (number !== undefined) fingerprintNumber(into, i, number);
  else if (width > 0) hashBytes(into, i, packed.view, 0, width, Kind.hex);
  else hashBytes(into, i, source.view, from, to, Kind.text);
}

/** The same for the text that JavaScript prints for a number. */
export function fingerprintNumber(into: Fingerprints, i: number, number: number): void {
  packed.view.setFloat64(0, number, true);
  hashBytes(into, i, packed.view, 0, 8, Kind.number);
}

/** The same for bytes [from, to) that stand for twice as many hexadecimal digits, 1 to 64 of them. */
export function fingerprintHex(
  into: Fingerprints,
  i: number,
  source: HashSource,
  from: number,
  to: number,
): void {
  const number = areDecimal(source.bytes, from, to)
    ? roundTripNumber(Buffer.from(source.bytes.subarray(from, to)).toString("hex"))
    : undefined;
  if (number !== undefined) fingerprintNumber(into, i, number);
  else hashBytes(into, i, source.view, from, to, Kind.hex);
}

/** Whether every hexadecimal digit is a decimal one. */
function areDecimal(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if ((byte & 15) > 9 || byte > 0x99) return false;
  }
  return true;
}

function numberIn(bytes: Uint8Array, from: number, to: number): number | undefined {
  const first = bytes[from]!;
  if (to - from > numberBytesMax || !((first >= 48 && first <= 57) || first === 45)) return undefined;
  return roundTripNumber(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1"));
}

/** Packs hexadecimal digits; 0 where the text is not made of them alone, two by two. */
function packHex(bytes: Uint8Array, from: number, to: number): number {
  const digits = to - from;
  if ((digits & 1) === 1 || digits > 2 * hexBytesMax) return 0;
  for (let at = from, target = 0; at < to; at += 2, target++) {
    const high = digitOf[bytes[at]!]!;
    const low = digitOf[bytes[at + 1]!]!;
    if (high === 0xff || low === 0xff) return 0;
    packed.bytes[target] = (high << 4) | low;
  }
  return digits >> 1;
}

/** Two lanes of 32 bits that mix each other, as in MurmurHash3's x86_128 with its constants. */
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
    low = Math.imul(rotated(low ^ lowWord(view.getInt32(at, true)), 19) + high, 5) + 0x561ccd1b;
    high = Math.imul(rotated(high ^ highWord(view.getInt32(at + 4, true)), 17) + low, 5) + 0x0bcaa747;
  }
  let tailLow = 0;
  let tailHigh = 0;
  for (let shift = 0; at < to; at++, shift += 8) {
    if (shift < 32) tailLow |= view.getUint8(at) << shift;
    else tailHigh |= view.getUint8(at) << (shift - 32);
  }
  low ^= lowWord(tailLow) ^ (to - from);
  high ^= highWord(tailHigh) ^ (to - from);
  low = (low + high) | 0;
  high = (high + low) | 0;
  low = finalised(low);
  high = finalised(high);
  low = (low + high) | 0;
  high = (high + low) | 0;
  // Both 0 says that there is no text.
  into.low[i] = low === 0 && high === 0 ? 1 : low;
  into.high[i] = high;
}

function lowWord(word: number): number {
  return Math.imul(rotated(Math.imul(word, 0x239b961b), 15), 0xab0e9789);
}

function highWord(word: number): number {
  return Math.imul(rotated(Math.imul(word, 0xab0e9789), 16), 0x38b34ae5);
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function finalised(word: number): number {
  let hash = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
