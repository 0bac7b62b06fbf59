/** Asks a question of the product and of the oracle, and compares the whole answers. */
import type { Store } from "../../../engine/index.ts";
import {
  QueryError,
  queryTimeseries,
  type Series,
  type Span,
  searchLogs,
  searchSpans,
} from "../../../query/index.ts";
import type { OracleData } from "./dataset.ts";
import { Refusal } from "./operator.ts";
import type { StagedRow } from "./row.ts";
import { findRows, isInRange, newestFirst, type Selector, shownAttributes } from "./selector.ts";
import { keyOf, listBuckets, type OracleSeries, type SeriesExpression, Undecided } from "./series.ts";

export interface AskedRange {
  startMs: number;
  endMs: number;
}

/** What differs, or nothing; `undecided` where the answer depends on the errors of floats. */
export type Difference = string | undefined;

export const undecided = "undecided";

export interface RowQuestion extends AskedRange {
  /** The text that is asked. */
  query: string;
  source: "logs" | "traces";
  forms: readonly string[];
  /** What the product returns at once; further pages are asked for with the cursor. */
  limit: number;
  find(data: OracleData): StagedRow[];
}

export function searchFor(selector: Selector, range: AskedRange, limit: number): RowQuestion {
  const find = (data: OracleData) => {
    const asked = { rows: data.rows, ...range };
    return findRows(selector, asked).filter((row) => isInRange(row, asked));
  };
  const { text: query, source, forms } = selector;
  return { query, source, forms, ...range, limit, find };
}

export async function compareRows(
  store: Store,
  data: OracleData,
  question: RowQuestion,
): Promise<Difference> {
  const expected = newestFirst(question.find(data)).map((row) => print(showRow(row, question.query)));
  let found: string[];
  try {
    found = (await readAll(store, question)).map(print);
  } catch (error) {
    if (error instanceof QueryError) return `refused: ${error.message}`;
    throw error;
  }
  for (let i = 0; i < Math.max(expected.length, found.length); i++) {
    if (expected[i] === found[i]) continue;
    return `row ${i} of ${expected.length} expected, ${found.length} found\n  expected ${expected[i]}\n  found    ${found[i]}`;
  }
  return undefined;
}

interface ShownRow {
  timeNs: bigint;
  level: string;
  message: string;
  attributes: Record<string, string>;
}

const print = ({ timeNs, level, message, attributes }: ShownRow) =>
  `${timeNs} ${JSON.stringify([level, message, Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))])}`;

function showRow(row: StagedRow, query: string): ShownRow {
  const { timeNs, level } = row.stored;
  const { ...attributes } = shownAttributes(row, query);
  // A span as it is returned always has a name, if need be the empty text.
  if (row.source === "traces") attributes.name ??= "";
  return { timeNs, level, message: row.message, attributes };
}

/** All pages of the answer. A span is compared by what it was stored with. */
async function readAll(
  store: Store,
  { query, source, startMs, endMs, limit }: RowQuestion,
): Promise<ShownRow[]> {
  const rows: ShownRow[] = [];
  let cursor: string | undefined;
  do {
    const page = { query, startMs, endMs, limit, ...(cursor === undefined ? {} : { cursor }) };
    if (source === "logs") {
      const found = await searchLogs(store, page);
      rows.push(...found.rows);
      cursor = found.cursor;
    } else {
      const found = await searchSpans(store, page);
      rows.push(...found.spans.map(toShownRow));
      cursor = found.cursor;
    }
  } while (cursor !== undefined);
  return rows;
}

function toShownRow(span: Span): ShownRow {
  const { kind, statusCode, statusMessage, durationMs } = span;
  const labels: Record<string, string | undefined> = {
    ...{ trace_id: span.traceId, span_id: span.spanId, parent_span_id: span.parentSpanId || undefined },
    ...{ name: span.name, kind, status_code: statusCode, status_message: statusMessage },
    duration_ms: durationMs === undefined ? undefined : String(durationMs),
  };
  const own = Object.entries(labels).flatMap(([name, text]): [string, string][] =>
    text === undefined ? [] : [[name, text]],
  );
  return {
    timeNs: span.startNs,
    level: "",
    message: "",
    attributes: { ...span.attributes, ...Object.fromEntries(own) },
  };
}

export interface SeriesQuestion extends AskedRange {
  expression: SeriesExpression;
  bucketSeconds: number;
}

export async function compareSeries(
  store: Store,
  data: OracleData,
  question: SeriesQuestion,
): Promise<Difference> {
  const { expression, startMs, endMs, bucketSeconds } = question;
  const buckets = listBuckets(startMs, endMs, bucketSeconds * 1000);
  let expected: OracleSeries[] | Refusal;
  let isOrdered = false;
  try {
    const value = expression.evaluate({ ...data, startMs, endMs, bucketMs: bucketSeconds * 1000, buckets });
    if (typeof value === "number") throw new Error(`${expression.text} has no series`);
    expected = value.series;
    isOrdered = value.isOrdered;
  } catch (error) {
    if (error instanceof Undecided) return undecided;
    if (!(error instanceof Refusal)) throw error;
    expected = error;
  }
  try {
    const { series } = await queryTimeseries(store, {
      query: expression.text,
      startMs,
      endMs,
      bucketSeconds,
    });
    if (expected instanceof Refusal)
      return `expected a refusal (${expected.message}), found ${series.length} series`;
    return differenceOf(expected, series, isOrdered);
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return expected instanceof Refusal ? undefined : `refused: ${error.message}`;
  }
}

function differenceOf(
  expected: readonly OracleSeries[],
  found: readonly Series[],
  isOrdered: boolean,
): Difference {
  const foundByKey = new Map(found.map((series) => [keyOf(series.labels), series]));
  const keys = expected.map(({ labels }) => keyOf(labels));
  for (const [i, { labels, points }] of expected.entries()) {
    const own = foundByKey.get(keys[i]!);
    if (own === undefined) return `the series ${keys[i]} is missing: ${[...points].slice(0, 5).join(" ")}`;
    const theirs = new Map(own.points);
    for (const ms of new Set([...points.keys(), ...theirs.keys()])) {
      const [wanted, value] = [points.get(ms), theirs.get(ms)];
      if (wanted !== undefined && value !== undefined && isClose(wanted, value)) continue;
      return `at ${ms} ${JSON.stringify(labels)} is ${value}, expected ${wanted}`;
    }
  }
  const extra = found.find(({ labels }) => !keys.includes(keyOf(labels)));
  if (extra !== undefined) return `the series ${JSON.stringify(extra)} is too many`;
  const order = found.map(({ labels }) => keyOf(labels));
  if (isOrdered && order.join("\n") !== keys.join("\n"))
    return `order\n  expected ${keys.join(" ")}\n  found    ${order.join(" ")}`;
  return undefined;
}

/** To nine digits; differences of large numbers may leave that much of them. */
function isClose(a: number, b: number): boolean {
  return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
}
