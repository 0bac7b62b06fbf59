/** Reads the texts of a column with the automaton of a pattern by kernels, many texts a call. */

import type { AutomatonTable } from "../kernels/automaton.ts";
import type { ColumnHeap, Heap } from "../kernels/heap.ts";
import type { Needle } from "../kernels/needle.ts";
import type { PatternAutomaton } from "../regexp/pattern-automaton.ts";
import { findLastAtMost } from "../vector/binary-search.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import type { TextVector } from "../vector/text.ts";
import { type Checkpoint, checkEveryBytes } from "./block-filter.ts";

/**
 * Texts of the first call; each further one reads four times as many, up to the last number. The automaton grows as texts
 * are read, so the first calls find most of its transitions.
 */
const [firstTexts, textsMax] = [32, 16_384];
/** Places of a prefix that are found, and read behind, at a time. */
const placesMax = 4_096;
/** A table with more entries than this is copied for the kernels only after several texts that it could not decide. */
const entriesPerUndecidedText = 512;

export class AutomatonReader {
  readonly #automaton: PatternAutomaton;
  readonly #heap: ColumnHeap;

  constructor(automaton: PatternAutomaton, heap: ColumnHeap) {
    this.#automaton = automaton;
    this.#heap = heap;
  }

  /**
   * Reads the texts of `rows`, or all where it is undefined, from the state `start`. Calls `onState` with the index of each
   * text and the automaton's state after it, but not where no further text leads to a match. `checkpoint` is called from
   * time to time.
   */
  readStates(
    { offsets, bytes }: TextVector,
    rows: Uint32Array | undefined,
    start: number,
    checkpoint: Checkpoint,
    onState: (index: number, state: number) => void,
  ): void {
    const automaton = this.#automaton;
    const { scratch, kernels } = this.#heap;
    const count = rows?.length ?? offsets.length - 1;
    for (
      let from = 0, texts = firstTexts;
      from < count;
      from += texts, texts = Math.min(texts * 4, textsMax)
    ) {
      checkpoint();
      const to = Math.min(count, from + texts);
      const ofCall = rows?.subarray(from, to) ?? null;
      const text = { offsets: ofCall === null ? offsets.subarray(from, to + 1) : offsets, bytes };
      scratch.withScratch((memory) => {
        const table = placeTable(automaton.table, memory);
        const states = memory.uint32(to - from);
        kernels.readTexts(text, ofCall, table, automaton.toTableState(start), states);
        let [tableState, state, uncheckedBytes] = [-1, start, 0];
        for (let i = 0; i < states.length; i++) {
          if (states[i] === 0) continue;
          if (states[i] !== tableState) state = automaton.fromTableState(states[i]!);
          tableState = states[i]!;
          if (automaton.isFinal(state) && !automaton.isDecided(state)) {
            const row = ofCall === null ? i : ofCall[i]!;
            const [begin, end] = [text.offsets[row]!, text.offsets[row + 1]!];
            state = automaton.afterText(start, bytes, begin, end);
            tableState = -1;
            uncheckedBytes += end - begin;
            if (uncheckedBytes > checkEveryBytes) {
              checkpoint();
              uncheckedBytes = 0;
            }
          }
          onState(from + i, state);
        }
      });
    }
  }

  /**
   * Sets the bits of the rows that match a pattern with a literal prefix (`literalPrefixOf`). Each is read from the
   * occurrences of the prefix on. `decide` is called with the rows that the kernel leaves undecided.
   */
  findRows(
    text: TextVector,
    prefix: Needle,
    found: Bitmap,
    checkpoint: Checkpoint,
    decide: (row: number) => boolean,
  ): void {
    const { scratch, kernels } = this.#heap;
    const end = text.offsets.at(-1)!;
    scratch.withScratch((memory) => {
      const places = memory.uint32(placesMax);
      for (let from = text.offsets[0]!; from < end; ) {
        checkpoint();
        const count = kernels.findHits(text.bytes, from, end, prefix, places);
        for (let done = 0; done < count; )
          done += this.#readBehind(text, prefix, places.subarray(done, count), found, decide);
        if (count < placesMax) return;
        // The row of the last place is decided as a whole, so that it is not read again from each further place.
        const row = findLastAtMost(text.offsets, places[count - 1]!);
        if (decide(row)) setBit(found, row);
        from = text.offsets[row + 1]!;
      }
    });
  }

  /** Reads on behind places of a prefix, until all are read or the table is worth a copy. Returns how many were read. */
  #readBehind(
    text: TextVector,
    prefix: Needle,
    places: Uint32Array,
    found: Bitmap,
    decide: (row: number) => boolean,
  ): number {
    const automaton = this.#automaton;
    const { scratch, kernels } = this.#heap;
    const begun = automaton.afterText(automaton.start, prefix.bytes, 0, prefix.bytes.length);
    return scratch.withScratch((memory) => {
      const original = automaton.table;
      const table = placeTable(original, memory);
      const [start, afterPrefix] = [automaton.toTableState(automaton.start), automaton.toTableState(begun)];
      let done = 0;
      for (let undecided = 1; ; undecided++) {
        const rest = places.subarray(done);
        const behind = { byteLength: prefix.bytes.length, places: rest, start, begun: afterPrefix };
        done += kernels.readBehind(text, behind, table, found);
        if (done === places.length) return done;
        const row = findLastAtMost(text.offsets, places[done]!);
        if (decide(row)) setBit(found, row);
        const end = text.offsets[row + 1]!;
        while (done < places.length && places[done]! < end) done++;
        const isWorthCopying = undecided * entriesPerUndecidedText >= original.next.length;
        if (isWorthCopying && automaton.table !== original) return done;
      }
    });
  }
}

/** The table in the memory of kernels. */
function placeTable({ width, symbols, next }: AutomatonTable, memory: Heap): AutomatonTable {
  const placed = memory.uint32(next.length);
  placed.set(next);
  return { width, symbols: memory.place(symbols), next: placed };
}
