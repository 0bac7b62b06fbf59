/** Replays an alert over series that were read: which fires it would have had, and why. */

import { Failure } from "../../../engine/index.ts";
import type { WorkDeadline } from "../../../query/index.ts";
import {
  previewBucketsMax,
  previewInstancesMax,
  previewListedMax,
  previewPointsMax,
  previewTurnPointsMax,
  previewVerdictsMax,
  readBucketsMax,
} from "../limits.ts";
import { type AlertDefinition, bucketMsOf } from "../state/alert-definition.ts";
import { instanceKey, type RuleCondition } from "../state/alert-state.ts";
import { type DryRunRange, type DryRunStep, dryRunRange, stepsOfDryRun } from "../state/dry-run.ts";
import type { ClosedFire, Fire } from "../state/fire.ts";
import type { BucketVerdict, Transition } from "../state/judgement.ts";
import type { Verdict } from "../state/verdict.ts";
import { type ReplaySeries, sliceSeries } from "./column-slices.ts";

export interface ReplayedFire {
  fire: Fire;
  /** Null where the fire is open at the end of the range. */
  closed: ClosedFire | null;
}

/** The judged buckets of an instance. All lists of all rules have one element for each point. */
export interface ReplayedInstance {
  labels: Record<string, string>;
  /** Start of the bucket and its value, null where it has none. */
  points: [ms: number, value: number | null][];
  /** By the name of the rule. */
  rules: Map<string, { verdicts: Verdict["state"][]; states: RuleCondition[] }>;
}

export interface Replay {
  /** Number of all fires, by rule. */
  fireCounts: ReadonlyMap<string, number>;
  /** The newest fires, the oldest of them first. */
  fires: ReplayedFire[];
  /** The newest transitions, the oldest of them first. */
  transitions: Transition[];
  /** Number of all transitions. */
  transitionCount: number;
  /** Those that had the most fires, with their newest buckets. */
  instances: ReplayedInstance[];
  /** Number of all instances. */
  instanceCount: number;
  bucketCount: number;
  /** Buckets of each instance that are listed at most. */
  bucketsListed: number;
}

export interface ReplaySource {
  alert: AlertDefinition;
  /** A range with at least one whole bucket. */
  range: { fromMs: number; toMs: number };
  /** The query gives exactly one series, without labels. */
  unlabelled: boolean;
  /** All series of the buckets that the range needs (`dryRunRange`). */
  series: readonly ReplaySeries[];
  work: WorkDeadline;
}

/** Throws Failure "limit" where there are more buckets than a preview judges. */
export function checkBuckets(alert: AlertDefinition, { fromMs, toMs }: DryRunRange): void {
  const buckets = (toMs - fromMs) / bucketMsOf(alert);
  if (buckets <= previewBucketsMax) return;
  const problem = `the range has ${buckets} buckets, and a preview judges ${previewBucketsMax} at most`;
  throw new Failure("limit", `${problem}; shorten the range or widen the buckets`);
}

/** Judges all series, then those again whose verdicts are listed. Throws Failure "limit", "deadline" or "cancelled". */
export async function replay(source: ReplaySource): Promise<Replay> {
  const { alert, range, series, unlabelled } = source;
  const keys = unlabelled ? [instanceKey({})] : series.map(({ labels }) => instanceKey(labels));
  const tally = new Tally(keys);
  for await (const step of stepsOf(source)) tally.add(step);
  const bucketMs = bucketMsOf(alert);
  const rules = alert.timeseries.evaluationRules.length;
  const { fromMs, toMs } = dryRunRange(alert, range);
  const buckets = (toMs - fromMs) / bucketMs;
  const bucketsListed = Math.min(buckets, Math.floor(previewVerdictsMax / rules));
  const listedMax = Math.max(1, Math.floor(previewVerdictsMax / (bucketsListed * rules)));
  const listed = tally.mostFired(Math.min(listedMax, previewInstancesMax));
  const chosen = { ...source, series: series.filter(({ labels }) => listed.includes(instanceKey(labels))) };
  const { fireCounts, fires, transitions, transitionCount } = tally;
  return {
    fireCounts,
    fires: [...fires.values()],
    transitions,
    transitionCount,
    instances: await listVerdicts(chosen, listed, toMs - bucketsListed * bucketMs),
    instanceCount: keys.length,
    bucketCount: buckets,
    bucketsListed,
  };
}

