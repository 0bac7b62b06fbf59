/** The series of one metric that pass a query's filters and that one thread takes: found chunk by chunk, before any sample is read. */

import { findColumn } from "../chunk/chunk-header.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { compileFilter, selectRows } from "../filter/selection.ts";
import { type SeriesView, seriesNamed } from "../metrics/series-view.ts";
import type { Field, Filter, Step } from "../plan/filter.ts";
import type { QueryControl } from "../plan/query-control.ts";
import { checkControl } from "../plan/query-control.ts";
import { hasBit } from "../vector/bitmap.ts";
import { hashText, mayContain } from "../vector/membership-filter.ts";

/** Which of the threads a task is for: it takes the series whose fingerprints fall to it, of all chunks. */
export interface SeriesShare {
  worker: number;
  workers: number;
}

/** The filter of a query's steps. Throws Failure "input" where they are not filters over labels. */
export function labelFilter(steps: readonly Step[]): Filter {
  const of = steps.map((step) => {
    if (step.kind !== "filter")
      throw new Failure("input", "samples have no message that could be extracted from");
    checkFields(step.filter);
    return step.filter;
  });
  return { kind: "and", of };
}

/** Throws Failure "input". */
export function checkLabel(field: Field): void {
  if (field.kind === "attribute") return;
  throw new Failure("input", `samples have labels alone, no field "${field.kind}"`);
}

function checkFields(filter: Filter): void {
  if (filter.kind === "and" || filter.kind === "or") filter.of.forEach(checkFields);
  else if (filter.kind === "not") checkFields(filter.of);
  else if ("field" in filter) checkLabel(filter.field);
}

/** Whether a chunk may have series of the metric that pass, as far as its header tells. */
export function maySelect(view: ChunkView, name: string | undefined, filter: Filter): boolean {
  return (name === undefined || mayHaveName(view, name)) && matchFromStatistics(filter, view) !== "none";
}

function mayHaveName(view: ChunkView, name: string): boolean {
  const column = view.header.columns[findColumn(view.header, "name")]!;
  if (column.values !== undefined) return column.values.some(([value]) => value === name);
  const members = view.memberNames();
  return members === undefined || mayContain(members, hashText(name));
}

/** Calls back with each series of a chunk that the thread takes. */
export function eachSeries(
  chunk: SeriesView,
  {
    name,
    filter,
    share,
    control,
  }: { name: string | undefined; filter: Filter; share: SeriesShare; control: QueryControl },
  onSeries: (series: number) => void,
): void {
  const { view, series, fingerprints } = chunk;
  const isNamed = name === undefined ? () => true : seriesNamed(view.described("name"), name);
  const selection =
    matchFromStatistics(filter, view) === "all" ? undefined : selectRows(view.heap, 0, 0, series);
  if (selection !== undefined) {
    compileFilter(filter, view, () => checkControl(control))({ from: 0, rows: series, selection });
  }
  const { worker, workers } = share;
  for (let i = 0; i < series; i++) {
    if (fingerprints[i * 2]! % workers !== worker || !isNamed(i)) continue;
    if (selection === undefined || hasBit(selection, i)) onSeries(i);
  }
}
