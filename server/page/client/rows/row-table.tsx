/** The rows that were found, the newest first, as a list that loads more as it is scrolled. */

import { useSignal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";
import type { FoundLog } from "../api/answers.ts";
import { foundRows, hasMore, isLoadingRows, loadMoreRows, rowsMax, rowsRun } from "../found/found-rows.ts";
import { run } from "../found/search-state.ts";
import { EmptyResult } from "./empty-result.tsx";
import { LogList } from "./log-list.tsx";

export function RowTable() {
  const rows = foundRows.value;
  const open = useSignal<readonly FoundLog[]>([]);
  const ofRun = rowsRun.value;
  useEffect(() => {
    open.value = [];
  }, [ofRun]);
  const onNearEnd = useCallback(() => void loadMoreRows(), []);
  if (rows.length === 0)
    return isLoadingRows.value || ofRun === undefined ? null : <EmptyResult run={ofRun} />;
  return (
    <LogList
      rows={rows}
      isStale={ofRun !== run.value}
      open={open}
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
