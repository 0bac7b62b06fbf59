/** Counts what each condition of a query leaves of the rows, on one thread: for explanations. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import type { Filter, RangeSelection } from "../plan/filter.ts";
import {
  type ConditionStatistics,
  emptyConditionStatistics,
  emptyScanStatistics,
  type ScanStatistics,
} from "../plan/scan-statistics.ts";
import type { BlockFilter, Checkpoint } from "./block-filter.ts";
import { findConjuncts, matchFromStatistics } from "./chunk-pruning.ts";
import { compileFilter } from "./selection.ts";

/** The statistics of a scan that has read nothing yet. Where its query is to be explained, a counter adds to them. */
export function beginStatistics(
  filter: Filter,
  { isExplained }: Pick<RangeSelection, "isExplained">,
): { scanned: ScanStatistics; conditions: ConditionCounter | undefined } {
  const scanned = emptyScanStatistics();
  if (isExplained !== true) return { scanned, conditions: undefined };
  const conditions = new ConditionCounter(filter);
  return { scanned: { ...scanned, conditions: conditions.statistics }, conditions };
}

/** Compiles conditions that a row must all pass; with a counter to a filter that counts. Throws as `compileFilter`. */
export function compileConditions(
  residual: readonly Filter[],
  view: ChunkView,
  checkpoint: Checkpoint,
  counter: ConditionCounter | undefined,
): BlockFilter {
  if (counter !== undefined) return counter.compile(residual, view, checkpoint);
  return compileFilter({ kind: "and", of: [...residual] }, view, checkpoint);
}

export class ConditionCounter {
  /** One for each conjunct of the filter, in order. */
  readonly statistics: ConditionStatistics[];
  readonly #conditions: readonly Filter[];

  constructor(filter: Filter) {
    this.#conditions = findConjuncts(filter);
    this.statistics = this.#conditions.map(emptyConditionStatistics);
  }

  /** Notes that statistics or indexes exclude a chunk: by the first condition that none of its rows passes. */
  noteExcluded(view: ChunkView): void {
    const place = this.#conditions.findIndex((each) => matchFromStatistics(each, view) === "none");
    this.#exclude(place, view);
  }

  /** Notes that the templates of a chunk have none of the texts that `conditions` look for. */
  noteTextExcluded(conditions: readonly Filter[], view: ChunkView): void {
    const text = conditions.find(({ kind }) => kind === "contains") ?? conditions[0];
    this.#exclude(text === undefined ? -1 : this.#conditions.indexOf(text), view);
  }

  #exclude(place: number, { rows }: ChunkView): void {
    const counted = this.statistics[place];
    if (counted === undefined) return;
    counted.chunksExcluded++;
    counted.rowsExcluded += rows;
  }

  /** Compiles the conditions that statistics leave undecided to a filter that counts. Throws as `compileFilter`. */
  compile(residual: readonly Filter[], view: ChunkView, checkpoint: Checkpoint): BlockFilter {
    const counting = residual.map((filter) => this.#compileOne(filter, view, checkpoint));
    return (block) => {
      for (const apply of counting) apply(block);
    };
  }

  #compileOne(filter: Filter, view: ChunkView, checkpoint: Checkpoint): BlockFilter {
    const counted = this.statistics[this.#conditions.indexOf(filter)]!;
    const { kernels } = view.heap;
    const startedMs = performance.now();
    const apply = compileFilter(filter, view, checkpoint);
    counted.milliseconds += performance.now() - startedMs;
    counted.chunks++;
    return (block) => {
      const rows = kernels.countBits(block.selection);
      if (rows === 0) return;
      const beginMs = performance.now();
      apply(block);
      counted.milliseconds += performance.now() - beginMs;
      counted.rowsIn += rows;
      counted.rowsOut += kernels.countBits(block.selection);
    };
  }
}
