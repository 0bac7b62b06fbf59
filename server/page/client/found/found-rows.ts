/** The rows that a run finds: loaded page by page as they come into sight. */

import { signal } from "@preact/signals";
import type { FoundLog } from "../api/answers.ts";
import { ApiProblem } from "../api/client.ts";
import { askRows } from "./rows-page.ts";
import type { SearchRun } from "./search-state.ts";

const pageRows = 500;
/** The page keeps at most this many rows in memory; the search can be narrowed, or exported. */
export const rowsMax = 200_000;

/** The rows so far, and whether there are more. */
export const foundRows = signal<readonly FoundLog[]>([]);
export const hasMore = signal(false);
export const isLoadingRows = signal(false);
export const rowsProblem = signal<ApiProblem | undefined>(undefined);
export const warnings = signal<readonly string[]>([]);
/** Milliseconds until the first page was there. */
export const rowsTookMs = signal(0);
/** The run that the rows belong to. While the next one is on its way these are the old ones. */
export const rowsRun = signal<SearchRun | undefined>(undefined);

let loading: { run: SearchRun; cursor: string | undefined; aborting: AbortController } | undefined;

/** Loads the first page of a run; the rows of the one before stay until it is there. */
export async function loadFirstRows(run: SearchRun): Promise<void> {
  loading?.aborting.abort();
  loading = { run, cursor: undefined, aborting: new AbortController() };
  await loadPage(loading);
}

/** Loads the next page, where there is one and none is on its way. */
export async function loadMoreRows(): Promise<void> {
  if (loading === undefined || isLoadingRows.value || !hasMore.value || foundRows.value.length >= rowsMax)
    return;
  await loadPage(loading);
}

async function loadPage(own: NonNullable<typeof loading>): Promise<void> {
  const { run, cursor, aborting } = own;
  isLoadingRows.value = true;
  const startedMs = performance.now();
  try {
    const page = await askRows({ run, limit: pageRows, cursor }, aborting.signal);
    if (loading !== own) return;
    if (cursor === undefined) {
      rowsTookMs.value = performance.now() - startedMs;
      warnings.value = page.warnings ?? [];
      rowsRun.value = run;
    }
    foundRows.value = cursor === undefined ? page.logs : [...foundRows.value, ...page.logs];
    own.cursor = page.cursor;
    hasMore.value = page.cursor !== undefined;
    rowsProblem.value = undefined;
  } catch (error) {
    if (loading !== own || aborting.signal.aborted) return;
    if (!(error instanceof ApiProblem)) throw error;
    rowsProblem.value = error;
  } finally {
    if (loading === own) isLoadingRows.value = false;
  }
}
