/** The query, its range of time, and what to do with both. */

import { run, search, setLive, wanted } from "../found/search-state.ts";
import { QueryEditor } from "../query/query-editor.tsx";
import { makeStoredNames } from "../query/stored-names.ts";
import { resolveRange } from "../time/range.ts";
import { RangePicker } from "../time/range-picker.tsx";
import { Icon } from "../ui/icon.tsx";
import { SavedSearches } from "./saved-searches.tsx";

const storedNames = makeStoredNames(() => run.value ?? resolveRange(wanted.value.range, Date.now()));

export function QueryBar() {
  const { query, range, isLive } = wanted.value;
  return (
    <search class="query-bar">
      <QueryEditor
        query={query}
        what="rows"
        names={storedNames}
        onRun={(text) => search({ query: text.trim() })}
      />
      <SavedSearches />
      <RangePicker range={range} onChange={(next) => search({ range: next })} />
      <button
        type="button"
        aria-pressed={isLive}
        aria-keyshortcuts="l"
        title="Shows rows as they arrive"
        onClick={() => setLive(!isLive)}
      >
        <Icon name={isLive ? "pause" : "play"} /> Live
      </button>
    </search>
  );
}
