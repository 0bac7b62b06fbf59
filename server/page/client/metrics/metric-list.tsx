/** The metrics of a range, found by a part of their names. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ValuesAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import type { ResolvedRange } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import type { Metric } from "./metric-query.ts";

interface MetricListProps {
  metrics: readonly Metric[];
  /** False where the store has more than these. */
  isWhole: boolean;
  range: ResolvedRange;
  chosen: string;
  onChoose(name: string): void;
}

const shownMax = 300;

export function MetricList({ metrics, isWhole, range, chosen, onChoose }: MetricListProps) {
  const text = useSignal("");
  const more = useLoading(async (asked: ResolvedRange & { prefix: string }, signal: AbortSignal) => {
    const body = { ...asked, signal: "metrics", field: "__name__", limit: shownMax };
    const { values } = await ask<ValuesAnswer>("/api/v1/query/values", { body, signal });
    return values.map(({ value }): Metric => ({ name: value, series: 0 }));
  });
  // Where not all were listed, the store is asked for those that begin with the text.
  useEffect(() => {
    if (!isWhole && text.value !== "") void more.load({ ...range, prefix: text.value });
  }, [text.value, isWhole, range]);
  const words = text.value.toLowerCase().split(/\s+/);
  const listed = isWhole ? metrics : [...metrics, ...(more.answer.value ?? [])];
  const names = new Map(listed.map((metric) => [metric.name, metric]));
  const found = [...names.values()].filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  return (
    <section class="metric-list" aria-label="Metrics">
      <input
        type="search"
        aria-label="Find a metric"
        aria-keyshortcuts="/"
        placeholder="Parts of the name"
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && found[0] !== undefined) onChoose(found[0].name);
        }}
      />
      <ul>
        {found.slice(0, shownMax).map(({ name, series }) => (
          <li key={name}>
            <button
              type="button"
              class="quiet"
              aria-pressed={name === chosen}
              title={series === 0 ? name : `${name}: ${nameCount(series, "series", "series")}`}
              onClick={() => onChoose(name)}
            >
              <bdi>{name}</bdi>
            </button>
          </li>
        ))}
      </ul>
      {found.length > shownMax ? (
        <p class="hint">{nameCount(found.length - shownMax, "more metric")}: type more of the name.</p>
      ) : null}
    </section>
  );
}
