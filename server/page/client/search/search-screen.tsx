/** The search: a query, a range, what was found over time, by field, by pattern, and row by row. */

import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { may } from "../api/session.ts";
import { useSubject } from "../browser/title.ts";
import { SeriesPanel } from "../charts/series-panel.tsx";
import { AddToDashboard } from "../dashboards/add-to-dashboard.tsx";
import { foundRows, hasMore, loadFirstRows, rowsProblem, rowsRun, warnings } from "../found/found-rows.ts";
import { loadHistogram } from "../found/histogram-data.ts";
import { run, runKind, type SearchRun, search, splitField, startRun, wanted } from "../found/search-state.ts";
import { LinkedRow } from "../rows/linked-row.tsx";
import { LiveTable } from "../rows/live-table.tsx";
import { RowTable } from "../rows/row-table.tsx";
import { CompareView } from "./compare-view.tsx";
import { FieldList } from "./field-list.tsx";
import { FirstRows } from "./first-rows.tsx";
import { Histogram } from "./histogram.tsx";
import { PatternTable } from "./pattern-table.tsx";
import { QueryBar } from "./query-bar.tsx";
import { ResultBar } from "./result-bar.tsx";

/** Whether a search for everything found nothing but rows that the server wrote about itself. */
function isNothingStored(): boolean {
  if (rowsRun.value?.query !== "" || hasMore.value) return false;
  return foundRows.value.every(({ attributes }) => "audit" in attributes);
}

/** The run, where its query finds rows. */
function startedRows(): SearchRun | undefined {
  return runKind.value === "series" || runKind.value === "spans" ? undefined : run.value;
}

export function SearchScreen() {
  const { query, range } = wanted.value;
  useSubject(query);
  useEffect(() => void startRun(), [query, range.from, range.to]);
  useSignalEffect(() => {
    const started = startedRows();
    if (started !== undefined) void loadFirstRows(started);
  });
  useSignalEffect(() => {
    const started = startedRows();
    if (started !== undefined) void loadHistogram({ run: started, by: splitField.value });
  });
  return (
    <div class="search">
      <h1 class="unseen">Search</h1>
      <QueryBar />
      {runKind.value === "series" ? (
        <SeriesView />
      ) : runKind.value === "spans" ? (
        <p class="empty">
          The query finds spans.{" "}
          <a href={`/traces?q=${encodeURIComponent(query)}`}>Search for them in Traces</a>
        </p>
      ) : runKind.value === undefined ? null : (
        <RowsView />
      )}
    </div>
  );
}

/** What a timeseries query calculates. */
function SeriesView() {
  const started = run.value;
  if (started === undefined) return null;
  const { signal: _, ...question } = started;
  return (
    <SeriesPanel
      label="The query over time"
      question={question}
      height={360}
      onBrush={(startMs, endMs) => search({ range: { from: String(startMs), to: String(endMs) } })}
      actions={
        <>
          {may("configure") ? <a href={alertHref(started)}>Make an alert of it</a> : null}
          <AddToDashboard title={started.query} query={started.query} range={wanted.value.range} />
        </>
      }
    />
  );
}

/** Where an alert over the query is made, with the range of the search for its preview. */
function alertHref({ query }: SearchRun): string {
  const { from, to } = wanted.value.range;
  return `/alerts/new?${new URLSearchParams({ query, from, to })}`;
}

/** What was found, as the address wants it shown. */
function FoundView() {
  const { view } = wanted.value;
  if (run.value?.signal !== "logs") return <RowTable />;
  if (view === "compare") return <CompareView />;
  return view === "patterns" ? <PatternTable /> : <RowTable />;
}

/** The rows that a query finds. */
function RowsView() {
  const { query, isLive, row } = wanted.value;
  return (
    <>
      {rowsProblem.value === undefined ? null : (
        <p class="problem" role="alert">
          {rowsProblem.value.message}
        </p>
      )}
      {warnings.value.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      {query === "" && isNothingStored() ? <FirstRows /> : null}
      {isLive ? null : <Histogram />}
      <div class="found">
        {isLive ? null : <FieldList />}
        <section class="results" aria-label="Results">
          {row === null ? null : <LinkedRow id={row} />}
          {isLive ? null : <ResultBar />}
          {isLive ? <LiveTable /> : <FoundView />}
        </section>
      </div>
    </>
  );
}
