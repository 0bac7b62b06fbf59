/**
 * Questions of all kinds about a few chunks of a store, asked before anybody waits for an answer: the code that answers
 * them is compiled afterwards, on every thread. Of what they read nothing is kept.
 */
import {
  Failure,
  type LogRow,
  type QueryLimits,
  type Signal,
  type Store,
  type WarmUpRange,
} from "../engine/index.ts";
import { type FieldStore, queryFields } from "./listing/fields.ts";
import { type HistogramStore, queryHistogram } from "./listing/histogram.ts";
import { type PatternStore, queryPatterns } from "./listing/patterns.ts";
import { type SearchStore, searchLogs, searchSpans } from "./search/search.ts";
import type { SeriesStore } from "./series/scan-reader.ts";
import { queryTimeseries } from "./series/timeseries.ts";

/** The part of a store that a warm-up needs. */
export type WarmUpStore = SearchStore &
  SeriesStore &
  PatternStore &
  FieldStore &
  HistogramStore &
  Pick<Store, "beginWarmUp">;

/** A question must not hold up those that people ask. */
const deadlineMs = 5_000;
const bucketSeconds = 60;

/** Asks all questions, until `abort`. After a question fails, the remaining ones of its signal and range are skipped. */
export async function warmUp(store: WarmUpStore, abort?: AbortSignal): Promise<void> {
  const limits: QueryLimits = { isWarmUp: true, deadlineMs, ...(abort === undefined ? {} : { abort }) };
  const warmUp = store.beginWarmUp();
  for (const [signal, ask] of rounds) {
    for (const range of warmUp.ranges(signal)) {
      if (abort?.aborted) return;
      try {
        await ask(store, range, limits).finally(() => warmUp.endRound());
      } catch (error) {
        // Whoever asks the same gets this failure as an answer.
        if (!(error instanceof Failure)) throw error;
      }
    }
  }
}

type Ask = (store: WarmUpStore, range: WarmUpRange, limits: QueryLimits) => Promise<void>;

const rounds: readonly (readonly [Signal, Ask])[] = [
  ["logs", askAboutLogs],
  ["traces", askAboutSpans],
  ["metrics", askAboutSamples],
];

async function askAboutLogs(store: WarmUpStore, range: WarmUpRange, limits: QueryLimits): Promise<void> {
  const { rows } = await searchLogs(store, { query: "logs", ...range, limit: 100 }, limits);
  const newest = rows[0];
  if (newest === undefined) return;
  for (const query of listLogSeries(newest))
    await queryTimeseries(store, { query, ...range, bucketSeconds }, limits);
  for (const query of ["logs", ...listLogSearches(newest)])
    await searchLogs(store, { query, ...range, limit: 100 }, limits);
  await queryPatterns(store, { query: "", ...range, limit: 50 }, limits);
  await queryHistogram(store, { signal: "logs", query: "", ...range, bucketSeconds }, limits);
  await queryFields(store, { signal: "logs", query: "", ...range, prefix: "", limit: 100 }, limits);
  // Last, because it takes longest, and fails where there are too many traces.
  const ofManyValues = "topk(10, count(logs) by (trace_id))";
  await queryTimeseries(store, { query: ofManyValues, ...range, bucketSeconds }, limits);
}

/** Counts and groups of rows. Texts are those of a row that was found, and some that hardly any row has. */
function listLogSeries({ message, attributes }: FoundLog): string[] {
  const word = wordOf(message);
  const number = JSON.stringify(/[0-9]{4,}/.exec(message)?.[0] ?? "7301954862");
  const attribute = Object.keys(attributes).find(isPlainName) ?? "service.name";
  const texts = ['"zqxjkvbw"', word, number, '"7301954862"', '"4b7d5a52-9d0c-4f0f-8f0e-27a4bb0b5f31"'];
  const filters = [...texts.map((text) => `|= ${text}`), `|= i${word}`, '|~ "[a-z]+ing [a-z]+"'];
  return [
    ...filters.map((filter) => `count(logs ${filter})`),
    "count(logs) by (service.name)",
    "count(logs) by (log_level)",
    `count(logs{service.name="none"}) by (log_level)`,
    `topk(10, count(logs) by (${attribute}))`,
    "sum(count_over_time(logs[5m])) by (service.name)",
    'count(logs{log_level="error"}) by (service.name) / count(logs) by (service.name)',
    `count(logs | sequence (|= ${word} then |= ${word}) by (service.name) within 5s)`,
  ];
}

function listLogSearches({ message, attributes }: FoundLog): string[] {
  const fields = ["service.name", "trace_id"].map(
    (key) => `logs{${key}=${JSON.stringify(attributes[key] ?? "none")}}`,
  );
  return [`logs |= ${wordOf(message)}`, ...fields];
}

/** A word of a message, quoted. */
function wordOf(message: string): string {
  return JSON.stringify(/[A-Za-z]{4,}/.exec(message)?.[0] ?? "warming");
}

type FoundLog = Pick<LogRow, "message" | "attributes">;

async function askAboutSpans(store: WarmUpStore, range: WarmUpRange, limits: QueryLimits): Promise<void> {
  const queries = [
    "quantile(0.95, duration_ms, traces) by (service.name)",
    "count(traces) by (service.name)",
    "topk(10, count(traces) by (name))",
    "count_distinct(trace_id, traces)",
  ];
  for (const query of queries) await queryTimeseries(store, { query, ...range, bucketSeconds }, limits);
  await searchSpans(store, { query: "traces", ...range, limit: 100 }, limits);
}

async function askAboutSamples(store: WarmUpStore, range: WarmUpRange, limits: QueryLimits): Promise<void> {
  const [fromNs, toNs] = [range.startMs, range.endMs].map((ms) => BigInt(ms) * 1_000_000n);
  const metrics = await store.metricNames(fromNs!, toNs!, limits);
  const name = metrics.map((metric) => metric.name).find(isPlainName);
  if (name === undefined) return;
  for (const query of [`avg(${name}) by (service.name)`, `sum(increase(${name})) without ()`])
    await queryTimeseries(store, { query, ...range, bucketSeconds }, limits);
}

/** Whether a name can stand in a query without quotation marks. */
function isPlainName(name: string): boolean {
  return /^[a-z_]\w*(\.[a-z_]\w*)*$/i.test(name);
}
