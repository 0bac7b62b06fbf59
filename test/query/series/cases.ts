/** Reads worked examples from the files in cases/: data sets, queries over them, and the expected series. */
import { readdirSync, readFileSync } from "node:fs";
import type { RowSignal } from "../../../engine/index.ts";
import type { BucketedRange, ErrorKind, NaiveRow, NaiveSample, TelemetryData } from "./naive/data.ts";

/** The time to which seconds in the files are relative: a whole number of hours since the epoch. */
export const baseMs = Date.UTC(2025, 2, 3, 23);

interface WrittenData {
  /** Seconds between two values of `series`. */
  step?: number;
  /** Values by series in promqltest's notation: `0+10x3` is `0 10 20 30`, `5x2` is `5 5 5`, `_` is a missing value. */
  series?: Record<string, string>;
  /** Types by metric. A metric that is not listed has the type `unknown`. */
  types?: Record<string, NaiveSample["type"]>;
  /** Seconds, name, labels and value, in the order of arrival. */
  samples?: [number, string, Record<string, string>, number | string][];
  /** Seconds, level, message and attributes. */
  rows?: Partial<Record<RowSignal, [number, string, string, Record<string, string>][]>>;
}

interface WrittenCase {
  query: string;
  load: string;
  /** Seconds; the end is exclusive. */
  range: [start: number, end: number];
  bucket: number;
  /** The series: labels, and values by the start of the bucket in seconds. Or the reason why the query is refused. */
  expect: [Record<string, string>, Record<string, number>][] | ErrorKind;
  /** True where the order of the series is checked too. */
  ordered?: boolean;
  from?: string;
  note?: string;
}

export interface TimeseriesCase {
  query: string;
  data: TelemetryData;
  range: BucketedRange;
  expect: { labels: Record<string, string>; points: [number, number][] }[] | ErrorKind;
  isOrdered: boolean;
}

/** The cases of all files whose names begin with the prefix. */
export function readCases(prefix: string): TimeseriesCase[] {
  const folder = new URL("./cases/", import.meta.url);
  const files = readdirSync(folder).filter((file) => file.startsWith(prefix) && file.endsWith(".json"));
  return files.flatMap((file) => {
    const { loads, cases } = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as {
      loads: Record<string, WrittenData>;
      cases: WrittenCase[];
    };
    const data = Object.fromEntries(Object.entries(loads).map(([name, load]) => [name, dataOf(load)]));
    return cases.map((each) => caseOf(each, data[each.load]!));
  });
}

function caseOf(
  { query, range: [start, end], bucket, expect, ordered }: WrittenCase,
  data: TelemetryData,
): TimeseriesCase {
  const startMs = baseMs + Math.round(start * 1000);
  const range = { startMs, endMs: baseMs + Math.round(end * 1000) - 1, bucketSeconds: bucket };
  if (typeof expect === "string") return { query, data, range, expect, isOrdered: false };
  const series = expect.map(([labels, points]) => ({
    labels,
    points: Object.entries(points)
      .map(([second, value]): [number, number] => [baseMs + Number(second) * 1000, value])
      .sort(([a], [b]) => a - b),
  }));
  return { query, data, range, expect: series, isOrdered: ordered ?? false };
}

function dataOf({ step = 60, series = {}, types = {}, samples = [], rows = {} }: WrittenData): TelemetryData {
  const all = [
    ...Object.entries(series).flatMap(([name, values]) => expandSeries(name, values, step)),
    ...samples.map(([second, name, labels, value]) => ({ second, name, labels, value: Number(value) })),
  ];
  return {
    rows: Object.fromEntries(
      Object.entries(rows).map(([signal, listed]): [string, NaiveRow[]] => [signal, listed.map(rowOf)]),
    ),
    samples: all.map(({ second, name, labels, value }, arrival) => ({
      timeNs: nsOf(second),
      name,
      type: types[name] ?? "unknown",
      labels,
      value,
      arrival,
    })),
  };
}

function rowOf([second, level, message, attributes]: [
  number,
  string,
  string,
  Record<string, string>,
]): NaiveRow {
  return { timeNs: nsOf(second), level, message, attributes };
}

function nsOf(second: number): bigint {
  return BigInt(baseMs + Math.round(second * 1000)) * 1_000_000n;
}

function expandSeries(written: string, values: string, step: number) {
  const [, name = "", braces = ""] = /^([^{]*)(?:\{(.*)\})?$/.exec(written)!;
  const labels = Object.fromEntries(
    [...braces.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label, text]) => [label!, text!]),
  );
  return parseValues(values).flatMap((value, index) =>
    value === undefined ? [] : [{ second: index * step, name, labels, value }],
  );
}

function parseValues(values: string): (number | undefined)[] {
  return values.split(" ").flatMap((written) => {
    if (written === "_") return [undefined];
    const [, first, by = "0", times = "0"] = /^(-?[\w.]+?)(?:([+-][\d.]+))?(?:x(\d+))?$/.exec(written)!;
    return Array.from({ length: Number(times) + 1 }, (_, index) => Number(first) + index * Number(by));
  });
}
