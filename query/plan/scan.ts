import type {
  AggregateResult,
  Aggregation,
  Field,
  RowSignal,
  SampleQuery,
  Step,
} from "../../engine/index.ts";
import type { PlanStep } from "./ordered/ordered-step.ts";

/** One read that a timeseries query makes of the store, as plain data. */
export type Scan = RowScan | SampleScan;

/** Which time range a scan reads for each bucket, where that is not the bucket itself. */
export interface ScanTimes {
  /** Reads so many seconds before the end of each bucket. Absent: the bucket. */
  windowSeconds?: number;
  /** Reads so many seconds earlier. Absent: none. */
  offsetSeconds?: number;
}

/** A label of series, and the field of rows that it comes from. */
export interface ScanLabel {
  label: string;
  field: Field;
}

/** Rows of a signal, grouped by labels and aggregated. */
export interface RowScan extends ScanTimes {
  kind: "rows";
  signal: RowSignal;
  steps: PlanStep[];
  groupBy: ScanLabel[];
  aggregates: Aggregation[];
}

/** Samples of a metric, whose series are grouped by labels and aggregated. */
export interface SampleScan extends ScanTimes {
  kind: "samples";
  metric: string;
  /** Filters on labels. */
  steps: Step[];
  /** The labels by which the series are grouped; or, in `without`, the labels that are dropped. */
  groupBy: ScanLabel[] | { without: string[] };
  of: SampleQuery["of"];
  aggregate: SampleQuery["aggregate"];
}

/**
 * The series of a plan that are read from the store: one series for each group of a scan. A scan may compute several
 * aggregations; this is the result of one of them.
 */
export interface ScanSeries {
  kind: "scan";
  /** Index of the scan in the plan. */
  scan: number;
  /** Index of the aggregation in the scan. */
  aggregate: number;
  /** True where each value is divided by the seconds of its window or bucket, to give a rate per second. */
  perSecond: boolean;
}

/**
 * The scans of one query. Equal scans are merged into one scan. So are different aggregations over the same rows and
 * groups.
 */
export class ScanList {
  readonly scans: Scan[] = [];
  /** Indexes of the scans, by the JSON of what they read. */
  readonly #indexes = new Map<string, number>();

  addRowScan(rows: Omit<RowScan, "kind" | "aggregates">, aggregate: Aggregation): ScanSeries {
    const scan = this.#findOrAdd(["rows", rows], () => ({ kind: "rows", ...rows, aggregates: [] }));
    const { aggregates } = this.scans[scan] as RowScan;
    const json = JSON.stringify(aggregate);
    const known = aggregates.findIndex((each) => JSON.stringify(each) === json);
    const index = known < 0 ? aggregates.push(aggregate) - 1 : known;
    return { kind: "scan", scan, aggregate: index, perSecond: false };
  }

  addSampleScan(scan: Omit<SampleScan, "kind">): ScanSeries {
    const index = this.#findOrAdd(["samples", scan], () => ({ kind: "samples", ...scan }));
    return { kind: "scan", scan: index, aggregate: 0, perSecond: false };
  }

  /** The index of the scan with this key. Adds the scan if it is new. */
  #findOrAdd(keyParts: unknown[], make: () => Scan): number {
    const key = JSON.stringify(keyParts);
    const index = this.#indexes.get(key) ?? this.scans.push(make()) - 1;
    this.#indexes.set(key, index);
    return index;
  }
}

/** What one scan of a plan read, and how long it took. */
export interface ScanRead {
  /** Index of the scan in the plan. */
  place: number;
  scanned: AggregateResult["scanned"];
  milliseconds: number;
}
