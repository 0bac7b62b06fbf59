import type { Aggregated, Aggregation, Field, RowSignal, SampleQuery, Step } from "../../engine/index.ts";

/** What a query reads of the store, as plain data. */
export type Scan = RowScan | SampleScan;

/** A label of series and where rows have its text. */
export interface ScanLabel {
  label: string;
  field: Field;
}

/** Rows of a signal, aggregated by labels. */
export interface RowScan {
  kind: "rows";
  signal: RowSignal;
  steps: Step[];
  groupBy: ScanLabel[];
  aggregates: Aggregation[];
}

/** Samples of a metric, aggregated over its series. */
export interface SampleScan {
  kind: "samples";
  metric: string;
  /** Conditions on labels. */
  steps: Step[];
  /** Labels that the groups keep. */
  groupBy: ScanLabel[] | { without: string[] };
  of: SampleQuery["of"];
  aggregate: SampleQuery["aggregate"];
}

/** One aggregate of one scan: a series for each of its groups. */
export interface ScanSeries {
  kind: "scan";
  /** Place in the list of scans. */
  scan: number;
  /** Place among the aggregates of the scan. */
  aggregate: number;
  /** Values are divided by the seconds of their bucket. */
  perSecond: boolean;
}

/** The scans of one query: equal ones are one, and aggregates over the same rows and groups are taken in one. */
export class ScanList {
  readonly scans: Scan[] = [];
  readonly #places = new Map<string, number>();

  addRowScan(
    { signal, steps, groupBy }: Omit<RowScan, "kind" | "aggregates">,
    aggregate: Aggregation,
  ): ScanSeries {
    const place = this.#place(["rows", signal, steps, groupBy], () => {
      return { kind: "rows", signal, steps, groupBy, aggregates: [] };
    });
    const { aggregates } = this.scans[place] as RowScan;
    const written = JSON.stringify(aggregate);
    const known = aggregates.findIndex((each) => JSON.stringify(each) === written);
    const index = known < 0 ? aggregates.push(aggregate) - 1 : known;
    return { kind: "scan", scan: place, aggregate: index, perSecond: false };
  }

  addSampleScan(scan: Omit<SampleScan, "kind">): ScanSeries {
    const place = this.#place(["samples", scan], () => ({ kind: "samples", ...scan }));
    return { kind: "scan", scan: place, aggregate: 0, perSecond: false };
  }

  #place(parts: unknown[], make: () => Scan): number {
    const key = JSON.stringify(parts);
    const place = this.#places.get(key) ?? this.scans.push(make()) - 1;
    this.#places.set(key, place);
    return place;
  }
}

/** What one scan of a plan read. */
export interface ScanRead {
  /** Place of the scan in the plan. */
  place: number;
  scanned: Aggregated["scanned"];
  milliseconds: number;
}
