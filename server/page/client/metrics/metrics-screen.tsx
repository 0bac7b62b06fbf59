/** Finds a metric by name, shows it at once, and splits and narrows it by its labels. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FieldsAnswer, ValuesAnswer } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { makeLoading } from "../api/loading.ts";
import { may } from "../api/session.ts";
import { go, parameters, withParameters } from "../browser/address.ts";
import { useSubject } from "../browser/title.ts";
import { SeriesPanel } from "../charts/series-panel.tsx";
import { AddToDashboard } from "../dashboards/add-to-dashboard.tsx";
import { AddressRangePicker } from "../time/address-range.tsx";
import { defaultRange, type ResolvedRange, resolveRange } from "../time/range.ts";
import { LabelList } from "./label-list.tsx";
import { MetricList } from "./metric-list.tsx";
import {
  calculationsOf,
  type Metric,
  type MetricChoice,
  selectorOf,
  writeMetricQuery,
} from "./metric-query.ts";

const metricsMax = 1_000;

const metrics = makeLoading(async (range: ResolvedRange, signal: AbortSignal) => {
  const body = { ...range, signal: "metrics", field: "__name__", limit: metricsMax };
  const { values, isWhole } = await ask<MetricNames>("/api/v1/query/values", { body, signal });
  return { metrics: values.map(({ value, ...rest }): Metric => ({ name: value, ...rest })), isWhole };
});

interface MetricNames extends Pick<ValuesAnswer, "isWhole"> {
  values: (Omit<Metric, "name"> & { value: string })[];
}

const labels = makeLoading(
  async ({ query, ...range }: ResolvedRange & { query: string }, signal: AbortSignal) => {
    const body = { ...range, query, signal: "metrics", limit: 100 };
    const { fields } = await ask<FieldsAnswer>("/api/v1/query/fields", { body, signal });
    return fields.map(({ name }) => name).filter((name) => name !== "__name__" && name !== "le");
  },
);

/** The metric and range that the address names. */
function readAddress() {
  const all = parameters.value;
  return {
    range: { from: all.get("from") ?? defaultRange.from, to: all.get("to") ?? defaultRange.to },
    choice: {
      metric: all.get("metric") ?? "",
      calculation: all.get("show") ?? "",
      by: (all.get("by") ?? "").split(",").filter((name) => name !== ""),
      where: readWhere(all.get("where")),
    } as MetricChoice,
  };
}

function readWhere(text: string | null): Record<string, string> {
  try {
    const read = JSON.parse(text ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(Object.entries(read).map(([label, value]) => [label, String(value)]));
  } catch {
    return {};
  }
}

function choose(changes: Partial<MetricChoice>): void {
  const { metric, calculation, by, where } = changes;
  go(
    withParameters({
      ...(metric === undefined ? {} : { metric, show: null, by: null, where: null }),
      ...(calculation === undefined ? {} : { show: calculation }),
      ...(by === undefined ? {} : { by: by.join(",") }),
      ...(where === undefined
        ? {}
        : { where: Object.keys(where).length === 0 ? null : JSON.stringify(where) }),
    }),
  );
}

export function MetricsScreen() {
  const { range, choice } = readAddress();
  const { metric, where } = choice;
  useSubject(metric);
  const runs = useSignal(0);
  const resolved = useSignal(resolveRange(range, Date.now()));
  useEffect(() => {
    resolved.value = resolveRange(range, Date.now());
    void metrics.load(resolved.value);
  }, [range.from, range.to, runs.value]);
  useEffect(() => {
    if (metric !== "") void labels.load({ ...resolved.value, query: selectorOf({ metric, where }) });
  }, [metric, JSON.stringify(where), resolved.value]);
  const known = metrics.answer.value;
  const chosen = known?.metrics.find(({ name }) => name === metric);
  return (
    <div class="screen metrics">
      <div class="screen-head">
        <h1>Metrics</h1>
        <AddressRangePicker range={range} onAgain={() => runs.value++} />
        <button type="button" onClick={() => runs.value++}>
          Refresh
        </button>
      </div>
      {metrics.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {metrics.problem.value.message}
        </p>
      )}
      {known === undefined ? null : known.metrics.length === 0 && metric === "" ? (
        <p class="empty">
          No metric has samples in this range. Metrics come by OTLP at <code>/v1/metrics</code>, Prometheus
          remote write, or <code>/api/v1/ingest/metrics</code>.
        </p>
      ) : (
        <div class="metric-columns">
          <MetricList
            metrics={known.metrics}
            isWhole={known.isWhole}
            range={resolved.value}
            chosen={metric}
            onChoose={(name) => choose({ metric: name })}
          />
          {metric === "" ? (
            <p class="empty">Choose a metric.</p>
          ) : (
            <Chosen choice={choice} metric={chosen} range={resolved.value} />
          )}
          {metric === "" ? null : (
            <LabelList
              labels={labels.answer.value ?? []}
              choice={choice}
              range={resolved.value}
              onChoose={choose}
            />
          )}
        </div>
      )}
    </div>
  );
}

const pointsMax = 200;
/** Narrower buckets would hold no sample of a metric that is read once a minute. */
const bucketSecondsMin = 60;

function bucketSecondsOf({ startTime, endTime }: ResolvedRange): number {
  const seconds = (endTime - startTime) / 1_000 / pointsMax;
  return Math.max(1, Math.ceil(seconds / bucketSecondsMin)) * bucketSecondsMin;
}

interface ChosenProps {
  choice: MetricChoice;
  /** Undefined where the range has no sample of it. */
  metric: Metric | undefined;
  range: ResolvedRange;
}

function Chosen({ choice, metric, range }: ChosenProps) {
  const calculations = calculationsOf(metric ?? { name: choice.metric });
  const query = writeMetricQuery(choice, metric?.type);
  const { from, to } = readAddress().range;
  const asked = new URLSearchParams({ from, to });
  return (
    <section class="metric-chart" aria-label={choice.metric}>
      <h2>
        <bdi>{choice.metric}</bdi>{" "}
        <span class="hint">{[metric?.type, metric?.unit].filter(Boolean).join(", ")}</span>
      </h2>
      <div class="result-bar">
        <label class="check">
          Show{" "}
          <select
            value={
              calculations.find(({ name }) => name === choice.calculation)?.name ?? calculations[0]!.name
            }
            onChange={(event) => choose({ calculation: event.currentTarget.value })}
          >
            {calculations.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <code class="metric-query">{query}</code>
      </div>
      <SeriesPanel
        label={choice.metric}
        question={{ query, ...range, bucketSize: bucketSecondsOf(range) }}
        height={320}
        onBrush={(startMs, endMs) => go(withParameters({ from: String(startMs), to: String(endMs) }))}
        actions={
          <>
            <a href={`/?q=${encodeURIComponent(query)}&${asked}`}>Open in search</a>
            {may("configure") ? (
              <a href={`/alerts/new?query=${encodeURIComponent(query)}&${asked}`}>Make an alert of it</a>
            ) : null}
            <AddToDashboard title={choice.metric} query={query} range={{ from, to }} />
          </>
        }
      />
    </section>
  );
}
