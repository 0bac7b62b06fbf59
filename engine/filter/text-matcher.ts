/** Regular expressions over columns that have a text for each row. */

import { isValid, type PlainTextColumn, textOfRows } from "../column/column.ts";
import { makeNeedle } from "../kernels/needle.ts";
import type { Field, Filter } from "../plan/filter.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { type AutomatonResult, buildAutomaton, type PatternAutomaton } from "../regexp/pattern-automaton.ts";
import { literalPrefixOf } from "../regexp/required-texts.ts";
import type { RowRange } from "../template/plain-text-filter.ts";
import { setBit } from "../vector/bitmap.ts";
import { toBuffer } from "../vector/text.ts";
import { AutomatonReader } from "./automaton-reader.ts";
import {
  type BlockFilter,
  checkEveryBytes,
  type FilterScope,
  fewRowsDivisor,
  type RowBlock,
} from "./block-filter.ts";
import type { PatternFilter } from "./predicate.ts";
import { filterRows } from "./row-filter.ts";
import { cutRanges, findTextRanges } from "./text-ranges.ts";

/** A prefix of a pattern that is worth a search; and a text that is, where texts are read one by one. */
const prefixBytesMin = 2;
const searchedBytesMin = 128;

/** A pattern over the texts of one column. */
export class TextMatcher {
  readonly #column: PlainTextColumn;
  readonly #scope: FilterScope;
  readonly #field: Field;
  readonly #automaton: PatternAutomaton | undefined;
  /** With which all matches begin; empty where no search for it takes place. */
  readonly #prefixBytes: Buffer;
  /** The rows of the chunk that may contain the prefix; undefined before they are needed. */
  #ranges: readonly RowRange[] | undefined;
  readonly #test: (text: Uint8Array) => boolean;
  readonly #emptyPasses: boolean;
  readonly #matchEach: BlockFilter;
  /** Bytes that were read one row at a time since the last checkpoint. */
  #uncheckedBytes = 0;

  constructor(filter: PatternFilter, column: PlainTextColumn, scope: FilterScope) {
    const pattern = compilePattern(filter.pattern, filter);
    this.#column = column;
    this.#scope = scope;
    this.#field = filter.field;
    this.#automaton = buildAutomaton(filter.pattern, filter);
    const prefix = Buffer.from(this.#automaton ? literalPrefixOf(filter.pattern, filter) : "", "utf8");
    this.#prefixBytes = prefix.length < prefixBytesMin ? Buffer.alloc(0) : prefix;
    this.#test = (text) => pattern.test(text);
    this.#emptyPasses = pattern.test("");
    this.#matchEach = filterRows((row) => this.#matches(row), scope.checkpoint);
  }

  /** Whether `match` searches for a text itself, as it is in the prefix of all matches. */
  searchesFor(text: Filter): boolean {
    return text.kind === "contains" && !text.ignoreCase && this.#prefixBytes.includes(text.text);
  }

  /** The search for another text takes less than it saves where at most this share of the rows has that text. */
  get usefulShare(): number {
    return this.#prefixBytes.length > 0 ? 1 / fewRowsDivisor : 3 / 4;
  }

  /** Clears the bits of rows that fail. */
  match(block: RowBlock): void {
    const { kernels, scratch } = this.#scope.view.heap;
    const automaton = this.#automaton;
    const selected = kernels.countBits(block.selection);
    if (automaton === undefined || selected * fewRowsDivisor <= block.rows) {
      this.#matchEach(block);
      return;
    }
    const found = scratch.uint8(block.selection.length);
    if (this.#prefixBytes.length > 0) this.#findBehindPrefix(block, automaton, found);
    else this.#readSelected(block, selected, automaton, found);
    kernels.and(block.selection, found);
  }

  #findBehindPrefix(block: RowBlock, automaton: PatternAutomaton, found: Uint8Array): void {
    const { view, checkpoint } = this.#scope;
    const reader = new AutomatonReader(automaton, view.heap);
    const needle = makeNeedle(this.#prefixBytes, false);
    this.#ranges ??= findTextRanges(this.#prefixBytes, this.#field, view);
    for (const { from, to } of cutRanges(this.#ranges, block)) {
      const { offsets, bytes } = textOfRows(this.#column, from, to);
      const texts = { offsets: offsets.subarray(from, to + 1), bytes };
      const ofRange = found.subarray((from - block.from) >> 3, (to - block.from + 7) >> 3);
      reader.findRows(texts, needle, ofRange, checkpoint, (row) => this.#matches(from + row));
    }
  }

  #readSelected(block: RowBlock, selected: number, automaton: PatternAutomaton, found: Uint8Array): void {
    const { view, checkpoint } = this.#scope;
    const rows = view.heap.scratch.uint32(selected);
    view.heap.kernels.expand(block.selection, 0, rows);
    const { offsets, bytes } = textOfRows(this.#column, block.from, block.from + block.rows);
    const texts = { offsets: offsets.subarray(block.from, block.from + block.rows + 1), bytes };
    const reader = new AutomatonReader(automaton, view.heap);
    reader.readStates(texts, rows, automaton.start, checkpoint, (index, state) => {
      const result = automaton.resultAt(state);
      const row = rows[index]!;
      if (result === "all" || (result === "some" && this.#matches(block.from + row))) setBit(found, row);
    });
  }

  /** Whether one row matches: by the automaton, and by the pattern itself where that reaches its limits. */
  #matches(row: number): boolean {
    if (!isValid(this.#column.valid, row)) return this.#emptyPasses;
    const { offsets, bytes } = textOfRows(this.#column, row, row + 1);
    const [from, to] = [offsets[row]!, offsets[row + 1]!];
    this.#uncheckedBytes += to - from;
    if (this.#uncheckedBytes > checkEveryBytes) {
      this.#scope.checkpoint();
      this.#uncheckedBytes = 0;
    }
    const result = this.#resultOf(bytes, from, to);
    return result === "some" ? this.#test(bytes.subarray(from, to)) : result === "all";
  }

  #resultOf(bytes: Uint8Array, from: number, to: number): AutomatonResult {
    const automaton = this.#automaton;
    if (automaton === undefined) return "some";
    if (this.#prefixBytes.length > 0 && to - from >= searchedBytesMin)
      return automaton.resultBehind(this.#prefixBytes, toBuffer(bytes), from, to);
    return automaton.resultAt(automaton.afterText(automaton.start, bytes, from, to));
  }
}
