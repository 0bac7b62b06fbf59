/** How much was found, how long it took, and how it is shown. */

import { foundRows, hasMore, isLoadingRows, rowsTookMs } from "../found/found-rows.ts";
import { counted } from "../found/histogram-data.ts";
import { linkOfRun, run, runKind, type SearchView, setView, wanted } from "../found/search-state.ts";
import { nameDuration } from "../time/range.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { nameCount } from "../ui/count.ts";
import { ExportLinks } from "./export-links.tsx";
import { areFieldsOpen } from "./field-list.tsx";
import { RunExplanation } from "./run-explanation.tsx";

const investigatedMsMax = 3_600_000;

const views: readonly { view: SearchView; name: string }[] = [
  { view: "rows", name: "Rows" },
  { view: "patterns", name: "Patterns" },
  { view: "compare", name: "Compare" },
];

export function ResultBar() {
  const total = counted.value?.histogram.count;
  const shown = foundRows.value.length;
  // Patterns, comparisons and files are of logs.
  const isLogs = run.value?.signal === "logs";
  return (
    <div class="result-bar">
      <div class="tabs" role="tablist">
        {views
          .filter(({ view }) => isLogs || view === "rows")
          .map(({ view, name }) => (
            <button
              key={view}
              type="button"
              role="tab"
              aria-selected={wanted.value.view === view}
              onClick={() => setView(view)}
            >
              {name}
            </button>
          ))}
      </div>
      <span role="status">
        {isLoadingRows.value && shown === 0
          ? "Searching…"
          : `${nameCount(total ?? shown, "row")}${total === undefined && hasMore.value ? " or more" : ""} in ${nameDuration(rowsTookMs.value)}`}
      </span>
      <RunExplanation />
      <button
        type="button"
        class="fields-opener"
        aria-pressed={areFieldsOpen.value}
        onClick={() => {
          areFieldsOpen.value = !areFieldsOpen.value;
        }}
      >
        Fields
      </button>
      <span class="grow" />
      <InvestigateLink />
      {isLogs ? <ExportLinks /> : null}
      <CopyButton
        name="Copy link"
        icon="link"
        title="Copies the address of this search with absolute times"
        text={linkOfRun}
      />
    </div>
  );
}

/** Asks why the rows that are shown are there; a window of an hour or more cannot be investigated. */
function InvestigateLink() {
  const shown = run.value;
  if (shown === undefined || shown.endTime - shown.startTime >= investigatedMsMax) return null;
  const { query, startTime, endTime } = shown;
  const isOfQuery = query !== "" && (runKind.value === "logs" || runKind.value === "spans");
  const question = { from: String(startTime), to: String(endTime), ...(isOfQuery ? { q: query } : {}) };
  return (
    <a
      href={`/investigations?${new URLSearchParams(question)}`}
      title="Compares this window with the hour before it"
    >
      Investigate
    </a>
  );
}
