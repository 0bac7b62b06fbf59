import {
  type AggregateQuery,
  type AggregateResult,
  addScanStatistics,
  emptyScanStatistics,
  Failure,
  type Filter,
  type QueryLimits,
  type SampleStatistics,
  type Store,
  toTextVector,
} from "../../engine/index.ts";
import { type FoundTimes, findRowTimes, resolveSteps } from "../ordered/resolution.ts";
import { fieldsOfAggregations } from "../plan/row-series.ts";
import type { RowScan, SampleScan, Scan, ScanRead, ScanSeries } from "../plan/scan.ts";
import type { TopSeries, WindowedSeries } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { bucketStartMsOf, countCoveredSeconds, type TimeBuckets } from "../time/buckets.ts";
import { deductElapsedTime, WorkDeadline } from "../time/deadline.ts";
import { type TimeRange, type TimeRangeNs, toRangeNs } from "../time/range.ts";
import { BucketWindows } from "../time/windows.ts";
import { selectTopSeries } from "./ranking.ts";
import { type SeriesSet, toSeriesSet, toSeriesSetOfPairs } from "./series-set.ts";
import { slideWindows } from "./sliding.ts";
import { computeBuckets, makeWindowValues, toStatisticColumns } from "./window-function.ts";
import { readEachWindow } from "./window-reads.ts";
import { joinSteps, planWindowSteps } from "./window-steps.ts";

/** The most series that the second scan of `readTopSeries` selects. Each is one more condition on every row. */
const rankedSeriesMax = 100;

/** The part of a store that timeseries queries need. */
export type SeriesStore = Pick<
  Store,
  "readColumns" | "aggregate" | "aggregateSamples" | "attributeKeys" | "metricNames" | "seriesLabels"
>;

/** Runs the scans of one query over a store. Each scan runs once, when its series are first read. */
export class ScanReader {
  /** Sentences for people about the scans read so far. */
  readonly warnings: string[] = [];
  /** One entry for each read of the store so far. */
  readonly reads: ScanRead[] = [];
  /** The sum of what `reads` scanned. */
  readonly scanned = emptyScanStatistics();
  readonly #store: SeriesStore;
  readonly #scans: readonly Scan[];
  readonly #buckets: TimeBuckets;
  readonly #limits: QueryLimits | undefined;
  readonly #startedAtMs = performance.now();
  /** The deadline of what is done with the series that were read. */
  readonly deadline: WorkDeadline;
  /** Results of the scans that were started, by index of the scan. */
  readonly #results = new Map<number, Promise<AggregateResult>>();
  /** The same of scans whose windows are read one by one. */
  readonly #windowResults = new Map<number, Promise<AggregateResult>>();
  /** Scans of metrics in which some read found series with all labels that they are grouped by, by index. */
  readonly #found = new Set<number>();
  /** Scans that read increases of counters, by index. */
  readonly #counters = new Set<number>();
  readonly #isExplained: boolean;

  /** `isExplained`: the reads count what each condition leaves of the rows. */
  constructor(
    store: SeriesStore,
    scans: readonly Scan[],
    buckets: TimeBuckets,
    limits: QueryLimits | undefined,
    isExplained: boolean,
  ) {
    this.#isExplained = isExplained;
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
    const windows = windowsOf(scan, this.#buckets);
    const set =
      windows === undefined
        ? await this.#toLabelledSeries(scan, await this.#readOnce(index, scan), aggregate)
        : await this.#readWindows(index, scan, aggregate, windows);
    return perSecond ? this.#divideBySeconds(set, windows) : set;
  }

  /** Reads one value for the window of each bucket: from the steps that windows share, or window by window. */
  async #readWindows(
    index: number,
    scan: Scan,
    aggregate: number,
    windows: BucketWindows,
  ): Promise<SeriesSet> {
    const steps = planWindowSteps(scan);
    if (steps !== undefined) {
      const result = await this.#readSteps(index, steps.scan, windows);
      // The least increase of all steps is not the least increase of the window.
      const isJoined = scan.kind === "rows" || scan.of === "increase" || !this.#counters.has(index);
      const toSeries = (values: Float64Array) =>
        this.#toLabelledSeries(scan, { ...result, points: { ...result.points, values: [values] } }, 0);
      if (isJoined) return joinSteps(steps.joins[aggregate]!, result, windows, toSeries, this.deadline);
    }
    const result = await this.#once(this.#windowResults, index, () =>
      readEachWindow(scan, windows, (range) => this.#read(index, scan, range), this.deadline),
    );
    return this.#toLabelledSeries(scan, result, aggregate);
  }

