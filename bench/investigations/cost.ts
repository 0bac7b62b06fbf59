/** What investigations cost: time, memory, and how much longer searches beside them take. */

import type { Store } from "../../engine/index.ts";
import { searchLogs } from "../../query/index.ts";
import { investigate } from "../../server/index.ts";
import { formatTable, makeRightColumns } from "../terminal/table.ts";

interface CostWindow {
  startMs: number;
  endMs: number;
}

const sampleEveryMs = 5;
const searchQueries = ['logs{log_level="error"}', "order"] as const;
const besideMs = 10_000;

/** Prints the costs of investigating each window, one after another, in one store. */
export async function printCosts(store: Store, windows: readonly CostWindow[]): Promise<void> {
  const { rows } = store.stats();
  await searchFor(store, windows, 2_000);
  let peakBytes = 0;
  let mostBytes = 0;
  const sampling = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
  }, sampleEveryMs);
  const times: number[] = [];
  for (const window of windows) {
    const beforeBytes = process.memoryUsage.rss();
    peakBytes = beforeBytes;
    const startedAtMs = performance.now();
    await investigate(store, window);
    times.push(performance.now() - startedAtMs);
    mostBytes = Math.max(mostBytes, peakBytes - beforeBytes);
  }
  clearInterval(sampling);
  const alone = await searchFor(store, windows, besideMs);
  let isOver = false;
  const investigations = (async () => {
    for (let i = 0; !isOver; i++) await investigate(store, windows[i % windows.length]!);
  })();
  const beside = await searchFor(store, windows, besideMs);
  isOver = true;
  await investigations;
  const ms = (value: number) => `${value.toFixed(1)} ms`;
  const line = (name: string, own: readonly number[]) => [
    ...[name, ms(quantile(own, 0.5)), ms(quantile(own, 0.95)), ms(Math.max(...own))],
  ];
  console.log(`\nCosts in a store of ${rows.toLocaleString("en")} rows`);
  process.stdout.write(
    formatTable(makeRightColumns(["", "median", "95 %", "longest"]), [
      line("an investigation", times),
      line("a search alone", alone),
      line("a search beside investigations", beside),
    ]),
  );
  console.log(`memory that an investigation adds to the process: ${(mostBytes / 1e6).toFixed(0)} MB at most`);
}

/** Milliseconds of searches, one after another. */
async function searchFor(store: Store, windows: readonly CostWindow[], forMs: number): Promise<number[]> {
  const times: number[] = [];
  const untilMs = performance.now() + forMs;
  for (let i = 0; performance.now() < untilMs; i++) {
    const { startMs } = windows[i % windows.length]!;
    const startedAtMs = performance.now();
    const query = searchQueries[i % searchQueries.length]!;
    await searchLogs(store, { query, startMs: startMs - 3_600_000, endMs: startMs, limit: 100 });
    times.push(performance.now() - startedAtMs);
  }
  return times;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
}
