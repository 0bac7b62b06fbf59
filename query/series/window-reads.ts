/** Reads of windows one by one, for aggregations that steps cannot be put together for. */
import { type AggregateResult, Failure, textAt, toTextVector } from "../../engine/index.ts";
import { pointsMax, windowReadsMax } from "../limits.ts";
import type { Scan } from "../plan/scan.ts";
import type { WorkDeadline } from "../time/deadline.ts";
import type { TimeRange } from "../time/range.ts";
import type { BucketWindows } from "../time/windows.ts";
import { makePointsFailure } from "./sliding.ts";

/** Windows that are read at once. */
const readsAtOnce = 4;

/** Runs one read for each window. In the result, the points of a window are in the bucket that it belongs to. */
export async function readEachWindow(
  scan: Scan,
  windows: BucketWindows,
  read: (range: TimeRange) => Promise<AggregateResult>,
  work: WorkDeadline,
): Promise<AggregateResult> {
  const { count } = windows;
  if (count > windowReadsMax) {
    const problem = `this aggregation reads each of its ${count} windows by itself, and may read ${windowReadsMax}`;
    throw new Failure("limit", `${problem}; take wider buckets or a shorter range of time`);
  }
  const width = Array.isArray(scan.groupBy) ? scan.groupBy.length : 1;
  const aggregates = scan.kind === "rows" ? scan.aggregates.length : 1;
  const merged = new MergedWindows(width, aggregates);
  for (let first = 0; first < count; first += readsAtOnce) {
    const buckets = Array.from({ length: Math.min(readsAtOnce, count - first) }, (_, i) => first + i);
    const results = await Promise.all(
      buckets.map((bucket) => {
        const { fromMs, toMs } = windows.windowOf(bucket);
        return read({ startMs: fromMs, endMs: toMs - 1 });
      }),
    );
    for (const [i, result] of results.entries()) await merged.add(buckets[i]!, result, work);
  }
  return merged.build();
}

/** Joins results of single windows: groups with the same labels become one group. */
class MergedWindows {
  readonly #width: number;
  readonly #groupOf = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #groups: number[] = [];
  readonly #buckets: number[] = [];
  readonly #values: number[][];
  #scanned: AggregateResult["scanned"] | undefined;

  /** `width`: labels of a group. */
  constructor(width: number, aggregates: number) {
    this.#width = width;
    this.#values = Array.from({ length: aggregates }, () => []);
  }

  /** Throws Failure "limit" above `pointsMax` points. */
  async add(bucket: number, result: AggregateResult, work: WorkDeadline): Promise<void> {
    const { groups, labels, points, scanned } = result;
    this.#scanned ??= scanned;
    if (this.#buckets.length + points.groups.length > pointsMax) throw makePointsFailure();
    const groupOf = new Uint32Array(groups);
    for (let group = 0; group < groups; group++) {
      groupOf[group] = this.#findOrAdd(labels, group);
      if (work.isTurnOver()) await work.yield();
    }
    for (const [point, group] of points.groups.entries()) {
      this.#groups.push(groupOf[group]!);
      this.#buckets.push(bucket);
      for (const [aggregate, values] of this.#values.entries())
        values.push(points.values[aggregate]![point]!);
      if (work.isTurnOver()) await work.yield();
    }
  }

  /** The number of the group that has the labels of a group of one window. */
  #findOrAdd(labels: AggregateResult["labels"], group: number): number {
    const texts = Array.from({ length: this.#width }, (_, i) => textAt(labels, group * this.#width + i));
    const key = JSON.stringify(texts);
    const known = this.#groupOf.get(key);
    if (known !== undefined) return known;
    this.#texts.push(...texts);
    this.#groupOf.set(key, this.#groupOf.size);
    return this.#groupOf.size - 1;
  }

  build(): AggregateResult {
    return {
      groups: this.#groupOf.size,
      labels: toTextVector(this.#texts),
      points: {
        groups: Uint32Array.from(this.#groups),
        buckets: Float64Array.from(this.#buckets),
        values: this.#values.map((values) => Float64Array.from(values)),
      },
      scanned: this.#scanned!,
    };
  }
}
