/** The queries of widgets: a few at a time, with the values of the dashboard's variables. */

import type { FoundSeries, LogPage } from "../api/answers.ts";
import { ask } from "../api/client.ts";
import { type ChartSeries, seriesOf } from "../charts/chart-series.ts";
import { quoteText } from "../query/quoted-text.ts";
import type { ResolvedRange } from "../time/range.ts";
import type { WidgetContent } from "./answers.ts";

/** What all queries of a dashboard share. */
export interface QueryScope extends ResolvedRange {
  variables: Readonly<Record<string, string>>;
}

const runningMax = 6;
let running = 0;
const waiting: (() => void)[] = [];

/** Runs a request as soon as fewer than six are on their way. */
async function inTurn<T>(request: () => Promise<T>): Promise<T> {
  if (running >= runningMax) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await request();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

/** Series of all queries of a widget together. */
export interface WidgetSeries {
  series: ChartSeries[];
  bucketMs: number;
  scope: QueryScope;
  warnings: string[];
}

export async function loadSeries(
  { expression }: WidgetContent,
  scope: QueryScope,
  signal: AbortSignal,
): Promise<WidgetSeries> {
  const queries = expression?.svcQLQueries ?? [];
  const answers = await Promise.all(
    queries.map(({ query, bucketSize }) =>
      inTurn(() =>
        ask<FoundSeries>("/api/v1/query/timeseries", {
          body: { query, ...scope, ...(bucketSize === undefined ? {} : { bucketSize }) },
          signal,
        }),
      ),
    ),
  );
  const series = answers.flatMap((answer, i) => {
    const found = seriesOf(answer, queries[i]!.query);
    // Series of several queries may have the same labels.
    if (queries.length === 1 || found.length === 1) return found;
    return found.map((each) => ({ ...each, name: `${String.fromCharCode(65 + i)}: ${each.name}` }));
  });
  return {
    series,
    bucketMs: Math.min(...answers.map(({ bucketSize }) => bucketSize * 1_000)),
    scope,
    warnings: answers.flatMap(({ warnings = [] }) => warnings),
  };
}

const rowsShown = 100;

export function loadRows(
  { expression }: WidgetContent,
  scope: QueryScope,
  signal: AbortSignal,
): Promise<LogPage> {
  const query = expression?.svcQLQueries?.[0]?.query ?? "";
  return inTurn(() =>
    ask<LogPage>("/api/v1/query/logs", { body: { query, ...scope, limit: rowsShown }, signal }),
  );
}

interface SpanLine {
  traceId: string;
  spanId: string;
  name: string;
  startTimeUnixNano: string;
  durationMs?: number;
  statusCode?: string;
  attributes: Record<string, string>;
}

export function loadSpans(
  { expression }: WidgetContent,
  scope: QueryScope,
  signal: AbortSignal,
): Promise<{ spans: SpanLine[] }> {
  const query = expression?.svcQLQueries?.[0]?.query ?? "";
  return inTurn(() => ask("/api/v1/query/traces", { body: { query, ...scope, limit: rowsShown }, signal }));
}

/** The values that a variable may take, as far as the server knows them. */
export async function loadChoices(
  variable: {
    query?: string;
    selectorSettings?: { metricName?: string; attribute?: string };
    values?: string[];
  },
  scope: QueryScope,
  signal: AbortSignal,
): Promise<string[]> {
  const { query, selectorSettings, values } = variable;
  if (query !== undefined && query !== "") {
    const { series } = await inTurn(() =>
      ask<FoundSeries>("/api/v1/query/timeseries", { body: { query, ...scope }, signal }),
    );
    return [...new Set(series.flatMap(({ labels }) => Object.values(labels)))].sort();
  }
  const { attribute, metricName = "logs" } = selectorSettings ?? {};
  if (attribute === undefined) return values ?? [];
  const isSignal = ["logs", "traces", "profiles", "kubernetes_resources"].includes(metricName);
  const { startTime, endTime } = scope;
  const body = {
    ...{ startTime, endTime, field: attribute, limit: 1_000 },
    ...(isSignal ? { signal: metricName } : { signal: "metrics", query: `{${quoteText(metricName)}}` }),
  };
  const found = await inTurn(() =>
    ask<{ values: { value: string }[] }>("/api/v1/query/values", { body, signal }),
  );
  return found.values.map(({ value }) => value).sort();
}
