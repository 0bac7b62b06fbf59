/** The points that an alert watches, with its thresholds and the times in which it fired. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { FoundSeries } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { parameters } from "../browser/address.ts";
import { seriesOf } from "../charts/chart-series.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import { AddressRangePicker, goToRange } from "../time/address-range.tsx";
import { resolveRange } from "../time/range.ts";
import type { AlertFire, SavedAlert } from "./answers.ts";
import { nameInstance, nameOperators } from "./names.ts";

const rangeDefault = { from: "-4h", to: "now" };
/** Where the buckets of the alert would be more, wider ones are drawn. */
const bucketsMax = 1_500;

export function AlertChart({ alert, fires }: { alert: SavedAlert; fires: readonly AlertFire[] }) {
  const { query, bucketSize } = alert.timeseries.expression.svcQLTimeseries;
  const range = {
    from: parameters.value.get("from") ?? rangeDefault.from,
    to: parameters.value.get("to") ?? rangeDefault.to,
  };
  const runs = useSignal(0);
  const loading = useLoading(
    async (asked: { startTime: number; endTime: number; bucketSize: number }, signal) => {
      const answer = await ask<FoundSeries>("/api/v1/query/timeseries", {
        body: { query, ...asked },
        signal,
      });
      return { asked, answer, series: seriesOf(answer, "value") };
    },
  );
  useEffect(() => {
    const ends = resolveRange(range, Date.now());
    const isNarrow = (ends.endTime - ends.startTime) / (bucketSize * 1_000) <= bucketsMax;
    void loading.load({ ...ends, bucketSize: isNarrow ? bucketSize : 0 });
  }, [query, bucketSize, range.from, range.to, runs.value]);
  const found = loading.answer.value;
  return (
    <div class={loading.isLoading.value ? "stale" : ""}>
      <div class="screen-head">
        <AddressRangePicker range={range} onAgain={() => runs.value++} />
        <button type="button" onClick={() => runs.value++}>
          Refresh
        </button>
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found === undefined ? null : (
        <TimeChart
          label={`Values of ${alert.metadata.name}`}
          kind="line"
          series={found.series}
          startMs={found.asked.startTime}
          endMs={found.asked.endTime}
          bucketMs={found.answer.bucketSize * 1_000}
          lines={thresholdsOf(alert)}
          marks={marksOf(fires)}
          onBrush={(from, to) => goToRange({ from: String(from), to: String(to) })}
        />
      )}
    </div>
  );
}

/** A line for each threshold of each rule. */
export function thresholdsOf({ timeseries }: Pick<SavedAlert, "timeseries">) {
  return timeseries.evaluationRules.flatMap(({ name, static: { operators } }) =>
    operators.map((operator) => ({
      value: operator.threshold,
      name: `${name} ${nameOperators([operator])}`,
    })),
  );
}

/** The times in which something fired; what fires still has no end. */
export function marksOf(fires: readonly AlertFire[]) {
  return fires.map(({ firedAt, resolvedAt, rule, labels }) => ({
    startMs: firedAt,
    endMs: resolvedAt ?? Number.MAX_SAFE_INTEGER,
    name: `${rule} ${nameInstance(labels)}`,
    colour: "--problem",
  }));
}
