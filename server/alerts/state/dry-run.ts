/** The dry run of an alert: which transitions it would have made over rows that are already stored. */

import { readBucketsMax } from "../limits.ts";
import { advance, type Transition } from "./advance.ts";
import { type AlertDefinition, bucketMsOf, windowBuckets } from "./alert-definition.ts";
import { type AlertState, makeFreshState } from "./alert-state.ts";
import type { ReadSeries } from "./read-series.ts";
import type { Window } from "./window.ts";

export interface DryRun {
  transitions: Transition[];
  state: AlertState;
}

/**
 * Judges every bucket that ends after `fromMs` and not after `toMs`, as evaluation would have done without late rows
 * and downtime. `read` reads whole buckets, from the start of the first to the end of the last.
 */
export async function runDry(
  alert: AlertDefinition,
  { fromMs, toMs, unlabelled }: { fromMs: number; toMs: number; unlabelled: boolean },
  read: (fromMs: number, toMs: number) => Promise<readonly ReadSeries[]>,
): Promise<DryRun> {
  const bucketMs = bucketMsOf(alert);
  const lastMs = Math.floor(toMs / bucketMs) * bucketMs;
  let endMs = Math.min(Math.floor(fromMs / bucketMs) * bucketMs + bucketMs, lastMs);
  let startMs = Math.max(0, endMs - windowBuckets(alert) * bucketMs);
  const transitions: Transition[] = [];
  let state = makeFreshState(alert, 0);
  let window: Window | undefined;
  for (;;) {
    const series = startMs < endMs ? await read(startMs, endMs) : [];
    const reading = { fromMs: startMs, toMs: endMs, series, unlabelled, isLost: () => false };
    const judgeFromMs = window?.throughMs ?? endMs - bucketMs;
    const step = advance([{ alert, state, fromMs: judgeFromMs }], window, reading);
    window = step.window;
    const [advanced] = step.advances;
    transitions.push(...(advanced?.transitions ?? []));
    state = { ...(advanced?.state ?? state), throughMs: endMs };
    if (endMs >= lastMs) return { transitions, state };
    startMs = endMs;
    endMs = Math.min(lastMs, startMs + readBucketsMax * bucketMs);
  }
}
