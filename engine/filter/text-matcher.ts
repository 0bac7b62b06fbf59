/** Regular expressions over columns that have a text for each row. */

import { isValid, type PlainTextColumn, textOfRows } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import type { Filter } from "../plan/filter.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { type AutomatonResult, buildAutomaton, type PatternAutomaton } from "../regexp/pattern-automaton.ts";
import { literalPrefixOf } from "../regexp/required-texts.ts";
import type { RowRange } from "../template/plain-text-filter.ts";
import { setBit } from "../vector/bitmap.ts";
import { cutTexts, toBuffer } from "../vector/text.ts";
import { AutomatonReader } from "./automaton-reader.ts";
import {
  type BlockFilter,
  checkpointByBytes,
  type FilterScope,
  fewRowsDivisor,
  keepFoundRows,
  type RowBlock,
} from "./block-filter.ts";
import type { PatternFilter } from "./predicate.ts";
import { filterRows } from "./row-filter.ts";
import { findTextRanges, searchRanges } from "./text-ranges.ts";

/** A shorter prefix of a pattern is not searched for. */
const prefixBytesMin = 2;
/** Where texts are read one by one, a shorter text is read without a search for the prefix. */
const searchedBytesMin = 128;

/** Matches a pattern with the texts of one column. */
export class TextMatcher {
  readonly #column: PlainTextColumn;
  readonly #scope: FilterScope;
  readonly #automaton: PatternAutomaton | undefined;
  /** The text with which every match begins; empty where it is unknown or too short for a search. */
  readonly #prefix: Buffer;
  readonly #test: (text: Uint8Array) => boolean;
  readonly #emptyPasses: boolean;
  readonly #countBytes: (bytes: number) => void;
  readonly #matchEach: BlockFilter;
  /** Matches many rows of a block; undefined where the pattern has no automaton. */
  readonly #matchMany: BlockFilter | undefined;

  constructor(filter: PatternFilter, column: PlainTextColumn, scope: FilterScope) {
    const pattern = compilePattern(filter.pattern, filter);
    this.#column = column;
    this.#scope = scope;
    const automaton = buildAutomaton(filter.pattern, filter);
    this.#automaton = automaton;
    const prefix = Buffer.from(automaton ? literalPrefixOf(filter.pattern, filter) : "", "utf8");
    this.#prefix = prefix.length < prefixBytesMin ? Buffer.alloc(0) : prefix;
    this.#test = (text) => pattern.test(text);
    this.#emptyPasses = pattern.test("");
    this.#countBytes = checkpointByBytes(scope.checkpoint);
    this.#matchEach = filterRows((row) => this.#matches(row), scope.checkpoint);
    if (automaton !== undefined)
      this.#matchMany =
        this.#prefix.length > 0 ? this.#searchForPrefix(automaton, filter) : this.#readAll(automaton);
  }

  /**
   * Whether every match contains this text because the literal prefix does: `match` searches for the prefix, so that no other
   * search for the text is needed.
   */
  searchesFor(text: Filter): boolean {
    return text.kind === "contains" && !text.ignoreCase && this.#prefix.includes(text.text);
  }

  /** The search for another text takes less than it saves where at most this share of the rows has that text. */
  get usefulShare(): number {
    return this.#prefix.length > 0 ? 1 / fewRowsDivisor : 3 / 4;
  }

  /** Clears the bits of rows that fail. */
  match(block: RowBlock): void {
    const selected = this.#scope.view.heap.kernels.countBits(block.selection);
    const areFew = selected * fewRowsDivisor <= block.rows;
    const match = areFew ? this.#matchEach : (this.#matchMany ?? this.#matchEach);
    match(block);
  }

  /** Searches all rows for the prefix, and reads each row from where the prefix occurs. */
  #searchForPrefix(automaton: PatternAutomaton, { field }: PatternFilter): BlockFilter {
    const { view, checkpoint } = this.#scope;
    const reader = new AutomatonReader(automaton, view.heap);
    const needle = makeNeedle(this.#prefix, false);
    let ranges: readonly RowRange[] | undefined;
    return keepFoundRows(view.heap, (from, rows, found) => {
      ranges ??= findTextRanges(this.#prefix, field, view);
      searchRanges(this.#column, ranges, { from, rows }, found, (texts, ofTexts, firstRow) => {
        reader.findRows(texts, needle, ofTexts, checkpoint, (row) => this.#matches(firstRow + row));
      });
    });
  }

  /** Reads the selected rows from their beginning. */
  #readAll(automaton: PatternAutomaton): BlockFilter {
    const { view, checkpoint } = this.#scope;
    const { kernels, scratch } = view.heap;
    const reader = new AutomatonReader(automaton, view.heap);
    return ({ from, rows, selection }) => {
      const selected = scratch.uint32(kernels.countBits(selection));
      kernels.expand(selection, 0, selected);
      const found = scratch.uint8(selection.length);
      const texts = cutTexts(textOfRows(this.#column, from, from + rows), from, from + rows);
      reader.readStates(texts, selected, automaton.start, checkpoint, (index, state) => {
        const result = automaton.resultAt(state);
        const row = selected[index]!;
        if (result === "all" || (result === "some" && this.#matches(from + row))) setBit(found, row);
      });
      kernels.and(selection, found);
    };
  }

  /** Whether the pattern matches the text of a row. RE2 decides where the automaton has reached its limits. */
  #matches(row: number): boolean {
    if (!isValid(this.#column.valid, row)) return this.#emptyPasses;
    const { offsets, bytes } = textOfRows(this.#column, row, row + 1);
    const [from, to] = [offsets[row]!, offsets[row + 1]!];
    this.#countBytes(to - from);
    const result = this.#resultOf(bytes, from, to);
    return result === "some" ? this.#test(bytes.subarray(from, to)) : result === "all";
  }

  #resultOf(bytes: Uint8Array, from: number, to: number): AutomatonResult {
    const automaton = this.#automaton;
    if (automaton === undefined) return "some";
    if (this.#prefix.length > 0 && to - from >= searchedBytesMin)
      return automaton.resultAfterPrefix(this.#prefix, toBuffer(bytes), from, to);
    return automaton.resultAt(automaton.afterText(automaton.start, bytes, from, to));
  }
}
