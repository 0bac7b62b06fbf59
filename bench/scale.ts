/**
 * `node bench/scale.ts [ROWS] [--data DIR]`: one store of `system` that grows to ROWS (100,000,000), at 2 %, 20 % and all
 * of them: loading, start, memory, size on disk, each kind of question cold and warm, and retention by size while rows
 * arrive. 100,000,000 rows take about half an hour and 8 GB of disk.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readOperands } from "./command/operands.ts";
import { prepareDataset } from "./datasets/preparation.ts";
import { measureAllocatedBytes } from "./measure/disk.ts";
import { spreadOf } from "./measure/spread.ts";
import { benchPath } from "./paths.ts";
import { endMsOf, grow, seedRows } from "./scale/growing-store.ts";
import { listScaleQuestions } from "./scale/question-set.ts";
import { measureRetention } from "./scale/retention.ts";
import type { ScaleFigures, ScaleOrder } from "./scale/scale-process.ts";
import { ProgressLine } from "./terminal/progress.ts";
import { formatCount, formatMegabytes, formatMs, formatTable, makeRightColumns } from "./terminal/table.ts";

const { numbers, texts } = readOperands("node bench/scale.ts [ROWS] [--data DIR]", { ROWS: 100_000_000 }, [
  "data",
]);
const wholeSeeds = (rows: number) => Math.max(seedRows, Math.round(rows / seedRows) * seedRows);
const rowsMax = wholeSeeds(numbers[0]!);
const sizes = [...new Set([0.02, 0.2, 1].map((share) => wholeSeeds(rowsMax * share)))];
const dataFolder = texts.data ?? benchPath("data");
const dir = join(dataFolder, "scale");
const progress = new ProgressLine();

interface SizeFigures {
  rows: number;
  rowsPerSecond: number;
  loadBytesPeak: number;
  diskBytes: number;
  warm: ScaleFigures;
  cold: ScaleFigures[];
}

mkdirSync(dataFolder, { recursive: true });
rmSync(dir, { recursive: true, force: true });
try {
  const dataset = await prepareDataset(
    { name: "system", rows: seedRows, dataFolder, trainTicketFile: undefined },
    (step) => progress.show(step),
  );
  const questions = listScaleQuestions(dataset);
  const found: SizeFigures[] = [];
  for (const [i, rows] of sizes.entries()) found.push(await measureSize(sizes[i - 1] ?? 0, rows));
  printFigures(found);
  const { removedRows, seconds, before, during } = await measureRetention(dir);
  process.stdout.write(
    `\nRetention removed ${formatCount(removedRows)} rows within ${seconds.toFixed(0)} s. An append of 1,000 rows took ` +
      `${formatMs(before.median)} ms before (longest ${formatMs(before.longest)}), ` +
      `${formatMs(during.median)} ms meanwhile (longest ${formatMs(during.longest)}).\n`,
  );

  async function measureSize(from: number, rows: number): Promise<SizeFigures> {
    const { seconds, memoryBytesPeak } = await grow(dir, from, rows, (step) => progress.show(step));
    const order = { dir, range: { startMs: dataset.startMs, endMs: endMsOf(rows) } };
    const cold: ScaleFigures[] = [];
    for (const [i, question] of questions.entries()) {
      progress.show({ step: "ask cold", done: i, total: questions.length, unit: "questions" });
      cold.push(await runProcess({ ...order, questions: [question], isCold: true }));
    }
    return {
      ...{ rows, rowsPerSecond: (rows - from) / seconds, loadBytesPeak: memoryBytesPeak },
      diskBytes: await measureAllocatedBytes(dir),
      warm: await runProcess({ ...order, questions, isCold: false }),
      cold,
    };
  }

  function printFigures(found: readonly SizeFigures[]): void {
    const facts: [string, (figures: SizeFigures) => string][] = [
      ["loaded, rows/s (with making them)", ({ rowsPerSecond }) => formatCount(Math.round(rowsPerSecond))],
      ["on disk, MB", ({ diskBytes }) => formatMegabytes(diskBytes)],
      ["peak memory loading, MB", ({ loadBytesPeak }) => formatMegabytes(loadBytesPeak)],
      ["peak memory querying, MB", ({ warm }) => formatMegabytes(warm.memoryBytesPeak)],
      ["start, ms", ({ cold }) => formatMs(spreadOf(cold.map(({ openMs }) => openMs)).median)],
    ];
    const columns = (title: string) => [
      { title, align: "left" as const },
      ...makeRightColumns(found.map(({ rows }) => `${formatCount(rows)} rows`)),
    ];
    const store = facts.map(([name, format]) => [name, ...found.map(format)]);
    process.stdout.write(`${formatTable(columns("store"), store)}\n`);
    for (const [title, timeOf] of [
      ["warm, median ms", ({ warm }: SizeFigures, i: number) => warm.askMs[i]!],
      ["cold, ms", ({ cold }: SizeFigures, i: number) => cold[i]!.askMs[0]!],
    ] as const) {
      const lines = questions.map(({ name }, i) => [name, ...found.map((size) => formatMs(timeOf(size, i)))]);
      process.stdout.write(`${formatTable(columns(title), lines)}\n`);
    }
  }
} finally {
  progress.end();
  rmSync(dir, { recursive: true, force: true });
}

async function runProcess(order: ScaleOrder): Promise<ScaleFigures> {
  const child = fork(benchPath("scale/scale-process.ts"), [JSON.stringify(order)]);
  let figures: ScaleFigures | undefined;
  child.on("message", (message) => (figures = message as ScaleFigures));
  await once(child, "close");
  if (figures === undefined) throw new Error("a process of the benchmark ended without figures");
  return figures;
}
