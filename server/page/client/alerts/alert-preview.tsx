/** What an alert would have done over what is stored: its points, its thresholds, and when it would have fired. */

import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { ask } from "../api/client.ts";
import { useLoading } from "../api/loading.ts";
import { parameters } from "../browser/address.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import { nameDuration, nameRange, type RangeText, resolveRange } from "../time/range.ts";
import { RangePicker } from "../time/range-picker.tsx";
import { clock } from "../time/zone.ts";
import { nameCount } from "../ui/count.ts";
import { marksOf, thresholdsOf } from "./alert-chart.tsx";
import type { PreviewAnswer, SavedAlert } from "./answers.ts";
import { nameInstance } from "./names.ts";

interface AlertPreviewProps {
  draft: ReadonlySignal<SavedAlert>;
  /** Told of the least and greatest value that is drawn. */
  onValues(values: { least: number; greatest: number }): void;
}

/** Without a change for this long, the draft is judged. */
const pauseMs = 200;
const firesShown = 20;

export function AlertPreview({ draft, onValues }: AlertPreviewProps) {
  const asked = parameters.peek();
  const range = useSignal<RangeText>({ from: asked.get("from") ?? "-1d", to: asked.get("to") ?? "now" });
  const loading = useLoading(async (alert: SavedAlert, signal: AbortSignal) => {
    const ends = resolveRange(range.peek(), Date.now());
    const answer = await ask<PreviewAnswer>("/api/v1/alerts/preview", {
      ...{ body: { alert: judgedOf(alert), ...ends }, signal },
    });
    onValues(extremesOf(answer));
    return {
      ends,
      answer,
      series: answer.instances.map(({ labels, points }) => ({ name: nameInstance(labels), points })),
    };
  });
  // Names and destinations change nothing of what is judged.
  const judged = JSON.stringify([judgedOf(draft.value), range.value]);
  useEffect(() => {
    const timer = setTimeout(() => void loading.load(draft.peek()), pauseMs);
    return () => clearTimeout(timer);
  }, [judged]);
  const found = loading.answer.value;
  return (
    <section class={loading.isLoading.value ? "preview stale" : "preview"} aria-label="Preview">
      <div class="screen-head">
        <h2>Preview</h2>
        <RangePicker
          range={range.value}
          onChange={(next) => {
            range.value = next;
          }}
        />
      </div>
      {loading.problem.value === undefined ? null : (
        <p class="problem" role="alert">
          {loading.problem.value.message}
        </p>
      )}
      {found === undefined ? null : (
        <>
          <p role="status" class="fire-count">
            {found.answer.fireCount === 0
              ? "Would not have fired"
              : `Would have fired ${nameTimes(found.answer)}`}{" "}
            in the range “{nameRange(range.value, clock.value.short)}”.
          </p>
          {found.answer.warnings?.map((warning) => (
            <p key={warning} class="warning">
              {warning}
            </p>
          ))}
          <TimeChart
            label="What the alert watches"
            kind="line"
            series={found.series}
            startMs={found.ends.startTime}
            endMs={found.ends.endTime}
            bucketMs={found.answer.bucketSize * 1_000}
            lines={thresholdsOf(draft.value)}
            marks={marksOf(found.answer.fires)}
          />
          {found.answer.more === 0 ? null : (
            <p class="hint">{nameCount(found.answer.more, "more instance")} are not drawn.</p>
          )}
          <ul>
            {found.answer.fires.slice(0, firesShown).map((fire) => (
              <li key={`${fire.fireId} ${fire.firedAt}`}>
                {clock.value.short(fire.firedAt)}, {nameEnd(fire.firedAt, fire.resolvedAt)}:{" "}
                <bdi>{fire.rule}</bdi> for <bdi>{nameInstance(fire.labels)}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** The part of an alert that decides when it fires. */
function judgedOf({ timeseries }: SavedAlert) {
  const evaluationRules = timeseries.evaluationRules.map((rule, i) => ({
    ...{ name: rule.name === "" ? `rule ${i + 1}` : rule.name, static: rule.static },
  }));
  return { timeseries: { ...timeseries, evaluationRules } };
}

function nameTimes({ fireCount }: PreviewAnswer): string {
  return fireCount === 1 ? "once" : `${fireCount.toLocaleString("en")} times`;
}

function nameEnd(firedMs: number, resolvedMs: number | null): string {
  return resolvedMs === null ? "still" : `for ${nameDuration(resolvedMs - firedMs)}`;
}

function extremesOf({ instances }: PreviewAnswer) {
  let [least, greatest] = [0, 0];
  for (const { points } of instances)
    for (const [, value] of points) {
      if (value === null) continue;
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
  return { least, greatest };
}
