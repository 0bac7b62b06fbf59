/** Selects the series of a metric that pass a query's filters and fall to one thread, before any sample is read. */

import type { SelectionTask } from "../chunk/chunk-task.ts";
import type { ChunkView } from "../chunk/chunk-view.ts";
import { Failure } from "../failure.ts";
import { matchFromStatistics } from "../filter/chunk-pruning.ts";
import { compileFilter, selectRows } from "../filter/selection.ts";
import { matchSeriesName, type SeriesView } from "../metrics/series-view.ts";
import type { Field, Filter, Step } from "../plan/filter.ts";
import { checkControl } from "../plan/query-control.ts";
import { hasBit } from "../vector/bitmap.ts";
import { hashText, mayContain } from "../vector/membership-filter.ts";

/** The share of one thread: all series for which the low half of the fingerprint, modulo `workers`, is `worker`. */
export interface SeriesShare {
  worker: number;
  workers: number;
}

/** Asks a thread about its share of the series that a selection names. */
export interface SeriesTask extends SelectionTask {
  /** The metric's name; undefined: every metric. */
  name: string | undefined;
  share: SeriesShare;
}

/** Returns the filter of a query's steps. Throws Failure "input" where they are not filters over labels. */
export function toLabelFilter(steps: readonly Step[]): Filter {
  const of = steps.map((step) => {
    if (step.kind !== "filter")
      throw new Failure("input", "samples have no message that could be extracted from");
    checkLabels(step.filter);
    return step.filter;
  });
  return { kind: "and", of };
}

/** Throws Failure "input" unless the field is a label. */
export function checkLabel(field: Field): void {
  if (field.kind === "attribute") return;
  throw new Failure("input", `samples have labels alone, no field "${field.kind}"`);
}

function checkLabels(filter: Filter): void {
  if (filter.kind === "and" || filter.kind === "or") filter.of.forEach(checkLabels);
  else if (filter.kind === "not") checkLabels(filter.of);
  else if ("field" in filter) checkLabel(filter.field);
}

/** Returns whether a chunk may have matching series of the metric, by its header and its membership filters. */
export function mayHaveSeries(view: ChunkView, name: string | undefined, filter: Filter): boolean {
  return (name === undefined || mayHaveName(view, name)) && matchFromStatistics(filter, view) !== "none";
}

function mayHaveName(view: ChunkView, name: string): boolean {
  const names = view.listedValues(view.header.columns.find("name"));
  if (names !== undefined) return names.some(([value]) => value === name);
  const members = view.nameFilter();
  return members === undefined || mayContain(members, hashText(name));
}

/** Calls `onSeries` with the index of each series of a chunk that passes and falls to the thread. */
export function visitSeries(
  chunk: SeriesView,
  { name, share, control }: SeriesTask,
  filter: Filter,
  onSeries: (series: number) => void,
): void {
  const { view, series, fingerprints } = chunk;
  const isNamed = name === undefined ? () => true : matchSeriesName(view.seriesColumn("name"), name);
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
