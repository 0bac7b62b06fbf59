/** The labels of a metric: each splits the series by its values, or narrows them to one value. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import type { ResolvedRange } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import { Icon } from "../ui/icon.tsx";
import { type MetricChoice, selectorOf } from "./metric-query.ts";

interface LabelListProps {
  labels: readonly string[];
  choice: MetricChoice;
  range: ResolvedRange;
  onChoose(changes: Partial<MetricChoice>): void;
}

const valuesMax = 100;

export function LabelList({ labels, choice, range, onChoose }: LabelListProps) {
  const { by, where } = choice;
  const shown = [...new Set([...Object.keys(where), ...by, ...labels])];
  return (
    <section class="label-list" aria-label="Labels">
      <h2>Labels</h2>
      {shown.length === 0 ? <p class="hint">It has none.</p> : null}
      <ul>
        {shown.map((label) => (
          <li key={label}>
            <div class="label-head">
              <button
                type="button"
                aria-pressed={by.includes(label)}
                title={`A series for each ${label}`}
                onClick={() =>
                  onChoose({ by: by.includes(label) ? by.filter((each) => each !== label) : [...by, label] })
                }
              >
                by <bdi>{label}</bdi>
              </button>
              {where[label] === undefined ? null : (
                <button
                  type="button"
                  class="chip"
                  title="All values again"
                  onClick={() => {
                    const { [label]: _, ...rest } = where;
                    onChoose({ where: rest });
                  }}
                >
                  <bdi>{where[label]!.slice(0, 60)}</bdi> <Icon name="close" />
                </button>
              )}
            </div>
            {where[label] === undefined ? (
              <LabelValues
                label={label}
                choice={choice}
                range={range}
                onChoose={(value) => onChoose({ where: { ...where, [label]: value } })}
              />
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface LabelValuesProps extends Omit<LabelListProps, "labels" | "onChoose"> {
  label: string;
  onChoose(value: string): void;
}

/** The values of a label, once they are opened. */
function LabelValues({ label, choice, range, onChoose }: LabelValuesProps) {
  const isOpen = useSignal(false);
  return (
    <details
      onToggle={(event) => {
        isOpen.value = event.currentTarget.open;
      }}
    >
      <summary>values</summary>
      {isOpen.value ? <OpenValues label={label} choice={choice} range={range} onChoose={onChoose} /> : null}
    </details>
  );
}

interface SeriesValues {
  values: { value: string; series: number }[];
  isWhole: boolean;
}

function OpenValues({ label, choice, range, onChoose }: LabelValuesProps) {
  const values = useLoading((asked: ResolvedRange & { query: string }, signal: AbortSignal) =>
    ask<SeriesValues>("/api/v1/query/values", {
      ...{ body: { ...asked, signal: "metrics", field: label, limit: valuesMax }, signal },
    }),
  );
  const query = selectorOf(choice);
  useEffect(() => void values.load({ ...range, query }), [query, range]);
  if (values.problem.value !== undefined) return <p class="problem small">{values.problem.value.message}</p>;
  const answer = values.answer.value;
  return (
    <ul>
      {answer?.values.map(({ value, series }) => (
        <li key={value}>
          <button
            type="button"
            class="quiet"
            title={nameCount(series, "series", "series")}
            onClick={() => onChoose(value)}
          >
            <bdi>{value.slice(0, 120)}</bdi>
          </button>
        </li>
      ))}
      {answer?.isWhole === false ? <li class="hint">and more</li> : null}
    </ul>
  );
}
