/** Strings of a JSON text, decoded where they stand: what an escape stands for is never longer than the escape. */

const quote = 0x22;
const backslash = 0x5c;
const letterU = 0x75;

/** Bytes that a string may hold as they are. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== quote && byte !== backslash ? 1 : 0,
);

const fourQuotes = 0x22222222;
const fourBackslashes = 0x5c5c5c5c;
const fourSpaces = 0x20202020;
const fourOnes = 0x01010101;
const fourHighBits = 0x80808080;

/** What the byte behind a backslash stands for; 0 where that is no escape, or `\u`. */
const escapes = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  escapes[letter!.charCodeAt(0)] = character!.charCodeAt(0);
}

export class JsonText {
  /** Behind the text of the string that was read last. */
  textTo = 0;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #from = 0;
  #to = 0;
  /** The bytes [from, to) as they came, once one of their strings was decoded. */
  #kept: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Reads on within [from, to), which can be restored until the next call. */
  begin(from: number, to: number): void {
    this.#from = from;
    this.#to = to;
    this.#kept = undefined;
  }

  /** Undoes what was decoded since `begin`. */
  restore(): void {
    this.#kept?.copy(this.#bytes, this.#from);
  }

  /** The place of the quote that ends a string without escapes, or -1. */
  plainEnd(from: number): number {
    const bytes = this.#bytes;
    const at = this.#plainTo(from);
    return at < this.#to && bytes[at] === quote ? at : -1;
  }

  /** The place of the quote that ends the string whose text begins at `from`, or -1; sets `textTo`. */
  stringEnd(from: number): number {
    const bytes = this.#bytes;
    const at = this.#plainTo(from);
    if (at >= this.#to) return -1;
    this.textTo = at;
    if (bytes[at] === quote) return at;
    return bytes[at] === backslash ? this.#decode(at) : -1;
  }

  /** The first byte that is not plain, four at a time as long as all of them are. */
  #plainTo(from: number): number {
    const view = this.#view;
    const bytes = this.#bytes;
    let at = from;
    for (const last = this.#to - 4; at <= last; at += 4) {
      const word = view.getInt32(at, true);
      const quotes = word ^ fourQuotes;
      const backslashes = word ^ fourBackslashes;
      // The highest bit of a byte is set where it is zero, or below a space; of the lowest such byte at least.
      const found =
        ((quotes - fourOnes) & ~quotes) |
        ((backslashes - fourOnes) & ~backslashes) |
        ((word - fourSpaces) & ~word);
      if ((found & fourHighBits) !== 0) break;
    }
    while (isPlain[bytes[at]!] === 1) at++;
    return at;
  }

  /** Decodes on from the first escape. */
  #decode(from: number): number {
    const bytes = this.#bytes;
    this.#kept ??= Buffer.from(bytes.subarray(this.#from, this.#to));
    let at = from;
    this.textTo = from;
    while (at < this.#to) {
      const byte = bytes[at]!;
      if (byte === quote) return at;
      if (isPlain[byte] === 1) {
        bytes[this.textTo++] = byte;
        at++;
        continue;
      }
      if (byte !== backslash) return -1;
      at = this.#decodeEscape(at + 1);
      if (at < 0) return -1;
    }
    return -1;
  }

  /** Writes what the escape stands for whose letter is at `at`; returns the place behind it, or -1. */
  #decodeEscape(at: number): number {
    const bytes = this.#bytes;
    const character = escapes[bytes[at]!]!;
    if (character !== 0) {
      bytes[this.textTo++] = character;
      return at + 1;
    }
    if (bytes[at] !== letterU) return -1;
    const unit = hexUnit(bytes, at + 1);
    if (unit < 0xd800 || unit > 0xdfff) return this.#writePoint(unit, at + 5);
    const isPair = unit < 0xdc00 && bytes[at + 5] === backslash && bytes[at + 6] === letterU;
    const low = isPair ? hexUnit(bytes, at + 7) : -1;
    if (low < 0xdc00 || low > 0xdfff) return -1;
    return this.#writePoint(0x10000 + ((unit - 0xd800) << 10) + low - 0xdc00, at + 11);
  }

  /** Writes a code point as UTF-8; passes `next` on, or -1 where there is no code point. */
  #writePoint(point: number, next: number): number {
    const bytes = this.#bytes;
    if (point < 0) return -1;
    if (point < 0x80) bytes[this.textTo++] = point;
    else {
      if (point < 0x800) bytes[this.textTo++] = 0xc0 | (point >> 6);
      else {
        if (point < 0x10000) bytes[this.textTo++] = 0xe0 | (point >> 12);
        else {
          bytes[this.textTo++] = 0xf0 | (point >> 18);
          bytes[this.textTo++] = 0x80 | ((point >> 12) & 0x3f);
        }
        bytes[this.textTo++] = 0x80 | ((point >> 6) & 0x3f);
      }
      bytes[this.textTo++] = 0x80 | (point & 0x3f);
    }
    return next;
  }
}

/** The number that four hexadecimal digits stand for, or -1. */
function hexUnit(bytes: Uint8Array, from: number): number {
  let unit = 0;
  for (let at = from; at < from + 4; at++) {
    const byte = bytes[at]!;
    const letter = byte | 0x20;
    if (byte >= 0x30 && byte <= 0x39) unit = unit * 16 + byte - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57;
    else return -1;
  }
  return unit;
}
