import {
  type Aggregated,
  addScanned,
  Failure,
  type Filter,
  nothingScanned,
  type QueryLimits,
  type Store,
} from "../../engine/index.ts";
import type { RowScan, SampleScan, Scan, ScanRead, ScanSeries } from "../plan/scan.ts";
import type { TopSeries } from "../plan/series-plan.ts";
import { simplifySteps } from "../plan/simplification.ts";
import { bucketStartMsOf, countCoveredSeconds, type TimeBuckets } from "../time/buckets.ts";
import { deductElapsedTime } from "../time/deadline.ts";
import { toRangeNs } from "../time/range.ts";
import { selectTopSeries } from "./ranking.ts";
import { type SeriesSet, toSeriesSet, toSeriesSetOfPairs } from "./series-set.ts";

/** Series that a second scan can be narrowed to: each is a condition on every row. */
const rankedSeriesMax = 100;

/** The part of a store that timeseries need. */
export type SeriesStore = Pick<
  Store,
  "aggregate" | "aggregateSamples" | "attributeKeys" | "metricNames" | "seriesLabels"
>;

/** The scans of one query over a store: each is run once, when it is first asked for. */
export class ScanReader {
  readonly warnings: string[] = [];
  readonly reads: ScanRead[] = [];
  readonly scanned = nothingScanned();
  /** Metrics that no series was found of, or none that has a label by which it is grouped. */
  readonly unknownMetrics = new Set<string>();
  readonly #store: SeriesStore;
  readonly #scans: readonly Scan[];
  readonly #buckets: TimeBuckets;
  readonly #limits: QueryLimits | undefined;
  readonly #begunMs = performance.now();
  readonly #answers = new Map<number, Promise<Aggregated>>();

  constructor(
    store: SeriesStore,
    scans: readonly Scan[],
    buckets: TimeBuckets,
    limits: QueryLimits | undefined,
  ) {
    this.#store = store;
    this.#scans = scans;
    this.#buckets = buckets;
    this.#limits = limits;
  }

  /** One aggregate of one scan. Throws what the store throws. */
  async readSeries({ scan: place, aggregate, perSecond }: ScanSeries): Promise<SeriesSet> {
    const scan = this.#scans[place]!;
    const set = toLabelledSeries(scan, await this.#answer(place, scan), aggregate);
    return perSecond ? this.#dividedBySeconds(set) : set;
  }

  /**
   * The greatest or least series of a scan that has more groups or points than a query may: ranked by their rows in the whole range, which is the
   * sum of their points, and then only those that are kept are counted bucket by bucket. Undefined where there is no such need.
   */
  async readTopSeries(plan: TopSeries): Promise<SeriesSet | undefined> {
    const { of } = plan;
    if (of.kind !== "scan" || of.perSecond) return undefined;
    const scan = this.#scans[of.scan]!;
    if (scan.kind !== "rows" || scan.aggregates[of.aggregate]!.op !== "count") return undefined;
    try {
      await this.#answer(of.scan, scan);
      return undefined;
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== "limit") throw error;
      const whole = await this.#aggregate(of.scan, scan, "whole");
      const ranked = selectTopSeries(plan, toLabelledSeries(scan, whole, of.aggregate));
      if (ranked.order.length > rankedSeriesMax) throw error;
      const kept: Filter = {
        kind: "or",
        of: Array.from(ranked.order, (series) => makeSeriesFilter(scan, ranked, series)),
      };
      const steps = simplifySteps([...scan.steps, { kind: "filter", filter: kept }]);
      const narrowed = { ...scan, steps };
      return selectTopSeries(
        plan,
        toLabelledSeries(narrowed, await this.#aggregate(of.scan, narrowed, "bucket"), of.aggregate),
      );
    }
  }

  #answer(place: number, scan: Scan): Promise<Aggregated> {
    let answer = this.#answers.get(place);
    if (answer === undefined) {
      answer =
        scan.kind === "rows" ? this.#aggregate(place, scan, "bucket") : this.#aggregateSamples(place, scan);
      this.#answers.set(place, answer);
    }
    return answer;
  }

