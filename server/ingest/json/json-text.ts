/** Decodes JSON strings in place: no escape is shorter than the text that it stands for. */

const quote = 0x22;
const backslash = 0x5c;
const letterU = 0x75;

/** 1 for each byte that a string may contain without an escape. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== quote && byte !== backslash ? 1 : 0,
);

const fourQuotes = 0x22222222;
const fourBackslashes = 0x5c5c5c5c;
const fourSpaces = 0x20202020;
const fourOnes = 0x01010101;
const fourHighBits = 0x80808080;

/** The character for each letter after a backslash; 0 where the letter is no escape, or is `u`. */
const escapes = new Uint8Array(256);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  escapes[letter!.charCodeAt(0)] = character!.charCodeAt(0);
}

export class JsonText {
  /** End of the text of the string that was read last. */
  textTo = 0;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #from = 0;
  #to = 0;
  /** Copy of the bytes [#from, #to), made before the first escape in them is decoded; undefined until then. */
  #original: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Starts reading [from, to). Until the next call, `restore` can undo all decoding in it. */
  begin(from: number, to: number): void {
    this.#from = from;
    this.#to = to;
    this.#original = undefined;
  }

  /** Undoes all decoding since `begin`. */
  restore(): void {
    this.#original?.copy(this.#bytes, this.#from);
  }

  /** Returns the position of the closing quote of a string without escapes, or -1. */
  findPlainEnd(from: number): number {
    const bytes = this.#bytes;
    const at = this.#skipPlain(from);
    return at < this.#to && bytes[at] === quote ? at : -1;
  }

  /**
   * Decodes the string whose text begins at `from`; returns the position of its closing quote, or -1. Sets `textTo`.
   */
  findStringEnd(from: number): number {
    const bytes = this.#bytes;
    const at = this.#skipPlain(from);
    if (at >= this.#to) return -1;
    this.textTo = at;
    if (bytes[at] === quote) return at;
    return bytes[at] === backslash ? this.#decode(at) : -1;
  }

  /** Returns the position of the first byte that is not plain. Tests four bytes at a time while all four are plain. */
  #skipPlain(from: number): number {
    const view = this.#view;
    const bytes = this.#bytes;
    let at = from;
    for (const last = this.#to - 4; at <= last; at += 4) {
      const word = view.getInt32(at, true);
      const quotes = word ^ fourQuotes;
      const backslashes = word ^ fourBackslashes;
      // Sets the high bit of each byte that is a quote, a backslash or below a space. A borrow may set bits of higher
      // bytes by mistake, but never of lower ones.
      const specialBits =
        ((quotes - fourOnes) & ~quotes) |
        ((backslashes - fourOnes) & ~backslashes) |
        ((word - fourSpaces) & ~word);
      if ((specialBits & fourHighBits) !== 0) break;
    }
    while (isPlain[bytes[at]!] === 1) at++;
    return at;
  }

  /** Decodes the rest of a string from its first escape on; returns the position of the closing quote, or -1. */
  #decode(from: number): number {
    const bytes = this.#bytes;
    this.#original ??= Buffer.from(bytes.subarray(this.#from, this.#to));
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

  /** Decodes the escape whose letter is at `at`; returns the position after it, or -1. */
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

  /** Writes a code point as UTF-8 and returns `next`; returns -1 where `codePoint` is below 0. */
  #writePoint(codePoint: number, next: number): number {
    const bytes = this.#bytes;
    if (codePoint < 0) return -1;
    if (codePoint < 0x80) bytes[this.textTo++] = codePoint;
    else {
      if (codePoint < 0x800) bytes[this.textTo++] = 0xc0 | (codePoint >> 6);
      else {
        if (codePoint < 0x10000) bytes[this.textTo++] = 0xe0 | (codePoint >> 12);
        else {
          bytes[this.textTo++] = 0xf0 | (codePoint >> 18);
          bytes[this.textTo++] = 0x80 | ((codePoint >> 12) & 0x3f);
        }
        bytes[this.textTo++] = 0x80 | ((codePoint >> 6) & 0x3f);
      }
      bytes[this.textTo++] = 0x80 | (codePoint & 0x3f);
    }
    return next;
  }
}

/** The value of four hexadecimal digits, or -1. */
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
