import { Failure, growArray } from "../../engine/index.ts";
import { pointsMax } from "../limits.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import type { BucketWindows } from "../time/windows.ts";
import type { SeriesSet } from "./series-set.ts";

/** Computes the value of a span of time from those of the two spans that it consists of. */
export type JoinValues<Value = number> = (earlier: Value, later: Value) => Value;

/** How windows get their points from what is known of their steps. */
export interface WindowValues<Value> {
  /** What is known of the step of a point, by index of the point. */
  valueAt: (point: number) => Value;
  join: JoinValues<Value>;
  /** The point of a bucket's window; undefined for none. */
  toPoint: (value: Value, bucket: number) => number | undefined;
}

/** The values of steps that are numbers, of which windows are made. */
function joinNumbers({ values }: SeriesSet, join: JoinValues): WindowValues<number> {
  return { valueAt: (point) => values[point]!, join, toPoint: (value) => value };
}

/**
 * Computes one point for each window in which a series has points. The points of `set` are those of the steps that
 * windows are put together from. Throws Failure "limit" above `pointsMax` points: one step may be in many windows.
 */
export async function slideWindows<Value>(
  set: SeriesSet,
  windows: BucketWindows,
  windowValues: WindowValues<Value>,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const starts = new Uint32Array(set.starts.length);
  const found = new FoundPoints(set.buckets.length);
  for (let series = 0; series + 1 < set.starts.length; series++) {
    const span = new SlidingSpan(set, series, windowValues);
    // Buckets whose window has no point of the series are skipped, however many there are.
    for (let bucket = 0; ; bucket++) {
      const step = span.oldestStep();
      bucket = step === undefined ? windows.count : windows.firstEndingBehind(step, bucket);
      if (bucket >= windows.count) break;
      const joined = span.moveTo(windows.firstStepOf(bucket), windows.endStepOf(bucket));
      const value = joined && windowValues.toPoint(joined.value, bucket);
      if (value !== undefined) found.add(bucket, value);
      if (work.isTurnOver(span.takeSteps())) await work.yield();
    }
    starts[series + 1] = found.count;
  }
  return found.toSet(set, starts);
}

/** In windows of more steps a queue is cheaper: with it each step is joined a few times, however long the window is. */
const joinedStepsMax = 16;

/** As `slideWindows`, for steps that are numbers. Throws Failure "limit" above `pointsMax` points. */
export function slideNumbers(
  set: SeriesSet,
  windows: BucketWindows,
  join: JoinValues,
  work: WorkDeadline,
): Promise<SeriesSet> {
  return windows.stepsMax > joinedStepsMax
    ? slideWindows(set, windows, joinNumbers(set, join), work)
    : joinShortWindows(set, windows, join, work);
}

/** Joins the few steps of each window anew. */
async function joinShortWindows(
  set: SeriesSet,
  windows: BucketWindows,
  join: JoinValues,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const { buckets: steps, values } = set;
  const starts = new Uint32Array(set.starts.length);
  const found = new FoundPoints(steps.length);
  for (let series = 0; series + 1 < set.starts.length; series++) {
    const end = set.starts[series + 1]!;
    let low = set.starts[series]!;
    for (let bucket = 0; low < end; bucket++) {
      bucket = windows.firstEndingBehind(steps[low]!, bucket);
      if (bucket >= windows.count) break;
      const [from, to] = [windows.firstStepOf(bucket), windows.endStepOf(bucket)];
      while (low < end && steps[low]! < from) low++;
      if (low < end && steps[low]! < to) {
        let value = values[low]!;
        for (let i = low + 1; i < end && steps[i]! < to; i++) value = join(value, values[i]!);
        found.add(bucket, value);
      }
      if (work.isTurnOver()) await work.yield();
    }
    starts[series + 1] = found.count;
  }
  return found.toSet(set, starts);
}

/** Points as they are found, in vectors that grow. */
class FoundPoints {
  count = 0;
  #buckets: Float64Array<ArrayBuffer>;
  #values: Float64Array<ArrayBuffer>;

  constructor(expected: number) {
    const length = Math.max(16, Math.ceil(expected * 1.25));
    this.#buckets = new Float64Array(length);
    this.#values = new Float64Array(length);
  }

