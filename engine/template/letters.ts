/**
 * Which runs of three letters occur in some texts, case ignored: one bit for each of the 26³. A needle with another run lies in
 * none of them.
 */
import { foldedByte } from "../fold.ts";

const letters = 26;
const runs = letters ** 3;

/** 0 for "a" to 25 for "z", whatever the case; 26 for all else. */
const letterOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = foldedByte[byte]! - 97;
  return letter >= 0 && letter < letters ? letter : letters;
});

/** Calls with the number of each run of three letters in bytes[from, to). */
function eachRun(bytes: Uint8Array, from: number, to: number, onRun: (run: number) => void): void {
  let length = 0;
  let run = 0;
  for (let at = from; at < to; at++) {
    const letter = letterOf[bytes[at]!]!;
    if (letter === letters) {
      length = 0;
      continue;
    }
    run = (run % (letters * letters)) * letters + letter;
    if (++length >= 3) onRun(run);
  }
}

export class LetterRuns {
  readonly bits = new Uint8Array((runs + 7) >> 3);
  /** The runs whose bits are set: mostly few. */
  readonly #runs: number[] = [];
  readonly #note = (run: number): void => {
    if (this.#has(run)) return;
    this.bits[run >> 3] = this.bits[run >> 3]! | (1 << (run & 7));
    this.#runs.push(run);
  };

  /** Distinct runs. */
  get count(): number {
    return this.#runs.length;
  }

  add(bytes: Uint8Array, from: number, to: number): void {
    eachRun(bytes, from, to, this.#note);
  }

  addAll(other: LetterRuns): void {
    for (const run of other.#runs) this.#note(run);
  }

  /** How many of the runs are not among the others. */
  unknownTo(others: LetterRuns): number {
    let unknown = 0;
    for (const run of this.#runs) if (!others.#has(run)) unknown++;
    return unknown;
  }

  clear(): void {
    for (const run of this.#runs) this.bits[run >> 3] = 0;
    this.#runs.length = 0;
  }

  #has(run: number): boolean {
    return (this.bits[run >> 3]! & (1 << (run & 7))) !== 0;
  }
}

/** The runs of a needle, for `mayHold`. */
export function letterRunsOf(needle: Uint8Array): number[] {
  const found = new Set<number>();
  eachRun(needle, 0, needle.byteLength, (run) => found.add(run));
  return [...found];
}

/** False where texts with those runs (the bits of a LetterRuns) cannot hold a needle with these. */
export function mayHoldRuns(bits: Uint8Array, wanted: readonly number[]): boolean {
  return wanted.every((run) => (bits[run >> 3]! & (1 << (run & 7))) !== 0);
}
