/** The series of a query over a range: drawn, or as a table. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { FoundSeries } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { nameDuration } from "../time/range.ts";
import { nameCount } from "../ui/count.ts";
import { seriesOf } from "./chart-series.ts";
import { SeriesTable } from "./series-table.tsx";
import { TimeChart } from "./time-chart.tsx";

/** What is asked; the width of a bucket is chosen by the server where it is absent. */
export interface SeriesQuestion {
  query: string;
  startTime: number;
  endTime: number;
  /** Seconds. */
  bucketSize?: number;
}

interface SeriesPanelProps {
  label: string;
  question: SeriesQuestion;
  onBrush?(startMs: number, endMs: number): void;
  height?: number;
  /** What else can be done with the series. */
  actions?: ComponentChildren;
}

const looks = ["Lines", "Areas", "Bars", "Stacked", "Table"] as const;

export function SeriesPanel({ label, question, onBrush, height, actions }: SeriesPanelProps) {
  const look = useSignal<(typeof looks)[number]>("Lines");
  const loading = useLoading(async (asked: SeriesQuestion, signal: AbortSignal) => {
    const answer = await ask<FoundSeries>("/api/v1/query/timeseries", { body: asked, signal });
    return { asked, answer, series: seriesOf(answer, asked.query) };
  });
  useEffect(() => void loading.load(question), [JSON.stringify(question)]);
  const found = loading.answer.value;
  return (
    <div class={loading.isLoading.value ? "series-panel stale" : "series-panel"}>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found?.answer.warnings?.map((warning) => (
        <p key={warning} class="warning">
          {warning}
        </p>
      ))}
      <div class="result-bar">
        <fieldset class="choice">
          <legend class="unseen">How the series are shown</legend>
          {looks.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={look.value === name}
              onClick={() => {
                look.value = name;
              }}
            >
              {name}
            </button>
          ))}
        </fieldset>
        {found === undefined ? null : (
          <span role="status">
            {nameCount(found.series.length, "series", "series")},{" "}
            {nameDuration(found.answer.bucketSize * 1_000)} a point, in {nameDuration(loading.tookMs.value)}
          </span>
        )}
        <span class="grow" />
        {actions}
      </div>
      {found === undefined ? null : found.series.length === 0 ? (
        <p class="empty">No points in this range.</p>
      ) : look.value === "Table" ? (
        <SeriesTable series={found.series} />
      ) : (
        <TimeChart
          {...drawingOf(look.value)}
          label={label}
          series={found.series}
          startMs={found.asked.startTime}
          endMs={found.asked.endTime}
          bucketMs={found.answer.bucketSize * 1_000}
          {...(height === undefined ? {} : { height })}
          {...(onBrush === undefined ? {} : { onBrush })}
        />
      )}
    </div>
  );
}

function drawingOf(look: (typeof looks)[number]) {
  if (look === "Bars" || look === "Stacked") return { kind: "bar" as const, isStacked: look === "Stacked" };
  return { kind: look === "Areas" ? ("area" as const) : ("line" as const) };
}