  /** Calculates a function of the samples that each series has in the window of each bucket. */
  async readWindowFunction({ scan: index, fn }: WindowedSeries): Promise<SeriesSet> {
    const scan = this.#scans[index] as SampleScan;
    const own = windowsOf(scan, this.#buckets);
    const windows = own ?? new BucketWindows(this.#buckets, {});
    const result =
      own === undefined ? await this.#readOnce(index, scan) : await this.#readSteps(index, scan, own);
    const { of } = scan.aggregate as SampleStatistics;
    const columns = await toStatisticColumns(result, of, windows.range.startMs, this.deadline);
    const values = makeWindowValues(fn, columns, windows);
    if (own === undefined) return computeBuckets(columns, values);
    return slideWindows(columns.set, own, values, this.deadline);
  }

  #readSteps(index: number, scan: Scan, { range, stepMs }: BucketWindows): Promise<AggregateResult> {
    return this.#once(this.#results, index, () => this.#read(index, scan, range, stepMs));
  }

  #once(
    results: Map<number, Promise<AggregateResult>>,
    index: number,
    read: () => Promise<AggregateResult>,
  ): Promise<AggregateResult> {
    const result = results.get(index) ?? read();
    results.set(index, result);
    return result;
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
    if (windowsOf(scan, this.#buckets) !== undefined) return undefined;
    try {
      await this.#readOnce(of.scan, scan);
      return undefined;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "limit") throw error;
      const whole = await this.#aggregate(of.scan, scan, this.#buckets, { isRanked: true });
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
      const result = await this.#read(of.scan, narrowed, this.#buckets, this.#buckets.seconds * 1000);
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
    const widthMs = this.#buckets.seconds * 1000;
    return this.#once(this.#results, index, () => this.#read(index, scan, this.#buckets, widthMs));
  }

  /** Aggregates a scan over a range: in buckets of so many milliseconds, or without them as a whole. */
  #read(index: number, scan: Scan, range: TimeRange, bucketMs?: number): Promise<AggregateResult> {
    const buckets = bucketMs === undefined ? {} : { bucketNs: BigInt(bucketMs) * 1_000_000n };
    return scan.kind === "rows"
      ? this.#aggregate(index, scan, range, buckets)
      : this.#aggregateSamples(index, scan, range, buckets);
  }

  async #aggregate(
    index: number,
    scan: RowScan,
    { startMs, endMs }: TimeRange,
    buckets: Pick<AggregateQuery, "bucketNs" | "isRanked">,
  ): Promise<AggregateResult> {
    const { signal, groupBy, aggregates } = scan;
    const fields = groupBy.map(({ field }) => field);
    const range = { ...toRangeNs(startMs, endMs), signal };
    return this.#measure(index, async (limits) => {
      const startedAtMs = performance.now();
      const read = [...fields, ...fieldsOfAggregations(aggregates)];
      const rows = { ...range, steps: scan.steps };
      if (fields.length === 0 && aggregates.every(({ op }) => op === "count")) {
        const found = await findRowTimes(this.#store, rows, limits);
        if (found !== undefined) return countTimes(found, range.fromNs, buckets.bucketNs, aggregates.length);
      }
      const { steps, isOrdered, scanned } = await resolveSteps(this.#store, rows, limits, { fields: read });
      const selection = { ...range, steps, isExplained: this.#isExplained && !isOrdered };
      const query = { ...selection, ...buckets, groupBy: fields, aggregates };
      const result = await this.#store.aggregate(query, deductElapsedTime(startedAtMs, limits));
      addScanStatistics(result.scanned, scanned);
      return result;
    });
  }

  async #aggregateSamples(
    index: number,
    scan: SampleScan,
    { startMs, endMs }: TimeRange,
    buckets: Pick<AggregateQuery, "bucketNs">,
  ): Promise<AggregateResult> {
    const { metric, steps, groupBy, of, aggregate } = scan;
    const fields = Array.isArray(groupBy) ? groupBy.map(({ field }) => field) : groupBy;
    const range = { ...toRangeNs(startMs, endMs), ...buckets };
    const query = { ...range, name: metric, steps, groupBy: fields, of, aggregate };
    const result = await this.#measure(index, (limits) => this.#store.aggregateSamples(query, limits));
    if (of === "increase" && result.kinds.gauge) {
      this.#warnOnce(`${metric} is a gauge; its increase is taken as that of a counter`);
    }
    if (result.kinds.counter) this.#counters.add(index);
    const isFound = result.groups > 0 && !(Array.isArray(groupBy) && isLabelMissing(result, groupBy.length));
    if (isFound) this.#found.add(index);
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

  /**
   * Metrics without any series in the range, and metrics of which no series has one of the labels that they are grouped
   * by.
   */
  get unknownMetrics(): Set<string> {
    const isRead = (index: number) => this.#results.has(index) || this.#windowResults.has(index);
    const metrics = this.#scans.map((scan, index) => {
      return scan.kind === "samples" && isRead(index) && !this.#found.has(index) ? [scan.metric] : [];
    });
    return new Set(metrics.flat());
  }

  #warnOnce(warning: string): void {
    if (!this.warnings.includes(warning)) this.warnings.push(warning);
  }

  /** The range that the query reads, and the limits that are left. */
  remaining(): { range: TimeRangeNs; limits: QueryLimits } {
    const ranges = this.#scans.map((scan) => windowsOf(scan, this.#buckets)?.range ?? this.#buckets);
    const startMs = Math.min(...ranges.map((range) => range.startMs));
    const endMs = Math.max(...ranges.map((range) => range.endMs));
    return {
      range: toRangeNs(startMs, endMs),
      limits: deductElapsedTime(this.#startedAtMs, this.#limits),
    };
  }

  /**
   * Divides each point by the seconds of its window, or of its bucket. Of the first and the last bucket only those count
   * that are within the range.
   */
  #divideBySeconds(set: SeriesSet, windows: BucketWindows | undefined): SeriesSet {
    const buckets = this.#buckets;
    const secondsOf = (bucket: number) => {
      if (windows === undefined) return countCoveredSeconds(buckets, bucketStartMsOf(buckets, bucket));
      const { fromMs, toMs } = windows.windowOf(bucket);
      return (toMs - fromMs) / 1000;
    };
    return { ...set, values: set.values.map((value, i) => value / secondsOf(set.buckets[i]!)) };
  }
}

