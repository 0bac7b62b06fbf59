/** The rows that were found, the newest first, as a list that loads more as it is scrolled. */

import { type Signal, signal } from "@preact/signals";
import { useCallback } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { foundRows, hasMore, isLoadingRows, loadMoreRows, rowsMax, rowsRun } from "../found/found-rows.ts";
import { run, type SearchRun } from "../found/search-state.ts";
import type { ListPlace } from "../ui/virtual-list.tsx";
import { EmptyResult } from "./empty-result.tsx";
import { LogList } from "./log-list.tsx";

/** Where the list of a run stands, and its open rows. */
interface RunPlace extends ListPlace {
  open: Signal<readonly FoundLog[]>;
}

/** They outlive the table: patterns may be shown meanwhile, or rows as they arrive. */
const places = new WeakMap<SearchRun, RunPlace>();

function placeOf(ofRun: SearchRun): RunPlace {
  const known = places.get(ofRun) ?? { open: signal([]), top: 0, heights: new Map() };
  places.set(ofRun, known);
  return known;
}

export function RowTable() {
  const rows = foundRows.value;
  const ofRun = rowsRun.value;
  const onNearEnd = useCallback(() => void loadMoreRows(), []);
  if (ofRun === undefined) return null;
  if (rows.length === 0) return isLoadingRows.value ? null : <EmptyResult run={ofRun} />;
  const place = placeOf(ofRun);
  return (
    <LogList
      rows={rows}
      isStale={ofRun !== run.value}
      open={place.open}
      place={place}
      end={<ListEnd count={rows.length} />}
      onNearEnd={onNearEnd}
    />
  );
}

function ListEnd({ count }: { count: number }) {
  if (hasMore.value && count >= rowsMax)
    return (
      <p class="list-end">
        The page shows {rowsMax.toLocaleString("en")} rows at most. Narrow the search, or export it.
      </p>
    );
  const text = hasMore.value ? "Loading more…" : `The end: all ${count.toLocaleString("en")} rows are shown.`;
  return <p class="list-end">{text}</p>;
}