/** Takes turns with other requests: judging is work of the thread that serves them all. */
function stepsOf(source: ReplaySource, visit?: (verdict: BucketVerdict) => void) {
  const { alert, range, unlabelled, series, work } = source;
  const bucketPoints = pointsOfBucket(alert) * Math.max(1, series.length);
  const { fromMs, toMs } = dryRunRange(alert, range);
  const points = bucketPoints * ((toMs - fromMs) / bucketMsOf(alert));
  if (points > previewPointsMax) {
    const problem = `judging ${series.length} series over the range looks at ${points} points`;
    throw new Failure("limit", `${problem}, and a preview at ${previewPointsMax} at most; shorten the range`);
  }
  const bucketsAtOnce = Math.max(
    1,
    Math.min(readBucketsMax, Math.floor(previewTurnPointsMax / bucketPoints)),
  );
  const slice = sliceSeries(series);
  /** So many that the clock is read each time. */
  const stepsOfSlice = 1_000;
  const options = { ...range, unlabelled, bucketsAtOnce, ...(visit === undefined ? {} : { visit }) };
  return stepsOfDryRun(alert, options, async (readFromMs, readToMs) => {
    if (work.isTurnOver(stepsOfSlice)) await work.yield();
    return slice(readFromMs, readToMs);
  });
}

/**
 * Points that judging one bucket of one series looks at. Moving the window, and a verdict by itself, cost as much as so
 * many points (measured).
 */
function pointsOfBucket({ timeseries: { evaluationRules } }: AlertDefinition): number {
  const windowPoints = 64;
  const verdictPoints = 16;
  let points = windowPoints;
  for (const { static: rule } of evaluationRules) {
    points += rule.persistenceSettings.datapointsInEvaluationWindow + verdictPoints;
  }
  return points;
}

/** Counts what a replay finds, and keeps the newest of it. */
class Tally {
  readonly fireCounts = new Map<string, number>();
  /** The newest fires, by id. */
  readonly fires = new Map<string, ReplayedFire>();
  /** Number of fires of each instance, by its key. */
  readonly instances: Map<string, number>;
  transitions: Transition[] = [];
  transitionCount = 0;

  constructor(keys: readonly string[]) {
    this.instances = new Map(keys.map((key) => [key, 0]));
  }

  add({ opened, closed, transitions }: Pick<DryRunStep, "opened" | "closed" | "transitions">): void {
    for (const fire of opened) {
      const key = instanceKey(fire.labels);
      this.instances.set(key, this.instances.get(key)! + 1);
      this.fireCounts.set(fire.rule, (this.fireCounts.get(fire.rule) ?? 0) + 1);
      this.fires.set(fire.id, { fire, closed: null });
    }
    for (const each of closed) {
      const known = this.fires.get(each.fire.id);
      if (known !== undefined) known.closed = each;
    }
    for (const id of this.fires.keys()) {
      if (this.fires.size <= previewListedMax) break;
      this.fires.delete(id);
    }
    this.transitionCount += transitions.length;
    this.transitions = [...this.transitions, ...transitions.slice(-previewListedMax)].slice(
      -previewListedMax,
    );
  }

  /** Keys of the instances with the most fires. */
  mostFired(count: number): string[] {
    const byFires = [...this.instances].sort(([, a], [, b]) => b - a);
    return byFires.slice(0, count).map(([key]) => key);
  }
}

/** The verdicts of some instances in the buckets from `listedFromMs` on. */
async function listVerdicts(
  source: ReplaySource,
  keys: readonly string[],
  listedFromMs: number,
): Promise<ReplayedInstance[]> {
  const rules = source.alert.timeseries.evaluationRules;
  const labels = new Map(source.series.map((each) => [instanceKey(each.labels), each.labels]));
  const instances = new Map(
    keys.map((key): [string, ReplayedInstance] => [
      key,
      {
        labels: labels.get(key) ?? {},
        points: [],
        rules: new Map(rules.map(({ name }) => [name, { verdicts: [], states: [] }])),
      },
    ]),
  );
  const visit = ({ rule, key, bucketMs, value, verdict, state }: BucketVerdict) => {
    const instance = instances.get(key);
    if (instance === undefined || bucketMs < listedFromMs) return;
    if (rule === rules[0]!.name) instance.points.push([bucketMs, value]);
    const { verdicts, states } = instance.rules.get(rule)!;
    verdicts.push(verdict);
    states.push(state);
  };
  const steps = stepsOf(source, visit);
  while (!(await steps.next()).done);
  return [...instances.values()];
}
