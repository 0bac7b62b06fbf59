/**
 * Messages as templates and variables. A token is a run of ASCII letters, digits, `_`, `.`, `-` and non-ASCII bytes; tokens that
 * hold a digit are variables, all else is the template. The tokeniser is part of the format: the same text gives the same template in
 * every chunk. In a template's text the byte 0xff, which no UTF-8 has, stands for a variable; a message that holds it
 * becomes one variable as a whole.
 */
import type { TextVector } from "../text.ts";

export const slotByte = 0xff;

/** 0: separates tokens, 1: belongs to a token, 2: belongs to a token and is a digit. */
export const byteClass = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (/[0-9]/.test(character)) return 2;
  return byte >= 0x80 || /[A-Za-z_.-]/.test(character) ? 1 : 0;
});

export interface SplitMessages {
  rows: number;
  /** Texts of the templates, in the order in which they first occur. */
  templates: Uint8Array[];
  /** The template of each row. */
  codes: Uint32Array;
  /** Variables of row r are those from varBase[r] to varBase[r + 1], in order; each is bytes [varStart, varEnd). */
  varBase: Uint32Array;
  varStart: Uint32Array;
  varEnd: Uint32Array;
  bytes: Uint8Array;
}

export function splitMessages(text: TextVector): SplitMessages {
  const rows = text.offsets.length - 1;
  const splitter = new Splitter(text.bytes);
  const codes = new Uint32Array(rows);
  const varBase = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) {
    codes[row] = splitter.split(text.offsets[row]!, text.offsets[row + 1]!);
    varBase[row + 1] = splitter.varCount;
  }
  const { templates, varCount } = splitter;
  const varStart = splitter.varStart.subarray(0, varCount);
  const varEnd = splitter.varEnd.subarray(0, varCount);
  return { rows, templates, codes, varBase, varStart, varEnd, bytes: text.bytes };
}

class Splitter {
  readonly templates: Uint8Array[] = [];
  varStart = new Uint32Array(1 << 16);
  varEnd = new Uint32Array(1 << 16);
  varCount = 0;
  readonly #bytes: Uint8Array;
  /** Codes of the templates with one hash; nearly always one. */
  readonly #byHash = new Map<number, number[]>();

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Notes the variables of the message bytes[from, to) and returns the code of its template. */
  split(from: number, to: number): number {
    const bytes = this.#bytes;
    const varFirst = this.varCount;
    let hash = 0x811c9dc5;
    let second = 0;
    let at = from;
    while (at < to) {
      const byte = bytes[at]!;
      if (byteClass[byte] === 0) {
        hash = Math.imul(hash ^ byte, 0x01000193);
        second = (Math.imul(second, 31) + byte) | 0;
        at++;
        continue;
      }
      const start = at;
      let tokenHash = hash;
      let tokenSecond = second;
      let classes = 0;
      for (; at < to; at++) {
        const unit = bytes[at]!;
        const unitClass = byteClass[unit]!;
        if (unitClass === 0) break;
        if (unit === slotByte) return this.#whole(from, to, varFirst);
        classes |= unitClass;
        tokenHash = Math.imul(tokenHash ^ unit, 0x01000193);
        tokenSecond = (Math.imul(tokenSecond, 31) + unit) | 0;
      }
      if ((classes & 2) === 0) {
        hash = tokenHash;
        second = tokenSecond;
        continue;
      }
      this.#note(start, at);
      hash = Math.imul(hash ^ slotByte, 0x01000193);
      second = (Math.imul(second, 31) + slotByte) | 0;
    }
    return this.#code((hash >>> 0) * 0x200000 + (second >>> 11), from, to, varFirst);
  }

  #whole(from: number, to: number, varFirst: number): number {
    this.varCount = varFirst;
    this.#note(from, to);
    return this.#code(-1, from, to, varFirst);
  }

  #code(hash: number, from: number, to: number, varFirst: number): number {
    const known = this.#byHash.get(hash);
    if (known !== undefined) {
      for (const code of known) if (this.#equals(this.templates[code]!, from, to, varFirst)) return code;
    }
    const code = this.templates.push(this.#text(from, to, varFirst)) - 1;
    if (known === undefined) this.#byHash.set(hash, [code]);
    else known.push(code);
    return code;
  }

  #equals(template: Uint8Array, from: number, to: number, varFirst: number): boolean {
    const bytes = this.#bytes;
    let at = from;
    let variable = varFirst;
    for (let i = 0; i < template.length; i++) {
      if (template[i] === slotByte) {
        if (variable === this.varCount || this.varStart[variable] !== at) return false;
        at = this.varEnd[variable++]!;
      } else {
        if (at >= to || bytes[at] !== template[i]) return false;
        at++;
      }
    }
    return at === to && variable === this.varCount;
  }

  #text(from: number, to: number, varFirst: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let at = from;
    for (let variable = varFirst; variable < this.varCount; variable++) {
      parts.push(this.#bytes.subarray(at, this.varStart[variable]), Uint8Array.of(slotByte));
      at = this.varEnd[variable]!;
    }
    parts.push(this.#bytes.subarray(at, to));
    return Buffer.concat(parts);
  }

  #note(start: number, end: number): void {
    if (this.varCount === this.varStart.length) {
      this.varStart = doubled(this.varStart);
      this.varEnd = doubled(this.varEnd);
    }
    this.varStart[this.varCount] = start;
    this.varEnd[this.varCount] = end;
    this.varCount++;
  }
}

function doubled(array: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
