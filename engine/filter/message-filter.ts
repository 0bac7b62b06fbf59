/** Block filters over messages, which are stored as templates and variables. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Column, TemplateColumn } from "../column/column.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import { blockRows } from "../limits.ts";
import type { Filter } from "../plan/filter.ts";
import { addTemplateRows } from "../template/text-search.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import {
  type BlockFilter,
  type Checkpoint,
  type FilterScope,
  fewRowsDivisor,
  matchAll,
  passAll,
  passNone,
  type RowBlock,
} from "./block-filter.ts";
import { searchMessages } from "./message-search.ts";
import { type MatchedRows, MessageMatcher, planPattern } from "./pattern-search.ts";
import { compileValueTest, type LeafFilter, type PatternFilter } from "./predicate.ts";
import { filterRows, filterValues } from "./row-filter.ts";
import { TextMatcher } from "./text-matcher.ts";

interface PatternScope extends FilterScope {
  /** Compiles a filter for a text in messages. */
  compile: (filter: Filter) => BlockFilter;
  /** Compiles the pattern as a test of each value. */
  byValue: () => BlockFilter;
}

/** Searches for the texts that the pattern requires, and matches only the rows that these leave undecided. */
export function compilePatternFilter(
  filter: PatternFilter,
  column: Column,
  scope: PatternScope,
): BlockFilter {
  const { necessary, sufficient, isExact } = planPattern(filter);
  const { heap } = scope.view;
  const { kernels, scratch } = heap;
  if (isExact) return matchAll(necessary.map(scope.compile), heap);
  const matcher = column.kind === "message" ? MessageMatcher.create(filter, column, heap) : undefined;
  if (matcher !== undefined) return compileMatcherFilter(necessary[0], matcher, scope);
  const texts = column.kind === "text" ? new TextMatcher(filter, column, scope) : undefined;
  const needs =
    texts === undefined
      ? necessary.map(scope.compile)
      : necessary
          .filter((need) => !texts.searchesFor(need))
          .map((need) => searchWhileUseful(need, scope.compile(need), texts.usefulShare, heap));
  const acceptProven = sufficient.kind === "never" ? undefined : scope.compile(sufficient);
  const matchRows: BlockFilter = texts === undefined ? scope.byValue() : (block) => texts.match(block);
  return (block) => {
    for (const need of needs) {
      need(block);
      const remaining = kernels.countBits(block.selection);
      if (remaining === 0) return;
      if (remaining * fewRowsDivisor <= block.rows) return matchRows(block);
    }
    if (acceptProven === undefined) return matchRows(block);
    const accepted = scratch.place(block.selection);
    acceptProven({ ...block, selection: accepted });
    kernels.andNot(block.selection, accepted);
    matchRows(block);
    kernels.or(block.selection, accepted);
  };
}

/** Rows after which it is known whether the search for a text is useful. */
const triedRows = 2 * blockRows;
/** How many rows a query has searched for a text that a pattern requires, and in how many it found it. */
const searchedRows = new WeakMap<Filter, { all: number; found: number }>();

/** Searches for a text that a pattern requires, until it has been found in more than this share of the rows. */
function searchWhileUseful(
  need: Filter,
  search: BlockFilter,
  usefulShare: number,
  { kernels }: ColumnHeap,
): BlockFilter {
  const rows = searchedRows.get(need) ?? { all: 0, found: 0 };
  searchedRows.set(need, rows);
  return (block) => {
    if (rows.all >= triedRows && rows.found > rows.all * usefulShare) return;
    rows.all += kernels.countBits(block.selection);
    search(block);
    rows.found += kernels.countBits(block.selection);
  };
}

/**
 * Compiles a pattern that requires a text, or none, over templates. Matching a row takes less than searching all
 * variables for another text that the pattern requires.
 */
