/** Aggregations over rows. */
import type { Random } from "../../../fixtures/random.ts";
import type { StagedRow } from "./row.ts";
import { findRows, type Selector } from "./selector.ts";
import {
  type Evaluation,
  type Grouping,
  keepLabels,
  keyOf,
  makeSeries,
  type SeriesExpression,
  type SeriesSet,
  type Span,
  type Statistic,
  spanOf,
  summarize,
  type Timing,
} from "./series.ts";
import { printDuration, printLabel, readNumber } from "./text.ts";

export type RowAggregation =
  | { op: "count" | "rate" | "count_over_time" }
  | { op: Exclude<Statistic, "count">; field: string }
  | { op: "quantile"; q: number; field: string }
  | { op: "count_distinct"; field: string }
  | { op: "trace_duration_quantile"; q: number };

export function printTiming({ windowMs, offsetMs }: Timing, random: Random): string {
  const window = windowMs === undefined ? "" : `[${printDuration(windowMs, random)}]`;
  return window + (offsetMs === 0 ? "" : ` offset ${printDuration(offsetMs, random)}`);
}

/** Puts the grouping before or after the brackets. */
export function printAggregate(
  op: string,
  inner: string,
  grouping: Grouping | undefined,
  random: Random,
): string {
  if (grouping === undefined) return `${op}(${inner})`;
  const by = `${grouping.word} (${grouping.labels.map((label) => printLabel(label, random)).join(", ")})`;
  return random.oneIn(3) ? `${op} ${by} (${inner})` : `${op}(${inner}) ${by}`;
}

export function aggregateRows(
  aggregation: RowAggregation,
  selector: Selector,
  timing: Timing,
  by: readonly string[] | undefined,
  random: Random,
): SeriesExpression {
  const rows = selector.text + printTiming(timing, random);
  const grouping: Grouping | undefined = by === undefined ? undefined : { word: "by", labels: by };
  const text = printRowAggregation(aggregation, rows, grouping, random);
  const evaluate = (asked: Evaluation): SeriesSet => {
    const found = findRows(selector, asked);
    const groups = new Map<string, { labels: Record<string, string>; rows: StagedRow[] }>();
    for (const row of found) {
      const labels = keepLabels(by ?? [], (name) => row.readGrouped(name));
      const group = groups.get(keyOf(labels));
      if (group === undefined) groups.set(keyOf(labels), { labels, rows: [row] });
      else group.rows.push(row);
    }
    const series = [...groups.values()].map((group) =>
      makeSeries(group.labels, asked.buckets, (bucket) => {
        const span = spanOf(bucket, timing);
        const inSpan = group.rows.filter(({ timeMs }) => timeMs >= span.fromMs && timeMs < span.toMs);
        return inSpan.length === 0 ? undefined : calculate(aggregation, inSpan, span);
      }),
    );
    return { series: series.filter(({ points }) => points.size > 0), isOrdered: false };
  };
  const forms = [`${aggregation.op} of rows`, ...selector.forms, ...timingForms(timing)];
  return { text, forms, binding: 9, isUnlabelled: by === undefined, evaluate };
}

export function timingForms({ windowMs, offsetMs }: Timing): string[] {
  return [...(windowMs === undefined ? [] : ["window"]), ...(offsetMs === 0 ? [] : ["offset"])];
}

function printRowAggregation(
  aggregation: RowAggregation,
  rows: string,
  grouping: Grouping | undefined,
  random: Random,
): string {
  switch (aggregation.op) {
    case "rate":
      return printAggregate("sum", `rate(${rows})`, grouping, random);
    case "count_over_time":
      return printAggregate("sum", `count_over_time(${rows})`, grouping, random);
    case "count":
      return printAggregate("count", rows, grouping, random);
    case "quantile":
      return printAggregate(
        "quantile",
        `${aggregation.q}, ${printLabel(aggregation.field, random)}, ${rows}`,
        grouping,
        random,
      );
    case "trace_duration_quantile":
      return printAggregate("trace_duration_quantile", `${aggregation.q}, ${rows}`, grouping, random);
    default:
      return printAggregate(
        aggregation.op,
        `${printLabel(aggregation.field, random)}, ${rows}`,
        grouping,
        random,
      );
  }
}

function calculate(aggregation: RowAggregation, rows: readonly StagedRow[], span: Span): number | undefined {
  const numbers = (field: string) =>
    rows.flatMap((row) => {
      const number = readNumber(row.readLabel(field) ?? "");
      return number === undefined ? [] : [number];
    });
  switch (aggregation.op) {
    case "count":
    case "count_over_time":
      return rows.length;
    case "rate":
      return rows.length / span.seconds;
    case "count_distinct": {
      const texts = new Set(rows.map((row) => row.readGrouped(aggregation.field)));
      texts.delete("");
      return texts.size;
    }
    case "quantile":
      return summarize({ q: aggregation.q }, numbers(aggregation.field));
    case "trace_duration_quantile":
      return summarize({ q: aggregation.q }, numbers("duration_ms"));
    default:
      return summarize(aggregation.op, numbers(aggregation.field));
  }
}
