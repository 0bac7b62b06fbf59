/** What the search screen shows, as its address says it, and the run that its answers belong to. */

import { batch, computed, signal } from "@preact/signals";
import { loadChunk } from "../api/chunk.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import type { QueryKind } from "../query/language.ts";
import {
  defaultRange,
  isSameRange,
  type RangeText,
  type ResolvedRange,
  resolveRange,
} from "../time/range.ts";
import { rememberQuery } from "./history.ts";

/** How what is found is shown. */
export type SearchView = "rows" | "patterns" | "compare";

const views: readonly string[] = ["rows", "patterns", "compare"];

/** The search that the address names. */
export const wanted = computed(() => {
  const all = parameters.value;
  return {
    query: all.get("q") ?? "",
    range: { from: all.get("from") ?? defaultRange.from, to: all.get("to") ?? defaultRange.to } as RangeText,
    view: (views.includes(all.get("view") ?? "") ? all.get("view") : "rows") as SearchView,
    /** The field that splits the bars of the histogram; null for the level. */
    by: all.get("by"),
    /** True where rows are shown as they arrive. */
    isLive: all.get("live") === "1",
    /** The id of a row that the address points at. */
    row: all.get("row"),
    columns: (all.get("columns") ?? "").split(",").filter((name) => name !== ""),
  };
});

/** `by` of the search. It changes only where the field does, while `wanted` changes with each address. */
export const splitField = computed(() => wanted.value.by);

/** Signals whose rows the search shows. */
export type SearchedSignal = "logs" | Exclude<QueryKind, "logs" | "spans" | "series">;

/** A search as it was started: relative times are those of that moment, for all panels and pages. */
export interface SearchRun extends ResolvedRange {
  query: string;
  /** The signal of the rows that it finds; `logs` for a query that finds none. */
  signal: SearchedSignal;
}

export const run = signal<SearchRun | undefined>(undefined);

/** What the run's query returns. */
export const runKind = signal<QueryKind | undefined>(undefined);

let starts = 0;

/** Starts what the address names, anew. */
export async function startRun(): Promise<void> {
  const { query, range } = wanted.value;
  const own = ++starts;
  const resolved = resolveRange(range, Date.now());
  const kind = await findKind(query);
  // Where the language cannot be loaded, the shell says so, and what was found stays.
  if (own !== starts || kind === undefined) return;
  rememberQuery(query);
  const hasRows = kind !== "spans" && kind !== "series";
  batch(() => {
    run.value = { query, signal: hasRows ? kind : "logs", ...resolved };
    runKind.value = kind;
  });
}

/** What a query returns; undefined where the code that can say it is missing. */
async function findKind(query: string): Promise<QueryKind | undefined> {
  // A query without brackets is a search for logs: nothing has to be loaded to know that.
  if (!/[({]|^\s*(?:traces|profiles|kub)/.test(query)) return "logs";
  const language = await loadChunk(() => import("../query/language.ts")).catch(() => undefined);
  return language?.detectQueryKind(query);
}

/** Searches for another text, or in another range: a step that the browser's Back button undoes. */
export function search(changes: { query?: string; range?: RangeText }): void {
  const { query, range } = { ...wanted.value, ...changes };
  const isDefault = isSameRange(range, defaultRange);
  const href = withParameters({
    q: query,
    from: isDefault ? null : range.from,
    to: isDefault || range.to === "now" ? null : range.to,
    row: null,
  });
  const isSame = query === wanted.value.query && isSameRange(range, wanted.value.range);
  // The same search again: relative times have moved on.
  if (isSame) void startRun();
  else go(href);
}

export function setView(view: SearchView): void {
  go(withParameters({ view: view === "rows" ? null : view }), { replace: true });
}

/** Splits the bars of the histogram by a field, or by the level again. */
export function splitBy(field: string | null): void {
  go(withParameters({ by: field }), { replace: true });
}

/** Shows rows as they arrive, or those of the range. */
export function setLive(isLive: boolean): void {
  go(withParameters({ live: isLive ? "1" : null, view: null }));
}

/** Adds a column of a field to the rows, or takes it away. */
export function toggleColumn(field: string): void {
  const { columns } = wanted.value;
  const next = columns.includes(field) ? columns.filter((each) => each !== field) : [...columns, field];
  go(withParameters({ columns: next.join(",") }), { replace: true });
}

/** The address of the present search with absolute times, for others to open; with a row that it points at. */
export function linkOfRun(row?: string): string {
  const { startTime, endTime } = run.value ?? resolveRange(wanted.value.range, Date.now());
  const changes = { from: String(startTime), to: String(endTime), row: row ?? null };
  return new URL(withParameters(changes), location.href).href;
}

/** No longer points at a row. */
export function forgetRow(): void {
  go(withParameters({ row: null }), { replace: true });
}
