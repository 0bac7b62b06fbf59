/** Valid bodies of every search, which tests change, and texts of svcQL. */
import fc from "fast-check";
import { arbitraryQuery } from "../../query/series/arbitrary-queries.ts";

/** Texts that select logs. */
export const logQueries = [
  "",
  "error timeout",
  '"a phrase" or -refused level:error',
  '{service="shop", log_level=~"ERR.*"} |= "x" != "y"',
  'logs{a!="b"} |~ "(?i)time[a-z]+" | json | status >= 500 and path!="/"',
  'logs | logfmt | took > 1.5 or b.c = "d"',
  'logs | pattern "<ip> - <_> [<at>]" | ip = "1.2.3.4"',
  'logs | regexp "(?P<a>[a-z]+)=(?P<b>\\\\d+)" | b < 7',
  'logs{} |= `raw \\ text` !~ i"X"',
];

export const traceQueries = [
  'traces{service.name="shop"} | duration_ms > 100',
  'traces{status_code="error", http.status=~"5.."}',
  "traces",
];

const fixedSeries = [
  "count(logs)",
  'topk(5, sum(rate(http_requests_total{code=~"5.."})) by (service)) by (service) * 100',
  "histogram_quantile(0.99, sum(increase(h_bucket)) by (le, service)) default 0",
  'quantile(0.9, ms, logs | json) by (service) and count(logs{a="b"}) by (service) > 3',
  "(count(logs) by (a) or count(traces) by (a)) unless on (a) count(logs) by (a) >= bool 2",
  "-avg(m) without (pod) ^ 2 % 7 / ignoring (x) sum(m)",
];

/** Texts of series over time; the same for the same seed. */
function listSeriesQueries(seed: number): string[] {
  return [...fixedSeries, ...fc.sample(arbitraryQuery, { seed, numRuns: 200 })];
}

const range = { startTime: 0, endTime: Date.now() + 60_000 };

/** A search: its path below `/api/v1/query/`, the body without the query, and the queries that it takes. */
export interface ValidSearch {
  path: string;
  body: Record<string, unknown>;
  queries: readonly string[];
}

export function listValidSearches(seed: number): ValidSearch[] {
  const series = listSeriesQueries(seed);
  return [
    { path: "logs", body: { ...range, limit: 20, explain: true }, queries: logQueries },
    { path: "traces", body: { ...range, limit: 20, cursor: null }, queries: traceQueries },
    {
      path: "histogram",
      body: { ...range, bucketSize: 3_600 * 24 * 400, signal: "logs" },
      queries: logQueries,
    },
    { path: "patterns", body: { ...range, limit: 5 }, queries: logQueries },
    { path: "timeseries", body: { ...range, bucketSize: 3_600 * 24 * 400, explain: false }, queries: series },
    {
      path: "values",
      body: { ...range, field: "service", signal: "logs", prefix: "s", limit: 10 },
      queries: logQueries,
    },
    { path: "fields", body: { ...range, signal: "traces", prefix: "", limit: 10 }, queries: traceQueries },
  ];
}