/** Counts rows by bucket, by their times, which ascend: one group without labels, as the store counts them. */
function countTimes(
  { timeNs, scanned }: FoundTimes,
  fromNs: bigint,
  bucketNs: bigint | undefined,
  aggregates: number,
): AggregateResult {
  const offsetNs = bucketNs === undefined ? 0 : Number(fromNs % bucketNs);
  const widthNs = bucketNs === undefined ? Number.POSITIVE_INFINITY : Number(bucketNs);
  const buckets: number[] = [];
  const counts: number[] = [];
  for (const time of timeNs) {
    const bucket = Math.floor((offsetNs + time) / widthNs);
    if (buckets.at(-1) !== bucket) {
      buckets.push(bucket);
      counts.push(0);
    }
    counts[counts.length - 1]!++;
  }
  return {
    groups: buckets.length === 0 ? 0 : 1,
    labels: toTextVector([]),
    points: {
      groups: new Uint32Array(buckets.length),
      buckets: Float64Array.from(buckets),
      values: Array.from({ length: aggregates }, () => Float64Array.from(counts)),
    },
    scanned,
  };
}

/** The windows that a scan reads; undefined where they are the buckets. */
function windowsOf(scan: Scan, buckets: TimeBuckets): BucketWindows | undefined {
  if (scan.windowSeconds === undefined && scan.offsetSeconds === undefined) return undefined;
  return new BucketWindows(buckets, scan);
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