function compileMatcherFilter(
  text: Filter | undefined,
  matcher: MessageMatcher,
  { view, checkpoint, compile }: PatternScope,
): BlockFilter {
  const matchRows = filterRows((row) => matcher.matches(row), checkpoint);
  if (text?.kind !== "contains") {
    const need = text === undefined ? passAll : compile(text);
    return (block) => {
      need(block);
      matchRows(block);
    };
  }
  const { kernels, scratch } = view.heap;
  const search = searchOnce(view, checkpoint, () => matcher.matchTemplates(text, view));
  let decided: MatchedRows | undefined;
  return (block) => {
    const found = search(block);
    if (found === "none") return passNone(block);
    if (typeof found === "string") return matchRows(block);
    // Most templates that contain the text decide the pattern for all their rows.
    if (decided === undefined && selectsMuch(block, found.residual, view.heap))
      decided = matcher.matchResidual(found, view.heap, checkpoint);
    const { matching, residual } = decided ?? found;
    const accepted = scratch.place(block.selection);
    keepRows(accepted, block, matching, view.heap);
    keepRows(block.selection, block, residual, view.heap);
    matchRows(block);
    kernels.or(block.selection, accepted);
  };
}

/** Where at least one undecided row in this many is still selected, the templates are gone through as a whole. */
const selectedDivisor = 4;

/** Whether a block selects so many of the undecided rows that reading them one by one takes longer than all together. */
function selectsMuch(
  { from, rows, selection }: RowBlock,
  undecided: Bitmap | undefined,
  { kernels, scratch }: ColumnHeap,
): boolean {
  if (undecided === undefined) return false;
  const ofBlock = undecided.subarray(from >> 3, (from >> 3) + selection.length);
  const count = kernels.countBits(ofBlock);
  if (count * fewRowsDivisor < rows) return false;
  const selected = scratch.place(selection);
  kernels.and(selected, ofBlock);
  return kernels.countBits(selected) * selectedDivisor >= count;
}

/** Keeps the rows of a block that are set in a bitmap over the chunk; undefined is an empty bitmap. */
function keepRows(
  selection: Bitmap,
  { from }: RowBlock,
  rows: Bitmap | undefined,
  { kernels }: ColumnHeap,
): void {
  if (rows === undefined) selection.fill(0);
  else kernels.and(selection, rows.subarray(from >> 3, (from >> 3) + selection.length));
}

/** Maximum number of messages of a chunk that are read one by one before the whole chunk is searched. */
const rowsReadBeforeSearchMax = 64;

/**
 * Returns a function that returns the result of `search` for a block. The search runs once, for all blocks of the
 * chunk, because templates and variables are not in row order. Before it has run, the function returns "few" for a
 * block with so few selected rows that reading these is faster than the search.
 */
function searchOnce<Found>(
  view: ChunkView,
  checkpoint: Checkpoint,
  search: () => Found,
): (block: RowBlock) => Found | "few" {
  let found: { value: Found } | undefined;
  let remainingReads = Math.min(rowsReadBeforeSearchMax, view.rows / fewRowsDivisor);
  return (block) => {
    if (found === undefined) {
      const rows = view.heap.kernels.countBits(block.selection);
      if (rows <= remainingReads) {
        remainingReads -= rows;
        return "few";
      }
      checkpoint();
      found = { value: search() };
    }
    return found.value;
  };
}

/** Compiles a leaf filter over messages to a block filter. Patterns have `compilePatternFilter`. */
export function compileMessageFilter(
  filter: LeafFilter,
  column: TemplateColumn,
  { view, checkpoint }: FilterScope,
): BlockFilter {
  const rowByRow = filterValues(column, compileValueTest(filter), checkpoint);
  const search = searchOnce(view, checkpoint, () => {
    const found = searchMessages(filter, column.messages, view);
    if (typeof found === "string") return found;
    return { rows: addTemplateRows(column.messages, found, view.heap) };
  });
  return (block) => {
    const found = search(block);
    if (found === "every") return;
    if (found === "none") return passNone(block);
    if (typeof found === "string") return rowByRow(block);
    keepRows(block.selection, block, found.rows, view.heap);
  };
}
