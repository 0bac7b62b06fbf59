/** Runs the automaton of a pattern over the texts of a column by kernels, which read many texts a call. */

import type { AutomatonTable } from "../kernels/automaton.ts";
import type { ColumnHeap, Heap } from "../kernels/heap.ts";
import type { Needle } from "../kernels/needle.ts";
import type { PatternAutomaton } from "../regexp/pattern-automaton.ts";
import { findLastAtMost } from "../vector/binary-search.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import { cutTexts, type TextVector, textCount } from "../vector/text.ts";
import { type Checkpoint, checkpointByBytes } from "./block-filter.ts";

/**
 * Texts of the first call; each further one reads four times as many, up to the last number. The automaton grows as texts
 * are read, so the first calls find most of its transitions.
 */
const [firstTexts, textsMax] = [32, 16_384];
/** Greatest number of occurrences of a prefix that one call finds. */
const placesMax = 4_096;
/**
 * The table is copied for the kernels again once they have left one text undecided for so many of its entries: a copy takes
 * longer than reading a text.
 */
const entriesPerUndecidedText = 512;

export class AutomatonReader {
  readonly #automaton: PatternAutomaton;
  readonly #heap: ColumnHeap;

  constructor(automaton: PatternAutomaton, heap: ColumnHeap) {
    this.#automaton = automaton;
    this.#heap = heap;
  }

  /**
   * Reads the texts of `rows` (of all rows where it is undefined), each from the state `start`. Calls `onState` with the index
   * of the text and the automaton's state after it, except for texts after which nothing can match. `checkpoint` is called
   * from time to time.
   */
  readStates(
    text: TextVector,
    rows: Uint32Array | undefined,
    start: number,
    checkpoint: Checkpoint,
    onState: (index: number, state: number) => void,
  ): void {
    const automaton = this.#automaton;
    const { scratch, kernels } = this.#heap;
    const count = rows?.length ?? textCount(text);
    const countBytes = checkpointByBytes(checkpoint);
    let textsOfCall = firstTexts;
    for (let from = 0, to = 0; from < count; from = to, textsOfCall = Math.min(textsOfCall * 4, textsMax)) {
      checkpoint();
      to = Math.min(count, from + textsOfCall);
      const ofCall = rows?.subarray(from, to) ?? null;
      const texts = ofCall === null ? cutTexts(text, from, to) : text;
      scratch.withScratch((memory) => {
        const table = placeTable(automaton.table, memory);
        const states = memory.uint32(to - from);
        kernels.readTexts(texts, ofCall, table, automaton.toTableState(start), states);
        let [tableState, state] = [-1, start];
        for (let i = 0; i < states.length; i++) {
          if (states[i] === 0) continue;
          if (states[i] !== tableState) state = automaton.fromTableState(states[i]!);
          tableState = states[i]!;
          if (automaton.isFinal(state) && !automaton.isDecided(state)) {
            const row = ofCall === null ? i : ofCall[i]!;
            const [begin, end] = [texts.offsets[row]!, texts.offsets[row + 1]!];
            state = automaton.afterText(start, texts.bytes, begin, end);
            tableState = -1;
            countBytes(end - begin);
          }
          onState(from + i, state);
        }
      });
    }
  }

  /**
   * Sets the bits of the rows that match. `prefix` is the pattern's literal prefix (`literalPrefixOf`): a row is read only
   * after its occurrences of the prefix. `decide` matches one row, where the kernels cannot.
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
          done += this.#matchAfterPrefix(text, prefix, places.subarray(done, count), found, decide);
        if (count < placesMax) return;
        // The row of the last place is decided as a whole, so that it is not read again from each further place.
        const row = findLastAtMost(text.offsets, places[count - 1]!);
        if (decide(row)) setBit(found, row);
        from = text.offsets[row + 1]!;
      }
    });
  }

  /**
   * Reads after each occurrence of the prefix, until all are done or the table is worth a new copy. Returns how many
   * occurrences are done.
   */
  #matchAfterPrefix(
    text: TextVector,
    prefix: Needle,
    places: Uint32Array,
    found: Bitmap,
    decide: (row: number) => boolean,
  ): number {
    const automaton = this.#automaton;
    const { scratch, kernels } = this.#heap;
    const stateAfter = automaton.afterText(automaton.start, prefix.bytes, 0, prefix.bytes.length);
    return scratch.withScratch((memory) => {
      const original = automaton.table;
      const table = placeTable(original, memory);
      const occurrence = {
        byteLength: prefix.bytes.length,
        stateBefore: automaton.toTableState(automaton.start),
        stateAfter: automaton.toTableState(stateAfter),
      };
      let done = 0;
      for (let undecided = 1; ; undecided++) {
        const rest = { ...occurrence, places: places.subarray(done) };
        done += kernels.matchAfterPrefix(text, rest, table, found);
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
