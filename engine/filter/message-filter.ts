/** Filters over messages that are stored as templates and variables. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Column, TemplateColumn } from "../column/column.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import type { Filter } from "../plan/filter.ts";
import { addTemplateRows } from "../template/text-search.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import {
  type Block,
  type BlockFilter,
  type Checkpoint,
  type FilterScope,
  matchAll,
  passAll,
  passNone,
} from "./block-filter.ts";
import { searchMessages } from "./message-search.ts";
import { MessageMatcher, type PatternFilter, planPattern } from "./pattern-search.ts";
import { type LeafFilter, valueTest } from "./predicate.ts";
import { filterRows, filterValues } from "./row-filter.ts";

/** Where at most one row in so many is left, those are read at once: to look for another text in the whole chunk takes longer. */
const fewRows = 16;

interface PatternScope extends FilterScope {
  /** A filter for another text in messages. */
  compile: (filter: Filter) => BlockFilter;
  /** The pattern on each value. */
  byValue: () => BlockFilter;
}

/** A pattern asks for texts first: most rows are settled by those, and only what they leave open is matched. */
export function patternFilter(filter: PatternFilter, column: Column, scope: PatternScope): BlockFilter {
  const { needs, proves, exact } = planPattern(filter);
  const { heap } = scope.view;
  const { kernels, scratch } = heap;
  if (exact) return matchAll(needs.map(scope.compile), heap);
  const matcher = column.kind === "message" ? MessageMatcher.of(filter, column) : undefined;
  const [first, ...more] = needs;
  const rest = more.map(scope.compile);
  const proven = scope.compile(proves);
  const matching =
    matcher === undefined ? scope.byValue() : filterRows((row) => matcher.matches(row), scope.checkpoint);
  const matchOpen: BlockFilter = (block) => {
    for (const need of [...rest, undefined]) {
      const open = kernels.countBits(block.selection);
      if (open === 0) return;
      if (open * fewRows <= block.rows) return matching(block);
      need?.(block);
    }
    const settled = scratch.place(block.selection);
    proven({ ...block, selection: settled });
    kernels.andNot(block.selection, settled);
    matching(block);
    kernels.or(block.selection, settled);
  };
  if (matcher !== undefined && first?.kind === "contains")
    return templateFilter(first, { matcher, matching, matchOpen }, scope);
  const need = first === undefined ? passAll : scope.compile(first);
  return (block) => {
    need(block);
    matchOpen(block);
  };
}

interface PatternNeeds {
  matcher: MessageMatcher;
  /** Row by row. */
  matching: BlockFilter;
  /** Of rows that hold the text. */
  matchOpen: BlockFilter;
}

/** A pattern whose matches hold a text: of most templates that do, one look tells whether all of their rows match. */
function templateFilter(
  text: Filter,
  { matcher, matching, matchOpen }: PatternNeeds,
  { view, checkpoint }: FilterScope,
): BlockFilter {
  const { kernels, scratch } = view.heap;
  const search = searchOnce(view, checkpoint, () => matcher.settle(text, view));
  return (block) => {
    const found = search(block);
    if (found === "few") return matching(block);
    if (found === "none") return passNone(block);
    if (typeof found === "string") return matchOpen(block);
    const settled = scratch.place(block.selection);
    keepRows(settled, block, found.matching, view.heap);
    keepRows(block.selection, block, found.open, view.heap);
    matchOpen(block);
    kernels.or(block.selection, settled);
  };
}

/** Keeps of a block's rows those that have a bit among the chunk's. */
function keepRows(
  selection: Bitmap,
  { from }: Block,
  rows: Bitmap | undefined,
  { kernels }: ColumnHeap,
): void {
  if (rows === undefined) selection.fill(0);
  else kernels.and(selection, rows.subarray(from >> 3, (from >> 3) + selection.length));
}

/** As many messages of a chunk at most are read sooner than it is searched. */
const fewRowsToRead = 64;

/**
 * What a search of the whole chunk finds, the same for every block: templates and variables do not lie in the order of the rows.
 * "few" for blocks that are sooner read.
 */
function searchOnce<Found>(
  view: ChunkView,
  checkpoint: Checkpoint,
  search: () => Found,
): (block: Block) => Found | "few" {
  let found: { value: Found } | undefined;
  let toRead = Math.min(fewRowsToRead, view.rows / fewRows);
  return (block) => {
    if (found === undefined) {
      const rows = view.heap.kernels.countBits(block.selection);
      if (rows <= toRead) {
        toRead -= rows;
        return "few";
      }
      checkpoint();
      found = { value: search() };
    }
    return found.value;
  };
}

export function messageFilter(
  filter: LeafFilter,
  column: TemplateColumn,
  { view, checkpoint }: FilterScope,
): BlockFilter {
  const rowByRow = filterValues(column, valueTest(filter), checkpoint);
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
