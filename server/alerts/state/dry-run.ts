/** The dry run of an alert: what it would have judged and which fires it would have had over stored rows. */

import { readBucketsMax } from "../limits.ts";
import { advance } from "./advance.ts";
import { type AlertDefinition, bucketMsOf, windowBuckets } from "./alert-definition.ts";
import { type AlertState, makeFreshState } from "./alert-state.ts";
import { floorTo } from "./evaluation-schedule.ts";
import type { Advance, BucketVerdict, Transition } from "./judgement.ts";
import type { ReadSeries } from "./read-series.ts";
import type { Window } from "./window.ts";

export interface DryRun {
  transitions: Transition[];
  state: AlertState;
}

/** What a dry run found in some successive buckets. */
export interface DryRunStep extends Pick<Advance, "transitions" | "opened" | "closed"> {
  /** The state after them. */
  state: AlertState;
}

/** A range of time, and how it is judged. */
export interface DryRunOptions {
  fromMs: number;
  toMs: number;
  /** The query gives exactly one series, without labels. */
  unlabelled: boolean;
  /** Buckets that are read and judged at once. */
  bucketsAtOnce?: number;
  visit?: (verdict: BucketVerdict) => void;
}

/** The buckets of a dry run: the starts of the first that is read and the first that is judged, the end of the last. */
export interface DryRunRange {
  readFromMs: number;
  fromMs: number;
  toMs: number;
}

/** The buckets that a dry run reads and judges: `fromMs` lies in the first, and `toMs` not before the end of the last. */
export function dryRunRange(
  alert: AlertDefinition,
  { fromMs, toMs }: Pick<DryRunOptions, "fromMs" | "toMs">,
): DryRunRange {
  const bucketMs = bucketMsOf(alert);
  const lastMs = floorTo(toMs, bucketMs);
  const firstEndMs = Math.min(floorTo(fromMs, bucketMs) + bucketMs, lastMs);
  const readFromMs = Math.max(0, firstEndMs - windowBuckets(alert) * bucketMs);
  return { readFromMs, fromMs: firstEndMs - bucketMs, toMs: lastMs };
}

/**
 * Judges every bucket that ends after `fromMs` and not after `toMs`, as evaluation would have done without late rows
 * and downtime. `read` reads whole buckets, from the start of the first to the end of the last, in the order of time.
 * Throws Failure "limit" if the query gives too many series.
 */
export async function* stepsOfDryRun(
  alert: AlertDefinition,
  options: DryRunOptions,
  read: (fromMs: number, toMs: number) => Promise<readonly ReadSeries[]>,
): AsyncGenerator<DryRunStep> {
  const { unlabelled, bucketsAtOnce = readBucketsMax, visit } = options;
  const bucketMs = bucketMsOf(alert);
  const { readFromMs, fromMs, toMs: lastMs } = dryRunRange(alert, options);
  let startMs = readFromMs;
  let endMs = fromMs + bucketMs;
  let state = makeFreshState(alert, 0);
  let window: Window | undefined;
  for (;;) {
    const series = startMs < endMs ? await read(startMs, endMs) : [];
    const reading = {
      ...{ fromMs: startMs, toMs: endMs, readFromMs: startMs, series, unlabelled },
      ...{ incomplete: () => undefined, comparedFromMs: Number.POSITIVE_INFINITY, revisedAfterMs: 0 },
    };
    const judgeFromMs = window?.throughMs ?? endMs - bucketMs;
    const step = advance([{ alert, state, fromMs: judgeFromMs, visit }], window, reading);
    window = step.window;
    const [advanced] = step.advances;
    const { transitions = [], opened = [], closed = [] } = advanced ?? {};
    state = { ...(advanced?.state ?? state), throughMs: endMs };
    yield { transitions, opened, closed, state };
    if (endMs >= lastMs) return;
    startMs = endMs;
    endMs = Math.min(lastMs, startMs + bucketsAtOnce * bucketMs);
  }
}

/** Judges the buckets as `stepsOfDryRun` does, and returns all transitions and the last state. */
export async function runDry(...run: Parameters<typeof stepsOfDryRun>): Promise<DryRun> {
  const transitions: Transition[] = [];
  let state = makeFreshState(run[0], 0);
  for await (const step of stepsOfDryRun(...run)) {
    for (const transition of step.transitions) transitions.push(transition);
    state = step.state;
  }
  return { transitions, state };
}
