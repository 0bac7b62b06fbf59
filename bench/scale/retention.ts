/** Retention by size while rows arrive: how long appends take before, and while the oldest half is removed. */
import { openStore, type Store } from "../../engine/index.ts";
import { generateRows } from "../../fixtures/logs.ts";
import { spreadOf } from "../measure/spread.ts";

const appendRows = 1_000;
const appendsBefore = 200;
const appendsWhile = 600;
/** Between two appends. */
const pauseMs = 20;

export interface RetentionFigures {
  removedRows: number;
  seconds: number;
  /** Milliseconds of an append: the median, and the longest. */
  before: { median: number; longest: number };
  during: { median: number; longest: number };
}

/** Opens the store twice: without retention, then with half of its bytes to keep. */
export async function measureRetention(dir: string): Promise<RetentionFigures> {
  const rows = [...generateRows({ profile: "system", seed: 7, rows: appendRows, startMs: Date.now() })];
  const first = await openStore({ dir, threads: 2 });
  const before = summarize(await appendRowsTo(first, rows, appendsBefore));
  const { rows: stored, bytes } = first.stats();
  await first.close();

  const store = await openStore({ dir, threads: 2, retentionBytes: Math.floor(bytes / 2) });
  const begunMs = performance.now();
  const during = summarize(await appendRowsTo(store, rows, appendsWhile));
  const seconds = (performance.now() - begunMs) / 1_000;
  const added = appendsWhile * appendRows;
  const removedRows = stored + added - store.stats().rows;
  await store.close();
  return { removedRows, seconds, before, during };
}

async function appendRowsTo(
  store: Store,
  rows: Parameters<Store["append"]>[1],
  times: number,
): Promise<number[]> {
  const tookMs: number[] = [];
  for (let i = 0; i < times; i++) {
    const begunMs = performance.now();
    await store.append("logs", rows);
    tookMs.push(performance.now() - begunMs);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return tookMs;
}

function summarize(tookMs: readonly number[]): { median: number; longest: number } {
  return { median: spreadOf(tookMs).median, longest: Math.max(...tookMs) };
}