  /** Throws Failure "limit" above `pointsMax` points. */
  add(bucket: number, value: number): void {
    if (this.count >= pointsMax) throw makePointsFailure();
    if (this.count === this.#values.length) {
      this.#buckets = growArray(this.#buckets, this.count * 2);
      this.#values = growArray(this.#values, this.count * 2);
    }
    this.#buckets[this.count] = bucket;
    this.#values[this.count++] = value;
  }

  /** The series of `set` with these points; those of a series begin at its place in `starts`. */
  toSet(set: SeriesSet, starts: Uint32Array): SeriesSet {
    return {
      ...set,
      order: set.order.filter((series) => starts[series + 1]! > starts[series]!),
      starts,
      buckets: this.#buckets.subarray(0, this.count),
      values: this.#values.subarray(0, this.count),
    };
  }
}

/** The error for windows that would have more points than a query may hold. */
export function makePointsFailure(): Failure {
  const problem = `these windows have more than ${pointsMax} points`;
  return new Failure("limit", `${problem}; take wider buckets, a shorter range or fewer labels`);
}

/**
 * The points of one series within a sliding window: a queue made of two stacks. The front stack keeps the joined value of
 * each of its points and all later ones in it, so each point is joined a few times in all, however long the window is.
 */
class SlidingSpan<Value> {
  readonly #set: SeriesSet;
  readonly #end: number;
  readonly #values: WindowValues<Value>;
  /** The first point that no window has taken in yet. */
  #next: number;
  /** For each point, the joined value from it to the end of the front stack. The earliest point is the last element. */
  #front: { step: number; value: Value }[] = [];
  /** The first point of the back stack, and the joined value of all its points; undefined where it is empty. */
  #back: { from: number; value: Value } | undefined;
  #work = 0;

  constructor(set: SeriesSet, series: number, values: WindowValues<Value>) {
    this.#set = set;
    this.#next = set.starts[series]!;
    this.#end = set.starts[series + 1]!;
    this.#values = values;
  }

  /** The step of the earliest point that may be in a later window; undefined where none is left. */
  oldestStep(): number | undefined {
    const { buckets } = this.#set;
    const front = this.#front.at(-1)?.step;
    if (front !== undefined) return front;
    if (this.#back !== undefined) return buckets[this.#back.from];
    return this.#next < this.#end ? buckets[this.#next] : undefined;
  }

  /** The value of the points from step `from` to before step `to`; undefined without any. Neither may move back. */
  moveTo(from: number, to: number): { value: Value } | undefined {
    const { buckets } = this.#set;
    const { valueAt, join } = this.#values;
    for (; this.#next < this.#end && buckets[this.#next]! < to; this.#next++) {
      this.#work++;
      const value = valueAt(this.#next);
      this.#back =
        this.#back === undefined
          ? { from: this.#next, value }
          : { from: this.#back.from, value: join(this.#back.value, value) };
    }
    this.#dropBefore(from);
    const front = this.#front.at(-1);
    if (front === undefined || this.#back === undefined) return front ?? this.#back;
    return { value: join(front.value, this.#back.value) };
  }

  /** The steps of work since the last call. */
  takeSteps(): number {
    const steps = this.#work + 1;
    this.#work = 0;
    return steps;
  }

  #dropBefore(from: number): void {
    for (;;) {
      while (this.#front.length > 0 && this.#front.at(-1)!.step < from) this.#front.pop();
      const isBackEarly = this.#back !== undefined && this.#set.buckets[this.#back.from]! < from;
      if (this.#front.length > 0 || !isBackEarly) return;
      this.#turnBack();
    }
  }

  /** Moves the points of the back stack to the front stack, which is empty. */
  #turnBack(): void {
    const { buckets } = this.#set;
    const { valueAt, join } = this.#values;
    let joined: Value | undefined;
    for (let point = this.#next - 1; point >= this.#back!.from; point--) {
      this.#work++;
      joined = joined === undefined ? valueAt(point) : join(valueAt(point), joined);
      this.#front.push({ step: buckets[point]!, value: joined });
    }
    this.#back = undefined;
  }
}
