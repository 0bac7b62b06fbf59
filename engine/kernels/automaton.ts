/** Automatons over the bytes of texts: their tables, and the kernels that run them. */
import { findLastAtMost } from "../vector/binary-search.ts";
import { setBit } from "../vector/bitmap.ts";
import type { AnyBuffer, Bits, Text } from "./vectors.ts";

/**
 * The transitions of an automaton. A state is the index of its first entry in `next`. Three states are final, with only
 * transitions to themselves: 0 (no match), `width` (match) and 2 × `width` (unknown: the table lacks a transition).
 */
export interface AutomatonTable<B extends AnyBuffer = ArrayBufferLike> {
  /** Entries of each state: one for each symbol, one for the end of a text, and one for bytes that the table lacks. */
  readonly width: number;
  /** For each byte its symbol, an entry. */
  readonly symbols: Uint8Array<B>;
  readonly next: Uint32Array<B>;
}

/** The state that says nothing about a text. */
const unknownState = ({ width }: AutomatonTable): number => width * 2;

/** The final state of a text that ends in a state. */
const stateAtEnd = ({ next, width }: AutomatonTable, state: number): number => next[state + width - 2]!;

/** Occurrences of the literal prefix of a pattern in texts. */
interface PrefixOccurrences<B extends AnyBuffer> {
  byteLength: number;
  /** Positions in the bytes where it begins, ascending; all lie in rows of the text. */
  places: Uint32Array<B>;
  /** The automaton's state before the prefix, at which no match has begun, and after it. */
  stateBefore: number;
  stateAfter: number;
}

export interface AutomatonKernels<B extends AnyBuffer> {
  /** states[i] := the state that the text of rows[i] (of row i where `rows` is null) leads to from state `start`. */
  readTexts(
    text: Text<B>,
    rows: Uint32Array<B> | null,
    table: AutomatonTable<B>,
    start: number,
    states: Uint32Array<B>,
  ): void;
  /**
   * Reads the texts after each occurrence of a prefix, until the row ends or the state is final or `stateBefore`, and sets
   * the bits of the rows that match. A prefix that begins in one row and ends in another does not count.
   * @returns the index of the first occurrence after which the result is unknown, else the number of occurrences
   */
  matchAfterPrefix(
    text: Text<B>,
    prefix: PrefixOccurrences<B>,
    table: AutomatonTable<B>,
    found: Bits<B>,
  ): number;
}

export const plainAutomatonKernels: AutomatonKernels<AnyBuffer> = {
  readTexts({ offsets, bytes }, rows, table, start, states) {
    for (let i = 0; i < states.length; i++) {
      const row = rows === null ? i : rows[i]!;
      states[i] = readBytes(table, start, -1, bytes, offsets[row]!, offsets[row + 1]!).state;
    }
  },
  matchAfterPrefix({ offsets, bytes }, { byteLength, places, stateBefore, stateAfter }, table, found) {
    let readTo = 0;
    for (let i = 0; i < places.length; i++) {
      const place = places[i]!;
      if (place < readTo) continue;
      const row = findLastAtMost(offsets, place);
      const end = offsets[row + 1]!;
      if (place + byteLength > end) continue;
      const { state, at } = readBytes(table, stateAfter, stateBefore, bytes, place + byteLength, end);
      readTo = at;
      if (state === stateBefore) continue;
      const result = stateAtEnd(table, state);
      if (result === unknownState(table)) return i;
      if (result === table.width) setBit(found, row);
      readTo = end;
    }
    return places.length;
  },
};

/** Reads bytes[from, to) until a state is final or `end`. Returns it, and where it was reached. */
function readBytes(
  { symbols, next, width }: AutomatonTable,
  start: number,
  end: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): { state: number; at: number } {
  let state = start;
  let at = from;
  while (at < to && state > 2 * width && state !== end) state = next[state + symbols[bytes[at++]!]!]!;
  return { state, at };
}
