import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Bench } from "tinybench";
import { encodeBatch, type LogRow, openStore } from "../../engine/index.ts";
import { generateBatches } from "../../fixtures/logs.ts";
import type { BenchDataset } from "../datasets/dataset.ts";
import { type Spread, spreadOf } from "../measure/spread.ts";
import { sendFile } from "../server/row-sender.ts";
import { startServer } from "../server/server-process.ts";
import type { ShowProgress } from "../terminal/progress.ts";

/** The speed of one way of ingestion with one batch size. */
export interface IngestFigure {
  name: string;
  batchRows: number;
  rowsPerSecond: number;
  /** From handing a batch over until its acknowledgement. */
  batchMs: Spread;
  /** Largest resident set of the storing process; null where it was not measured. */
  memoryBytesPeak: number | null;
}

const batchSizes = [1000, 10_000];
/** Enough for a steady rate; chosen, not measured. */
const httpRowsMax = 1_000_000;
/** Up to so many rows a run only tries the benchmark out, and measures briefly. */
const trialRowsMax = 100_000;

/**
 * Appends rows in memory to the engine as a library, one batch after another. Measures encoding alone, and encoding
 * with appending; generating the rows is not timed.
 */
export async function measureAppends(
  storesDir: string,
  rows: number,
  show: ShowProgress,
): Promise<IngestFigure[]> {
  const figures: IngestFigure[] = [];
  for (const batchRows of batchSizes) {
    show({ step: "append rows in memory", done: figures.length, total: 2 * batchSizes.length, unit: "ways" });
    figures.push(...(await measureBatches(storesDir, batchRows, rows <= trialRowsMax)));
  }
  return figures;
}

async function measureBatches(
  storesDir: string,
  batchRows: number,
  isTrial: boolean,
): Promise<IngestFigure[]> {
  const dir = await mkdtemp(join(storesDir, "appends-"));
  const store = await openStore({ dir });
  const source = generateBatches({ profile: "system", seed: 1, rows: Number.MAX_SAFE_INTEGER }, batchRows);
  let batch: LogRow[] = [];
  const beforeEach = (): void => {
    batch = source.next().value ?? [];
  };
  const bench = new Bench({
    time: isTrial ? 50 : 3000,
    iterations: isTrial ? 3 : 20,
    warmupIterations: isTrial ? 1 : 5,
    warmupTime: 0,
    retainSamples: true,
    throws: true,
  });
  bench.add("encodeBatch", () => void encodeBatch("logs", batch, { nowMs: Date.now() }), {
    async: false,
    beforeEach,
  });
  bench.add("append", () => store.append("logs", batch), { async: true, beforeEach });
  try {
    const tasks = await bench.run();
    return tasks.map(({ name, result }) => {
      if (!("latency" in result)) throw new Error(`${name}: ${result.state}`);
      const batchMs = spreadOf(result.latency.samples ?? []);
      const rowsPerSecond = batchRows / (batchMs.median / 1000);
      return { name: `library, ${name}`, batchRows, rowsPerSecond, batchMs, memoryBytesPeak: null };
    });
  } finally {
    await store.close();
    await rm(dir, { recursive: true });
  }
}

/** Sends the file's JSON lines to a server in another process, four requests at a time. */
export async function measureHttpLoads(
  storesDir: string,
  dataset: BenchDataset,
  root: string,
  show: ShowProgress,
): Promise<IngestFigure[]> {
  const figures: IngestFigure[] = [];
  for (const batchRows of batchSizes) {
    figures.push(await measureHttpLoad(storesDir, dataset, root, batchRows, show));
  }
  return figures;
}

async function measureHttpLoad(
  storesDir: string,
  { file, rows: all, signal }: BenchDataset,
  root: string,
  batchRows: number,
  show: ShowProgress,
): Promise<IngestFigure> {
  const dir = await mkdtemp(join(storesDir, "http-"));
  const server = await startServer(dir, root);
  const rows = Math.min(all, httpRowsMax);
  try {
    const begunMs = performance.now();
    const samplesMs = await sendFile(server, { file, rows, signal }, batchRows, (done) =>
      show({ step: `load over HTTP, ${batchRows} lines a request`, done, total: rows, unit: "rows" }),
    );
    const rowsPerSecond = rows / ((performance.now() - begunMs) / 1000);
    const memoryBytesPeak = await server.readMemoryBytesPeak();
    return {
      name: "HTTP, JSON lines",
      batchRows,
      rowsPerSecond,
      batchMs: spreadOf(samplesMs),
      memoryBytesPeak,
    };
  } finally {
    await server.stop();
    await rm(dir, { recursive: true });
  }
}