  async #aggregate(place: number, scan: RowScan, width: "bucket" | "whole"): Promise<Aggregated> {
    const { signal, steps, groupBy, aggregates } = scan;
    const fields = groupBy.map(({ field }) => field);
    const { bucketNs, ...range } = this.#range();
    return this.#timed(place, (limits) =>
      this.#store.aggregate(
        {
          ...range,
          ...(width === "bucket" ? { bucketNs } : { isRanked: true }),
          signal,
          steps,
          groupBy: fields,
          aggregates,
        },
        limits,
      ),
    );
  }

  async #aggregateSamples(place: number, scan: SampleScan): Promise<Aggregated> {
    const { metric, steps, groupBy, of, aggregate } = scan;
    const fields = Array.isArray(groupBy) ? groupBy.map(({ field }) => field) : groupBy;
    const query = { ...this.#range(), name: metric, steps, groupBy: fields, of, aggregate };
    const answer = await this.#timed(place, (limits) => this.#store.aggregateSamples(query, limits));
    if (of === "increase" && answer.kinds.gauge) {
      this.warnings.push(`${metric} is a gauge; its increase is taken as that of a counter`);
    }
    if (answer.groups === 0 || (Array.isArray(groupBy) && isLabelMissing(answer, groupBy.length))) {
      this.unknownMetrics.add(metric);
    }
    return answer;
  }

  async #timed<Answer extends Aggregated>(
    place: number,
    read: (limits: QueryLimits) => Promise<Answer>,
  ): Promise<Answer> {
    const begunMs = performance.now();
    const answer = await read(deductElapsedTime(this.#begunMs, this.#limits));
    this.reads.push({ place, scanned: answer.scanned, milliseconds: performance.now() - begunMs });
    addScanned(this.scanned, answer.scanned);
    return answer;
  }

  /** The range of the query, and what is left of its limits. */
  remaining(): { range: { fromNs: bigint; toNs: bigint }; limits: QueryLimits } {
    const { bucketNs: _, ...range } = this.#range();
    return { range, limits: deductElapsedTime(this.#begunMs, this.#limits) };
  }

  #range() {
    const { startMs, endMs, seconds } = this.#buckets;
    return { ...toRangeNs(startMs, endMs), bucketNs: BigInt(seconds) * 1_000_000_000n };
  }

  #dividedBySeconds(set: SeriesSet): SeriesSet {
    const buckets = this.#buckets;
    const values = set.values.map(
      (value, i) => value / countCoveredSeconds(buckets, bucketStartMsOf(buckets, set.buckets[i]!)),
    );
    return { ...set, values };
  }
}

function toLabelledSeries(scan: Scan, answer: Aggregated, aggregate: number): SeriesSet {
  if (!Array.isArray(scan.groupBy)) return toSeriesSetOfPairs(answer);
  const names = scan.groupBy.map(({ label }) => label);
  return toSeriesSet(answer, names, aggregate);
}

/** Whether all groups have the empty text in the place of one of their labels. */
function isLabelMissing({ groups, labels: { offsets } }: Aggregated, labels: number): boolean {
  for (let label = 0; label < labels; label++) {
    let isBorne = false;
    for (let text = label; text < groups * labels && !isBorne; text += labels) {
      isBorne = offsets[text + 1]! > offsets[text]!;
    }
    if (!isBorne) return true;
  }
  return false;
}

/** The rows of one series. */
function makeSeriesFilter({ groupBy }: RowScan, { labelOf }: SeriesSet, series: number): Filter {
  const of = groupBy.map(({ field }, i): Filter => ({ kind: "equals", field, value: labelOf(series, i) }));
  return { kind: "and", of };
}
