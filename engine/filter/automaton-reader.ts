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
    const textsOf = (from: number) => (rows === undefined ? from : rows[from]!);
    this.#readParts(text, rows, start, checkpoint, (tableStates, from, readAgain) => {
      let [tableState, state] = [-1, start];
      for (let i = 0; i < tableStates.length; i++) {
        if (tableStates[i] === 0) continue;
        if (tableStates[i] !== tableState) {
          tableState = tableStates[i]!;
          state = this.#automaton.fromTableState(tableState);
          if (this.#isUndecided(state)) {
            state = readAgain(textsOf(from + i));
            tableState = -1;
          }
        }
        onState(from + i, state);
      }
    });
  }

  /**
   * Reads all texts, each from the state `start`, and writes the state after each to `states`. Returns the different ones.
   */
  readAll(text: TextVector, start: number, checkpoint: Checkpoint, states: Uint32Array): readonly number[] {
    const found = new Set<number>();
    this.#readParts(text, undefined, start, checkpoint, (tableStates, from, readAgain) => {
      let [tableState, state] = [-1, start];
      for (let i = 0; i < tableStates.length; i++) {
        if (tableStates[i] !== tableState) {
          tableState = tableStates[i]!;
          state = this.#automaton.fromTableState(tableState);
          if (this.#isUndecided(state)) {
            state = readAgain(from + i);
            tableState = -1;
          }
          found.add(state);
        }
        states[from + i] = state;
      }
    });
    return [...found];
  }

  /**
   * Has kernels read texts, some a call. Calls `onPart` with their states in the automaton's table, the index of the first of
   * them, and a function that reads a text again, which the table leaves undecided, and returns its state.
   */
  #readParts(
    text: TextVector,
    rows: Uint32Array | undefined,
    start: number,
    checkpoint: Checkpoint,
    onPart: (tableStates: Uint32Array, from: number, readAgain: (row: number) => number) => void,
  ): void {
    const automaton = this.#automaton;
    const { scratch, kernels } = this.#heap;
    const countBytes = checkpointByBytes(checkpoint);
    const readAgain = (row: number): number => {
      const [begin, end] = [text.offsets[row]!, text.offsets[row + 1]!];
      countBytes(end - begin);
      return automaton.afterText(start, text.bytes, begin, end);
    };
    const count = rows?.length ?? textCount(text);
    let textsOfCall = firstTexts;
    for (let from = 0, to = 0; from < count; from = to, textsOfCall = Math.min(textsOfCall * 4, textsMax)) {
      checkpoint();
      to = Math.min(count, from + textsOfCall);
      scratch.withScratch((memory) => {
        const table = placeTable(automaton.table, memory);
        const states = memory.uint32(to - from);
        const texts = rows === undefined ? cutTexts(text, from, to) : text;
        const ofCall = rows === undefined ? null : placeNumbers(rows.subarray(from, to), memory);
        kernels.readTexts(texts, ofCall, table, automaton.toTableState(start), states);
        onPart(states, from, readAgain);
      });
    }
  }

  #isUndecided(state: number): boolean {
    return this.#automaton.isFinal(state) && !this.#automaton.isDecided(state);
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
  return { width, symbols: memory.place(symbols), next: placeNumbers(next, memory) };
}

function placeNumbers(numbers: Uint32Array, memory: Heap): Uint32Array {
  const placed = memory.uint32(numbers.length);
  placed.set(numbers);
  return placed;
}
