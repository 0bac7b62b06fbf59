/**
 * What becomes of fires when buckets are judged again, because rows came late. Fires that people may have heard of are
 * compared with the times in which the rule fires as the rows are now. Pure functions.
 */
import type { ResolveReason } from "../../model/event.ts";
import type { OpenFire, RecentFire, RuleState } from "./alert-state.ts";

/** A fire as it was before. `open`: of one that is open. */
export interface KnownFire extends RecentFire {
  open: OpenFire | null;
}

/** A time in which the rule fires by the rows as they are now: from `firing` to `ok`. */
export interface FiringTime {
  /** End of the bucket with which it begins. */
  fromMs: number;
  /** Null while it lasts. */
  toMs: number | null;
  reason: ResolveReason | null;
  /** It ended before the first bucket that is judged again: it justifies its fire, and asks for no other one. */
  isPast: boolean;
}

export interface FireCorrection<Time extends FiringTime> {
  /** Fires to open, and the times they are for; `fromMs` is later than the time's where an earlier fire covers its begin. */
  opened: { time: Time; fromMs: number }[];
  closed: { fire: OpenFire; resolvedAtMs: number; reason: ResolveReason }[];
  /** Ids of ended fires that should not have been. */
  retracted: string[];
  /** The fire that goes on in a time: none for times whose fire is opened. */
  kept: Map<Time, KnownFire>;
}

/** The time that is compared. */
export interface CorrectedTime {
  /** Since when all times in which the rule fired are known: a fire that began before had its reason. */
  knownSinceMs: number;
  /** Start of the first bucket that was judged again. */
  fromMs: number;
  /** End of the newest bucket. */
  endMs: number;
}

/** `known` and `times` are in the order of time. */
export function correctFires<Time extends FiringTime>(
  known: readonly KnownFire[],
  times: readonly Time[],
  { knownSinceMs, fromMs, endMs }: CorrectedTime,
): FireCorrection<Time> {
  const result: FireCorrection<Time> = { opened: [], closed: [], retracted: [], kept: new Map() };
  const openFire = known.find(({ toMs }) => toMs === null);
  for (const time of times) {
    if (time.isPast) continue;
    const overlapping = known.filter((fire) => overlap(fire, time));
    const newest = overlapping.at(-1);
    if (newest === undefined) result.opened.push({ time, fromMs: time.fromMs });
    // People were notified of the end of that fire, so it is not opened again: another one goes on from its end.
    else if (time.toMs === null && openFire === undefined) {
      result.opened.push({ time, fromMs: newest.toMs! });
    } else result.kept.set(time, newest);
  }
  const last = times.at(-1);
  if (openFire !== undefined && last?.toMs === null) {
    // It goes on, although it may have begun at another time.
    result.opened = result.opened.filter(({ time }) => time !== last);
    result.kept.set(last, openFire);
  } else if (openFire?.open) {
    const ended = times.findLast((time) => overlap(openFire, time));
    const { toMs = null, reason = null } = ended ?? {};
    const isUncalledFor = toMs === null && openFire.fromMs >= knownSinceMs;
    const why = isUncalledFor ? "corrected" : (reason ?? "recovered");
    result.closed.push({ fire: openFire.open, resolvedAtMs: toMs ?? endMs, reason: why });
  }
  for (const fire of known) {
    const isJudgedAgain = fire.toMs !== null && fire.toMs > fromMs && fire.fromMs >= knownSinceMs;
    if (isJudgedAgain && !times.some((time) => overlap(fire, time))) result.retracted.push(fire.id);
  }
  return result;
}

function overlap(fire: KnownFire, time: FiringTime): boolean {
  return (
    fire.fromMs < (time.toMs ?? Number.POSITIVE_INFINITY) &&
    time.fromMs < (fire.toMs ?? Number.POSITIVE_INFINITY)
  );
}

/**
 * The state that a rule was in before the bucket that starts at `bucketMs`, as a state of its own; undefined where it had
 * none. A state from after `throughMs`, the end of all judged buckets, is older than the clock, which has gone back.
 */
export function stateBefore(rule: RuleState, bucketMs: number, throughMs: number): RuleState | undefined {
  const { earlier = [], ...current } = rule;
  if (current.sinceMs <= bucketMs || current.sinceMs > throughMs) return rule;
  const index = earlier.findLastIndex(({ sinceMs }) => sinceMs <= bucketMs);
  const then = earlier[index];
  if (then === undefined) return undefined;
  const { state, sinceMs, fireId } = then;
  // The flags do not matter: fires that go on keep those that they have.
  const fire = fireId === null ? null : { id: fireId, noticed: true, told: true };
  return { state, sinceMs, fire, ...(index === 0 ? {} : { earlier: earlier.slice(0, index) }) };
}

/** The fires of a rule that are open or ended lately, in the order of time. */
export function knownFires(rule: RuleState): KnownFire[] {
  const { fire, fires = recentFires(rule) } = rule;
  return fires.map((each) => ({ ...each, open: each.toMs === null ? fire : null }));
}

/** The open fire of a state that an earlier version stored, which has no list of fires. */
function recentFires(rule: RuleState): RecentFire[] {
  return rule.fire === null ? [] : [{ id: rule.fire.id, fromMs: firingSince(rule), toMs: null }];
}

/** The times before a state in which its rule fired. */
export function pastTimes({ earlier = [], sinceMs, fire }: RuleState): (FiringTime & { id: string })[] {
  const times: (FiringTime & { id: string })[] = [];
  for (const [i, { fireId, sinceMs: fromMs }] of earlier.entries()) {
    if (fireId === null || fireId === fire?.id) continue;
    const toMs = earlier[i + 1]?.sinceMs ?? sinceMs;
    times.push({ id: fireId, fromMs, toMs, reason: "recovered", isPast: true });
  }
  return times;
}

/** Since when the fire of a state has been open, as far as its earlier states tell. */
export function firingSince({ earlier = [], sinceMs, fire }: RuleState): number {
  const other = earlier.findLastIndex(({ fireId }) => fireId !== fire?.id);
  return earlier[other + 1]?.sinceMs ?? sinceMs;
}
