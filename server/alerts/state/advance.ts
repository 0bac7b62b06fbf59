/** One step of evaluation, a pure function: all alerts over one query judge its new buckets, one after another. */

import { bucketMsOf, windowBuckets } from "./alert-definition.ts";
import { Judge } from "./judge.ts";
import type { Advance, WindowFollower } from "./judgement.ts";
import type { QueryReading } from "./read-series.ts";
import { SlidingWindow, type Window } from "./window.ts";

export interface Advanced {
  window: Window;
  /** Judged buckets that read otherwise than when they were judged, and were judged again. */
  revisedBuckets: number;
  /** Judged buckets that read otherwise now, and came too late to be judged again. */
  keptBuckets: number;
  /** The window differs from the one before in more than its new buckets. */
  isReread: boolean;
  /** One for each alert, in the order of the followers; null where the alert's state does not change. */
  advances: (Advance | null)[];
}

/**
 * Advances the window over a reading, and with it all alerts that follow the window. They have the same query and
 * bucket size. Where buckets of the window read otherwise than when they were judged, they and all later ones are
 * judged again. Throws Failure "limit", one sentence for people, if the query gives too many series.
 */
export function advance(
  followers: readonly WindowFollower[],
  before: Window | undefined,
  reading: QueryReading,
): Advanced {
  const bucketMs = bucketMsOf(followers[0]!.alert);
  const size = Math.max(...followers.map(({ alert }) => windowBuckets(alert)));
  const window = new SlidingWindow(before, reading, size, bucketMs);
  const judges = followers.map((follower) => new Judge(follower, window, bucketMs));
  const throughMs = before?.throughMs ?? reading.fromMs;
  for (const judge of judges) {
    if (window.revisedFromMs !== undefined) judge.rewind(window.revisedFromMs, throughMs);
    judge.judgeObserved(throughMs);
  }
  for (let startMs = Math.max(reading.fromMs, throughMs); startMs < reading.toMs; startMs += bucketMs) {
    window.observe(startMs);
    for (const judge of judges) judge.judgeNewest(startMs);
    if (!window.isIncomplete(startMs)) window.forgetIdle(startMs + bucketMs);
  }
  const advances = judges.map((judge) => judge.finish());
  const { revisedBuckets, keptBuckets, isReread } = window;
  return { advances, window: window.toWindow(), revisedBuckets, keptBuckets, isReread };
}
