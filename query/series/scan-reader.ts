import {
  type AggregateResult,
  addScanStatistics,
  emptyScanStatistics,
  Failure,
  type Filter,
  type QueryLimits,
  type Store,
} from "../../engine/index.ts";
import type { RowScan, SampleScan, Scan, ScanRead, ScanSeries } from "../plan/scan.ts";
import type { TopSeries } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { bucketStartMsOf, countCoveredSeconds, type TimeBuckets } from "../time/buckets.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRangeNs, toRangeNs } from "../time/range.ts";
import { selectTopSeries } from "./ranking.ts";
import { type SeriesSet, toSeriesSet, toSeriesSetOfPairs } from "./series-set.ts";

/** The most series that the second scan of `readTopSeries` selects. Each is one more condition on every row. */
const rankedSeriesMax = 100;

/** The part of a store that timeseries queries need. */
export type SeriesStore = Pick<
  Store,
  "aggregate" | "aggregateSamples" | "attributeKeys" | "metricNames" | "seriesLabels"
>;

/** Runs the scans of one query over a store. Each scan runs once, when its series are first read. */
export class ScanReader {
  /** Sentences for people about the scans read so far. */
  readonly warnings: string[] = [];
  /** One entry for each read of the store so far. */
  readonly reads: ScanRead[] = [];
  /** The sum of what `reads` scanned. */
  readonly scanned = emptyScanStatistics();
  /**
   * Metrics without any series in the range, and metrics of which no series has one of the labels that they are grouped
   * by.
   */
  readonly unknownMetrics = new Set<string>();
  readonly #store: SeriesStore;
  readonly #scans: readonly Scan[];
  readonly #buckets: TimeBuckets;
  readonly #limits: QueryLimits | undefined;
  readonly #startedAtMs = performance.now();
  /** The deadline of what is done with the series that were read. */
  readonly deadline: WorkDeadline;
  /** Results of the scans that were started, by index of the scan. */
  readonly #results = new Map<number, Promise<AggregateResult>>();

  constructor(store: SeriesStore, scans: readonly Scan[], buckets: TimeBuckets, limits?: QueryLimits) {
    this.#store = store;
    this.#scans = scans;
    this.#buckets = buckets;
    this.#limits = limits;
    this.deadline = new WorkDeadline(this.#startedAtMs, limits);
  }

  /**
   * Reads the series of one aggregation that a scan computes, such as the `sum` of a scan for `sum` and `count`. Throws
   * what the store throws.
   */
  async readSeries({ scan: index, aggregate, perSecond }: ScanSeries): Promise<SeriesSet> {
    const scan = this.#scans[index]!;
    const set = await this.#toLabelledSeries(scan, await this.#readOnce(index, scan), aggregate);
    return perSecond ? this.#divideBySeconds(set) : set;
  }

  /**
   * Reads the series of `topk` or `bottomk` over counts of rows where the scan has more groups or points than a query
   * may hold. A first scan ranks the groups by their number of rows in the whole range, which is the sum of a group's
   * points. A second scan counts only the rows of the top groups, bucket by bucket. Undefined where the plan is not
   * over a count of rows, or where the plain scan is within the limits.
   */
  async readTopSeries(plan: TopSeries): Promise<SeriesSet | undefined> {
    const { of } = plan;
    if (of.kind !== "scan" || of.perSecond) return undefined;
    const scan = this.#scans[of.scan]!;
    if (scan.kind !== "rows" || scan.aggregates[of.aggregate]!.op !== "count") return undefined;
    try {
      await this.#readOnce(of.scan, scan);
      return undefined;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "limit") throw error;
      const whole = await this.#aggregate(of.scan, scan, "whole");
      const ranked = await selectTopSeries(
        plan,
        await this.#toLabelledSeries(scan, whole, of.aggregate),
        this.deadline,
      );
      if (ranked.order.length > rankedSeriesMax) throw error;
      const filter: Filter = {
        kind: "or",
        of: Array.from(ranked.order, (series) => makeSeriesFilter(scan, ranked, series)),
      };
      const steps = simplifySteps([...scan.steps, { kind: "filter", filter }]);
      const narrowed = { ...scan, steps };
      const result = await this.#aggregate(of.scan, narrowed, "bucket");
      return selectTopSeries(
        plan,
        await this.#toLabelledSeries(narrowed, result, of.aggregate),
        this.deadline,
      );
    }
  }

