/**
 * The starts of counters that are stored already, so that not every sample stores its counter's start again. Only a
 * hash of a start's series and time is kept. A start is noted once its batch is on disk: noted earlier, the start of a
 * batch that failed would never be stored.
 */

import { knownStartsMax } from "../limits.ts";
import { addMember, hasWords, makeSharedSet, wordsOf } from "./shared-set.ts";

export class KnownStarts {
  readonly #slots: BigInt64Array;
  readonly #words: Uint32Array;
  /** Starts that this instance noted; there is one instance that notes. */
  #count = 0;

  constructor(slots: BigInt64Array) {
    this.#slots = slots;
    this.#words = wordsOf(slots);
  }

  static makeTable(): BigInt64Array {
    return makeSharedSet(knownStartsMax);
  }

  /** Whether the start with these halves of a hash is known. */
  has(high: number, low: number): boolean {
    return hasWords(this.#words, high, low);
  }

  /** Forgets all where there is no room for more: a start that is stored once more changes nothing. */
  note(starts: BigInt64Array): void {
    if (this.#count + starts.length > knownStartsMax) {
      this.#slots.fill(0n);
      this.#count = 0;
    }
    for (const start of starts.subarray(0, knownStartsMax)) if (addMember(this.#slots, start)) this.#count++;
  }
}
