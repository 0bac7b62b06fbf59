/**
 * Character n-gram filters: which sequences of n letters occur in some texts, case ignored. A filter has one bit for
 * each of the 26³ or 26⁴ sequences. No text contains a needle that has another sequence.
 */
import { foldedByte } from "../vector/case-folding.ts";

const letterCount = 26;

/** 0 for "a" to 25 for "z" in either case; 26 for any other byte. */
const letterNumbers = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = foldedByte[byte]! - 97;
  return letter >= 0 && letter < letterCount ? letter : letterCount;
});

/** What a letter adds to the number of a 4-gram that it begins. */
const firstLetters = Uint32Array.from({ length: letterCount }, (_, letter) => letter * letterCount ** 3);

/** Letters of an n-gram in the filters of the variable groups `word` and `random`, and in that of all messages. */
export const NgramLength = { words: 3, random: 4, messages: 4 } as const;

/** Calls `onNgram` with the number of each n-gram in bytes[from, to). */
function forEachNgram(
  n: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  onNgram: (ngram: number) => void,
): void {
  const shorter = letterCount ** (n - 1);
  let length = 0;
  let ngram = 0;
  for (let at = from; at < to; at++) {
    const letter = letterNumbers[bytes[at]!]!;
    if (letter === letterCount) {
      length = 0;
      continue;
    }
    ngram = (ngram % shorter) * letterCount + letter;
    if (++length >= n) onNgram(ngram);
  }
}

/** Collects the n-grams of texts. */
export class NgramFilterBuilder {
  readonly bits: Uint8Array;
  readonly #n: number;
  /** The n-grams whose bits are set. They serve to clear and compare filters, because they are few beside all bits. */
  readonly #ngrams: number[] = [];
  readonly #addNgram = (ngram: number): void => {
    if (this.#has(ngram)) return;
    this.bits[ngram >> 3] = this.bits[ngram >> 3]! | (1 << (ngram & 7));
    this.#ngrams.push(ngram);
  };

  /** @param n letters of an n-gram */
  constructor(n: number) {
    this.#n = n;
    this.bits = new Uint8Array(NgramFilterBuilder.byteLength(n));
  }

  /** Bytes of a filter of n-grams of `n` letters. */
  static byteLength(n: number): number {
    return (letterCount ** n + 7) >> 3;
  }

  /** Number of distinct n-grams. */
  get count(): number {
    return this.#ngrams.length;
  }

  add(bytes: Uint8Array, from: number, to: number): void {
    if (this.#n === 4) this.#addFourgrams(bytes, from, to);
    else forEachNgram(this.#n, bytes, from, to, this.#addNgram);
  }

  /**
   * Adds n-grams of four letters in a fifth of the time that `forEachNgram` takes: most are in the filter already, and
   * no function is called for these.
   */
  #addFourgrams(bytes: Uint8Array, from: number, to: number): void {
    const { bits } = this;
    let length = 0;
    let last = 0;
    for (let at = from; at < to; at++) {
      const letter = letterNumbers[bytes[at]!]!;
      if (letter === letterCount) {
        length = 0;
        last = 0;
        continue;
      }
      const ngram = last * letterCount + letter;
      last = ngram - firstLetters[length < 3 ? 0 : letterNumbers[bytes[at - 3]!]!]!;
      if (++length < 4 || (bits[ngram >> 3]! & (1 << (ngram & 7))) !== 0) continue;
      bits[ngram >> 3] = bits[ngram >> 3]! | (1 << (ngram & 7));
      this.#ngrams.push(ngram);
    }
  }

  /** Adds the n-grams of another filter. */
  addAll(other: NgramFilterBuilder): void {
    for (const ngram of other.#ngrams) this.#addNgram(ngram);
  }

  /** Counts the n-grams that the other filter lacks. */
  countMissingFrom(other: NgramFilterBuilder): number {
    let missing = 0;
    for (const ngram of this.#ngrams) if (!other.#has(ngram)) missing++;
    return missing;
  }

  /** Adds every n-gram of the letters a to f. */
  addHexNgrams(): void {
    const digits = Uint8Array.from("abcdef", (digit) => digit.charCodeAt(0));
    const ngram = new Uint8Array(this.#n);
    for (let number = 0; number < digits.length ** this.#n; number++) {
      for (
        let i = 0, quotient = number;
        i < ngram.length;
        i++, quotient = Math.floor(quotient / digits.length)
      )
        ngram[i] = digits[quotient % digits.length]!;
      this.add(ngram, 0, ngram.length);
    }
  }

  clear(): void {
    for (const ngram of this.#ngrams) this.bits[ngram >> 3] = 0;
    this.#ngrams.length = 0;
  }

  #has(ngram: number): boolean {
    return (this.bits[ngram >> 3]! & (1 << (ngram & 7))) !== 0;
  }
}

/** The n-grams of a needle, for `mayContainNgrams`. */
export function findNgrams(needle: Uint8Array, n: number): number[] {
  const found = new Set<number>();
  forEachNgram(n, needle, 0, needle.byteLength, (ngram) => found.add(ngram));
  return [...found];
}

/** Returns false where no text of a filter (`NgramFilterBuilder.bits`) can contain a needle with these n-grams. */
export function mayContainNgrams(bits: Uint8Array, ngrams: readonly number[]): boolean {
  return ngrams.every((ngram) => (bits[ngram >> 3]! & (1 << (ngram & 7))) !== 0);
}
