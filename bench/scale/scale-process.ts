/** One process of `bench/scale.ts`: it opens a store, asks one question cold or all of them warm, and measures that. */
import type { Store } from "../../engine/index.ts";
import { spreadOf } from "../measure/spread.ts";
import { projectRoot } from "../paths.ts";
import { importLayers } from "../server/program.ts";
import type { ScaleQuestion } from "./question-set.ts";

export interface ScaleOrder {
  dir: string;
  range: { startMs: number; endMs: number };
  questions: ScaleQuestion[];
  /** Asks each question once, else again and again. */
  isCold: boolean;
}

export interface ScaleFigures {
  openMs: number;
  rows: number;
  /** For each question the median of its times; the first time where it is asked cold. */
  askMs: number[];
  memoryBytesPeak: number;
}

/** Answers before those that are timed, until code is compiled and templates are listed; and how long they may take. */
const warmAnswers = 24;
const warmMs = 5_000;
/** Answers that are timed: all of these where they are fast, else at least so many. */
const timedAnswers = 12;
const timedAnswersMin = 3;
const timedMs = 10_000;
/** The slowest question reads every message of the store. */
const limits = { deadlineMs: 600_000 };

const { engine, query } = await importLayers(projectRoot);
const { queryFields, queryPatterns, queryTimeseries, searchLogs, warmUp } = query;
const order = JSON.parse(process.argv[2]!) as ScaleOrder;
const begunMs = performance.now();
const store = await engine.openStore({ dir: order.dir, threads: 2 });
const openMs = performance.now() - begunMs;
await warmUp(store);
const askMs: number[] = [];
for (const question of order.questions) askMs.push(await measure(question));
const figures: ScaleFigures = {
  ...{ openMs, rows: store.stats().rows, askMs },
  memoryBytesPeak: process.resourceUsage().maxRSS * 1024,
};
await store.close();
process.send!(figures);
process.disconnect();

async function measure(question: ScaleQuestion): Promise<number> {
  const { queries } = question;
  let asked = 0;
  const next = async () => timeAnswer(store, question, queries[asked % queries.length]!, asked++);
  if (order.isCold) return next();
  const warmUntilMs = performance.now() + warmMs;
  for (let i = 0; i < warmAnswers && performance.now() < warmUntilMs; i++) await next();
  const times: number[] = [];
  const untilMs = performance.now() + timedMs;
  while (times.length < timedAnswers && (times.length < timedAnswersMin || performance.now() < untilMs))
    times.push(await next());
  return spreadOf(times).median;
}

/** Each answer's range begins a millisecond earlier, so that none can be cached. */
async function timeAnswer(
  store: Store,
  { kind, bucketSeconds }: ScaleQuestion,
  query: string,
  turn: number,
): Promise<number> {
  const range = { startMs: order.range.startMs - turn, endMs: order.range.endMs };
  const begunMs = performance.now();
  if (kind === "rows") await searchLogs(store, { query, ...range, limit: 100 }, limits);
  else if (kind === "series")
    await queryTimeseries(store, { query, ...range, bucketSeconds: bucketSeconds! }, limits);
  else if (kind === "patterns") await queryPatterns(store, { query, ...range, limit: 50 }, limits);
  else await queryFields(store, { signal: "logs", query, ...range, prefix: "", limit: 1_000 }, limits);
  return performance.now() - begunMs;
}
