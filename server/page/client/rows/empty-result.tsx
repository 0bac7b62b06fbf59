/** What is said where a search finds nothing: when it would have found something. */

import { useEffect } from "preact/hooks";
import { makeLoading } from "../api/loading.ts";
import { askRows } from "../found/rows-page.ts";
import { type SearchRun, search } from "../found/search-state.ts";
import { clock } from "../time/zone.ts";

const hourMs = 3_600_000;

/** The time of the newest row that a query finds, whenever that was; null where there is none. */
const newest = makeLoading<SearchRun, { timeMs: number | null }>(async (run, signal) => {
  const always = { ...run, startTime: 0, endTime: Date.now() + 24 * hourMs };
  const { logs } = await askRows({ run: always, limit: 1 }, signal);
  return { timeMs: logs[0]?.timestamp ?? null };
});

export function EmptyResult({ run }: { run: SearchRun }) {
  useEffect(() => {
    newest.clear();
    void newest.load(run);
  }, [run]);
  const answer = newest.answer.value;
  return (
    <div class="empty">
      <p>No row in this range.</p>
      {answer === undefined ? null : answer.timeMs === null ? (
        <p>{run.query === "" ? null : "No stored row is found by this query."}</p>
      ) : (
        <Newest timeMs={answer.timeMs} />
      )}
    </div>
  );
}

function Newest({ timeMs }: { timeMs: number }) {
  const range = { from: String(timeMs - hourMs), to: String(timeMs + 1_000) };
  return (
    <p>
      The newest that the query finds is of {clock.value.full(timeMs)}.{" "}
      <button type="button" onClick={() => search({ range })}>
        Search the hour before it
      </button>
    </p>
  );
}
