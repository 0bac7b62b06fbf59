/** The process in which part.ts runs one part of the benchmark that opens the engine as a library. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Bench } from "tinybench";
import { encodeBatch, type LogRow, openStore, type Store } from "../engine/index.ts";
import { generateBatches } from "../fixtures/logs.ts";
import { budgetOf } from "./budget.ts";
import { allocatedBytes } from "./disk.ts";
import { type LoadFigure, type Spread, type StoreFigure, spreadOf } from "./figures.ts";
import type { PartMessage, PartOrder, Parts } from "./part.ts";
import type { StepProgress } from "./progress.ts";
import { measureQueries } from "./query.ts";
import { readLines, type Workload } from "./workload.ts";

const loadBatchRows = 10_000;
const progressEveryMs = 100;

function send(message: PartMessage): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}

let shownMs = 0;
function show(progress: StepProgress): void {
  const nowMs = performance.now();
  if (nowMs - shownMs < progressEveryMs && progress.done > 0) return;
  shownMs = nowMs;
  void send({ kind: "progress", progress });
}

const parts: { [P in keyof Parts]: (workload: Workload) => Promise<Parts[P]> } = {
  appends: async (workload) => {
    const figures: LoadFigure[] = [];
    for (const batchRows of [1000, 10_000]) {
      figures.push(...(await inNewStore(workload, (store) => measureAppends(store, workload, batchRows))));
    }
    return figures;
  },
  store: (workload) =>
    inNewStore(workload, async (store, dir) => {
      const { load, figure } = await loadFile(store, dir, workload);
      const queries = await measureQueries(store, workload, show);
      return { load, store: { ...figure, memoryBytesAfterQueries: memoryBytesPeak() }, queries };
    }),
};

async function inNewStore<T>(
  { dataFolder }: Workload,
  use: (store: Store, dir: string) => Promise<T>,
): Promise<T> {
  const dir = await mkdtemp(join(dataFolder, "library-"));
  const store = await openStore({ dir });
  try {
    return await use(store, dir);
  } finally {
    await store.close();
    await rm(dir, { recursive: true });
  }
}

/** Rows in memory, one batch after another: encoding alone, and encoding with appending. Making the rows is not counted. */
async function measureAppends(store: Store, workload: Workload, batchRows: number): Promise<LoadFigure[]> {
  const source = generateBatches({ ...workload.options, rows: Number.MAX_SAFE_INTEGER }, batchRows);
  let batch: LogRow[] = [];
  const beforeEach = (): void => {
    batch = source.next().value ?? [];
  };
  const bench = new Bench(budgetOf(workload));
  bench.add("encodeBatch", () => void encodeBatch("logs", batch, { nowMs: Date.now() }), {
    async: false,
    beforeEach,
  });
  bench.add("append", () => store.append("logs", batch), { async: true, beforeEach });
  bench.addEventListener("cycle", () =>
    show({ step: `append ${batchRows} rows at a time`, done: 1, total: 2, unit: "tasks" }),
  );
  show({ step: `append ${batchRows} rows at a time`, done: 0, total: 2, unit: "tasks" });
  const tasks = await bench.run();
  return tasks.map(({ name, result }) => {
    if (!("latency" in result)) throw new Error(`${name}: ${result.state}`);
    return figureOf(`library, ${name}`, batchRows, spreadOf(result.latency.samples ?? []));
  });
}

function figureOf(name: string, batchRows: number, batchMs: Spread): LoadFigure {
  const rowsPerSecond = batchRows / (batchMs.median / 1000);
  return {
    name,
    rows: batchRows * batchMs.runs,
    batchRows,
    rowsPerSecond,
    bytesPerSecond: null,
    batchMs,
    memoryBytesPeak: null,
  };
}

/** Reads, parses and appends the whole file, then seals: the time that a person waits. */
async function loadFile(
  store: Store,
  dir: string,
  { file, options }: Workload,
): Promise<{ load: LoadFigure; figure: StoreFigure }> {
  const samplesMs: number[] = [];
  let rows = 0;
  let inputBytes = 0;
  const begunMs = performance.now();
  for await (const lines of readLines(file, options.rows, loadBatchRows)) {
    const batch = parseRows(lines.bytes);
    const appendMs = performance.now();
    const { refused } = await store.append("logs", batch);
    if (refused.length > 0) throw new Error(`the store refused a row: ${refused[0]!.reason}`);
    samplesMs.push(performance.now() - appendMs);
    rows += lines.rows;
    inputBytes += lines.bytes.length;
    show({ step: "load JSON lines into the library", done: rows, total: options.rows, unit: "rows" });
  }
  const loadSeconds = (performance.now() - begunMs) / 1000;
  await store.seal();
  const sealSeconds = (performance.now() - begunMs) / 1000 - loadSeconds;
  const stats = store.stats();
  if (stats.rows !== options.rows) throw new Error(`the store holds ${stats.rows} rows of ${options.rows}`);
  const memory = memoryBytesPeak();
  const load = {
    name: "library, from JSON lines",
    rows,
    batchRows: loadBatchRows,
    rowsPerSecond: rows / loadSeconds,
    bytesPerSecond: inputBytes / loadSeconds,
    batchMs: spreadOf(samplesMs),
    memoryBytesPeak: memory,
  };
  const diskBytes = await allocatedBytes(dir);
  const seconds = { loadSeconds, sealSeconds };
  return {
    load,
    figure: {
      rows,
      chunks: stats.chunks,
      ...seconds,
      diskBytes,
      inputBytes,
      memoryBytesAfterLoad: memory,
      memoryBytesAfterQueries: 0,
    },
  };
}

function parseRows(bytes: Buffer): LogRow[] {
  return bytes
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { timeUnixNano, log_level, message, attributes } = JSON.parse(line);
      return { timeNs: BigInt(timeUnixNano), level: log_level, message, attributes };
    });
}

function memoryBytesPeak(): number {
  return process.resourceUsage().maxRSS * 1024;
}

const [order] = (await once(process, "message")) as [PartOrder];
await send({ kind: "figures", figures: await parts[order.part](order.workload) });
process.disconnect();
