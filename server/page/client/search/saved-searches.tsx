/** Saved searches, which everybody shares, and the queries that were run in this browser. */

import { useRef, useState } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go } from "../browser/address.ts";
import { forgetQueries, recentQueries } from "../found/history.ts";
import { search, wanted } from "../found/search-state.ts";
import { Icon } from "../ui/icon.tsx";
import { Popover } from "../ui/popover.tsx";

interface SavedSearch {
  id: string;
  name: string;
  signal: string;
  query: string;
  timeRange?: { from: string | number; to?: string | number };
  columns?: string[];
}

export function SavedSearches() {
  const box = useRef<HTMLDivElement>(null);
  const loading = useLoading((_: undefined, signal: AbortSignal) =>
    ask<{ savedSearches: SavedSearch[] }>("/api/v1/saved-searches?limit=1000", { signal }),
  );
  const reload = () => void loading.load(undefined);
  const close = () => box.current!.hidePopover();
  const saved = loading.answer.value?.savedSearches ?? [];
  return (
    <Popover
      box={box}
      id="saved"
      label="Saved searches"
      title="Saved searches, and queries run before"
      class="saved-box"
      onOpen={reload}
      button={
        <>
          Saved <Icon name="down" />
        </>
      }
    >
      <section aria-label="Saved">
        <h2>Saved</h2>
        {loading.problem.value === undefined ? null : (
          <p class="problem" role="alert">
            {loading.problem.value.message}
          </p>
        )}
        {saved.length === 0 ? <p class="hint">None yet.</p> : null}
        <ul>
          {saved.map((each) => (
            <SavedLine key={each.id} saved={each} onOpen={close} onRemoved={reload} />
          ))}
        </ul>
        {may("configure") ? <SaveForm onSaved={reload} /> : null}
      </section>
      <section aria-label="Run before">
        <h2>Run before, in this browser</h2>
        <ul>
          {recentQueries.value.map((query) => (
            <li key={query}>
              <button
                type="button"
                class="quiet mono"
                onClick={() => {
                  close();
                  search({ query });
                }}
              >
                <bdi>{query.slice(0, 300)}</bdi>
              </button>
            </li>
          ))}
        </ul>
        {recentQueries.value.length === 0 ? (
          <p class="hint">None yet.</p>
        ) : (
          <button type="button" onClick={forgetQueries}>
            Forget them
          </button>
        )}
      </section>
    </Popover>
  );
}

interface SavedLineProps {
  saved: SavedSearch;
  onOpen(): void;
  onRemoved(): void;
}

function SavedLine({ saved, onOpen, onRemoved }: SavedLineProps) {
  const remove = async () => {
    await ask(`/api/v1/saved-searches/${encodeURIComponent(saved.id)}`, { method: "DELETE" });
    onRemoved();
  };
  return (
    <li>
      <button
        type="button"
        class="quiet"
        title={saved.query.slice(0, 1_000)}
        onClick={() => {
          onOpen();
          go(hrefOf(saved));
        }}
      >
        <bdi>{saved.name}</bdi>
      </button>
      {may("configure") ? (
        <button type="button" class="quiet" aria-label={`Delete ${saved.name}`} onClick={() => void remove()}>
          <Icon name="close" />
        </button>
      ) : null}
    </li>
  );
}

function hrefOf({ signal, query, timeRange, columns = [] }: SavedSearch): string {
  const range =
    timeRange === undefined ? {} : { from: String(timeRange.from), to: String(timeRange.to ?? "now") };
  const shown = columns.length === 0 ? {} : { columns: columns.join(",") };
  return `${signal === "traces" ? "/traces" : "/"}?${new URLSearchParams({ q: query, ...range, ...shown })}`;
}

/** Saves what the address names, with its range and columns. */
function SaveForm({ onSaved }: { onSaved(): void }) {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const save = async (event: Event) => {
    event.preventDefault();
    const { query, range, columns } = wanted.value;
    const end = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);
    const savedSearch = {
      ...{ name, query, signal: "logs", timeRange: { from: end(range.from), to: end(range.to) } },
      ...(columns.length === 0 ? {} : { columns }),
    };
    try {
      await ask("/api/v1/saved-searches", { body: { savedSearch } });
      setName("");
      setProblem("");
      onSaved();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form onSubmit={save}>
      <label>
        Save this search as{" "}
        <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      {problem === "" ? null : (
        <p class="problem small" role="alert">
          {problem}
        </p>
      )}
      <button type="submit">Save</button>
    </form>
  );
}
