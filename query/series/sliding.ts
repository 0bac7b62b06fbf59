import type { WorkDeadline } from "../time/deadline.ts";
import type { BucketWindows } from "../time/windows.ts";
import type { SeriesSet } from "./series-set.ts";

/** Joins the values of two spans of time that follow each other into that of both. */
export type JoinValues = (earlier: number, later: number) => number;

/**
 * Makes one point of the points that a series has in the window of each bucket. The points of `set` are those of the
 * steps that windows consist of. A window without a point gives none.
 */
export async function slideWindows(
  set: SeriesSet,
  windows: BucketWindows,
  join: JoinValues,
  work: WorkDeadline,
): Promise<SeriesSet> {
  const steps = Array.from({ length: windows.count }, (_, bucket) => windows.stepsOf(bucket));
  const starts = new Uint32Array(set.starts.length);
  const buckets: number[] = [];
  const values: number[] = [];
  for (let series = 0; series + 1 < set.starts.length; series++) {
    const span = new SlidingSpan(set, series, join);
    for (const [bucket, [from, to]] of steps.entries()) {
      const value = span.moveTo(from, to);
      if (value !== undefined) {
        buckets.push(bucket);
        values.push(value);
      }
      if (work.isTurnOver(span.takeSteps())) await work.yield();
    }
    starts[series + 1] = values.length;
  }
  return {
    ...set,
    order: set.order.filter((series) => starts[series + 1]! > starts[series]!),
    starts,
    buckets: Float64Array.from(buckets),
    values: Float64Array.from(values),
  };
}

/**
 * The points of one series within a window that moves on. Each point is joined a few times in all, however many windows
 * hold it: as a queue of two stacks, whose front stack keeps what each of its points makes with all later ones of it.
 */
class SlidingSpan {
  readonly #set: SeriesSet;
  readonly #end: number;
  readonly #join: JoinValues;
  /** The first point behind the window. */
  #next: number;
  /** Joined values from a point to the end of the front stack; the earliest point is the last element. */
  #front: { step: number; value: number }[] = [];
  /** First and last point of the back stack, and all its points joined; undefined where it is empty. */
  #back: { from: number; value: number } | undefined;
  #work = 0;

  constructor(set: SeriesSet, series: number, join: JoinValues) {
    this.#set = set;
    this.#next = set.starts[series]!;
    this.#end = set.starts[series + 1]!;
    this.#join = join;
  }

  /** The value of the points from step `from` to before step `to`; undefined without any. Neither may move back. */
  moveTo(from: number, to: number): number | undefined {
    const { buckets, values } = this.#set;
    for (; this.#next < this.#end && buckets[this.#next]! < to; this.#next++) {
      this.#work++;
      const value = values[this.#next]!;
      this.#back =
        this.#back === undefined
          ? { from: this.#next, value }
          : { from: this.#back.from, value: this.#join(this.#back.value, value) };
    }
    this.#dropBefore(from);
    const front = this.#front.at(-1)?.value;
    if (front === undefined || this.#back === undefined) return front ?? this.#back?.value;
    return this.#join(front, this.#back.value);
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
    const { buckets, values } = this.#set;
    let joined: number | undefined;
    for (let point = this.#next - 1; point >= this.#back!.from; point--) {
      this.#work++;
      joined = joined === undefined ? values[point]! : this.#join(values[point]!, joined);
      this.#front.push({ step: buckets[point]!, value: joined });
    }
    this.#back = undefined;
  }
}
