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

/** How many answers to ask for: `most`, or once `ms` milliseconds are over fewer, though not fewer than `least`. */
interface Answers {
  most: number;
  least: number;
  ms: number;
}

/** Answers before those that are timed. */
const warmed: Answers = { most: 24, least: 1, ms: 5_000 };
const timed: Answers = { most: 12, least: 3, ms: 10_000 };
/** The slowest question reads every message of the store. */
const limits = { deadlineMs: 600_000 };

const { engine, query } = await importLayers(projectRoot);
const { queryFields, queryPatterns, queryTimeseries, searchLogs, warmUp } = query;
/** How often each question was asked. */
const turns = new Map<ScaleQuestion, number>();
const order = JSON.parse(process.argv[2]!) as ScaleOrder;
const begunMs = performance.now();
const store = await engine.openStore({ dir: order.dir, threads: 2 });
const openMs = performance.now() - begunMs;
await warmUp(store);
// The templates of all chunks are listed while questions of all kinds are asked for the first time.
if (!order.isCold) for (const question of order.questions) await ask(question, warmed);
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
  if (order.isCold) return (await ask(question, { most: 1, least: 1, ms: 0 }))[0]!;
  await ask(question, warmed);
  return spreadOf(await ask(question, timed)).median;
}

/** The times of the next answers, in milliseconds. */
async function ask(question: ScaleQuestion, { most, least, ms }: Answers): Promise<number[]> {
  const times: number[] = [];
  const untilMs = performance.now() + ms;
  while (times.length < most && (times.length < least || performance.now() < untilMs)) {
    const turn = turns.get(question) ?? 0;
    turns.set(question, turn + 1);
    times.push(await timeAnswer(store, question, question.queries[turn % question.queries.length]!, turn));
  }
  return times;
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
