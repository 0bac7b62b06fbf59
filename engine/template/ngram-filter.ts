/**
 * Which runs of so many letters occur in some texts, case ignored: one bit for each of the 26³ or 26⁴. A needle with another run
 * lies in none of them.
 */
import { foldedByte } from "../vector/case-folding.ts";

const letters = 26;

/** 0 for "a" to 25 for "z", whatever the case; 26 for all else. */
const letterOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = foldedByte[byte]! - 97;
  return letter >= 0 && letter < letters ? letter : letters;
});

/** Letters of a run in the filters of variables that are words, of those with random letters, and of all messages. */
export const RunWidth = { words: 3, random: 4, messages: 4 } as const;

/** Calls with the number of each run of `width` letters in bytes[from, to). */
function eachRun(
  width: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  onRun: (run: number) => void,
): void {
  const shorter = letters ** (width - 1);
  let length = 0;
  let run = 0;
  for (let at = from; at < to; at++) {
    const letter = letterOf[bytes[at]!]!;
    if (letter === letters) {
      length = 0;
      continue;
    }
    run = (run % shorter) * letters + letter;
    if (++length >= width) onRun(run);
  }
}

export class NgramFilterBuilder {
  readonly bits: Uint8Array;
  readonly #width: number;
  /** The runs whose bits are set: mostly few. */
  readonly #runs: number[] = [];
  readonly #note = (run: number): void => {
    if (this.#has(run)) return;
    this.bits[run >> 3] = this.bits[run >> 3]! | (1 << (run & 7));
    this.#runs.push(run);
  };

  /** @param width letters of a run */
  constructor(width: number) {
    this.#width = width;
    this.bits = new Uint8Array(NgramFilterBuilder.byteLength(width));
  }

  /** Of the bits of all runs of `width` letters. */
  static byteLength(width: number): number {
    return (letters ** width + 7) >> 3;
  }

  /** Distinct runs. */
  get count(): number {
    return this.#runs.length;
  }

  add(bytes: Uint8Array, from: number, to: number): void {
    eachRun(this.#width, bytes, from, to, this.#note);
  }

  addAll(other: NgramFilterBuilder): void {
    for (const run of other.#runs) this.#note(run);
  }

  /** How many of the runs are not among the others. */
  unknownTo(others: NgramFilterBuilder): number {
    let unknown = 0;
    for (const run of this.#runs) if (!others.#has(run)) unknown++;
    return unknown;
  }

  /** Adds every run of the letters from a to f. */
  addHex(): void {
    const digits = Uint8Array.from("abcdef", (digit) => digit.charCodeAt(0));
    const run = new Uint8Array(this.#width);
    for (let number = 0; number < digits.length ** this.#width; number++) {
      for (let i = 0, rest = number; i < run.length; i++, rest = Math.floor(rest / digits.length))
        run[i] = digits[rest % digits.length]!;
      this.add(run, 0, run.length);
    }
  }

  clear(): void {
    for (const run of this.#runs) this.bits[run >> 3] = 0;
    this.#runs.length = 0;
  }

  #has(run: number): boolean {
    return (this.bits[run >> 3]! & (1 << (run & 7))) !== 0;
  }
}

/** The runs of a needle, for `mayHoldRuns`. */
export function ngramsOf(needle: Uint8Array, width: number): number[] {
  const found = new Set<number>();
  eachRun(width, needle, 0, needle.byteLength, (run) => found.add(run));
  return [...found];
}

/** False where texts with those runs (the bits of a LetterRuns) cannot hold a needle with these. */
export function mayContainNgrams(bits: Uint8Array, wanted: readonly number[]): boolean {
  return wanted.every((run) => (bits[run >> 3]! & (1 << (run & 7))) !== 0);
}