  #toLabelledSeries(scan: Scan, result: AggregateResult, aggregate: number): Promise<SeriesSet> {
    return Array.isArray(scan.groupBy)
      ? toSeriesSet(
          result,
          scan.groupBy.map(({ label }) => label),
          aggregate,
          this.deadline,
        )
      : toSeriesSetOfPairs(result, this.deadline);
  }

  #readOnce(index: number, scan: Scan): Promise<AggregateResult> {
    let result = this.#results.get(index);
    if (result === undefined) {
      result =
        scan.kind === "rows" ? this.#aggregate(index, scan, "bucket") : this.#aggregateSamples(index, scan);
      this.#results.set(index, result);
    }
    return result;
  }

  /** Aggregates rows by bucket, or over the whole range. */
  async #aggregate(index: number, scan: RowScan, width: "bucket" | "whole"): Promise<AggregateResult> {
    const { signal, steps, groupBy, aggregates } = scan;
    const fields = groupBy.map(({ field }) => field);
    const { bucketNs, ...range } = this.#range();
    const buckets = width === "bucket" ? { bucketNs } : { isRanked: true };
    const query = { ...range, ...buckets, signal, steps, groupBy: fields, aggregates };
    return this.#measure(index, (limits) => this.#store.aggregate(query, limits));
  }

  async #aggregateSamples(index: number, scan: SampleScan): Promise<AggregateResult> {
    const { metric, steps, groupBy, of, aggregate } = scan;
    const fields = Array.isArray(groupBy) ? groupBy.map(({ field }) => field) : groupBy;
    const query = { ...this.#range(), name: metric, steps, groupBy: fields, of, aggregate };
    const result = await this.#measure(index, (limits) => this.#store.aggregateSamples(query, limits));
    if (of === "increase" && result.kinds.gauge) {
      this.warnings.push(`${metric} is a gauge; its increase is taken as that of a counter`);
    }
    if (result.groups === 0 || (Array.isArray(groupBy) && isLabelMissing(result, groupBy.length))) {
      this.unknownMetrics.add(metric);
    }
    return result;
  }

  /** Runs a read with the limits that are left, and records what it scanned and how long it took. */
  async #measure<Result extends AggregateResult>(
    index: number,
    read: (limits: QueryLimits) => Promise<Result>,
  ): Promise<Result> {
    const startedAtMs = performance.now();
    const result = await read(deductElapsedTime(this.#startedAtMs, this.#limits));
    this.reads.push({ place: index, scanned: result.scanned, milliseconds: performance.now() - startedAtMs });
    addScanStatistics(this.scanned, result.scanned);
    return result;
  }

  /** The range of the query, and the limits that are left. */
  remaining(): { range: TimeRangeNs; limits: QueryLimits } {
    const { bucketNs: _, ...range } = this.#range();
    return { range, limits: deductElapsedTime(this.#startedAtMs, this.#limits) };
  }

  #range() {
    const { startMs, endMs, seconds } = this.#buckets;
    return { ...toRangeNs(startMs, endMs), bucketNs: BigInt(seconds) * 1_000_000_000n };
  }

  /**
   * Divides each point by the seconds of its bucket that are within the range. The first and the last bucket may be
   * only partly within it.
   */
  #divideBySeconds(set: SeriesSet): SeriesSet {
    const buckets = this.#buckets;
    const values = set.values.map(
      (value, i) => value / countCoveredSeconds(buckets, bucketStartMsOf(buckets, set.buckets[i]!)),
    );
    return { ...set, values };
  }
}

/**
 * Returns whether there is a label that no group has. `labels` is the number of labels: each group has as many texts.
 * An empty text means that the group lacks the label.
 */
function isLabelMissing({ groups, labels: { offsets } }: AggregateResult, labels: number): boolean {
  for (let label = 0; label < labels; label++) {
    let isFound = false;
    for (let text = label; text < groups * labels && !isFound; text += labels) {
      isFound = offsets[text + 1]! > offsets[text]!;
    }
    if (!isFound) return true;
  }
  return false;
}

/** Makes the filter that selects the rows of one series. */
function makeSeriesFilter({ groupBy }: RowScan, { labelOf }: SeriesSet, series: number): Filter {
  const of = groupBy.map(
    ({ field, label }): Filter => ({ kind: "equals", field, value: labelOf(series, label) }),
  );
  return { kind: "and", of };
}
