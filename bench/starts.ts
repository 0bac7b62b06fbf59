/**
 * `node bench/starts.ts [BATCHES [ROUNDS [--root DIR]]]`: what a start costs after a kill that left batches of one row in
 * the journal: time and CPU of opening the store and of the first search, each in a fresh process. `--root` takes the
 * engine of another working copy. The rows of 0 batches show what a start costs in any case.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOperands } from "./command/operands.ts";
import { spreadOf } from "./measure/spread.ts";
import { benchPath, projectRoot } from "./paths.ts";
import type { StartFigures, StartOrder } from "./starts/start-process.ts";
import { formatCount, formatMs, formatTable, makeRightColumns } from "./terminal/table.ts";

const { numbers, texts } = readOperands(
  "node bench/starts.ts [BATCHES [ROUNDS]] [--root DIR]",
  { BATCHES: 20_000, ROUNDS: 5 },
  ["root"],
);
const [batchesMax, rounds] = numbers as [number, number];
const root = texts.root ?? projectRoot;
const sizes = [0, Math.ceil(batchesMax / 4), batchesMax];
const folder = mkdtempSync(join(tmpdir(), "svc-bench-starts-"));

const rows: string[][] = [];
try {
  for (const batches of sizes) rows.push(await measureStarts(batches));
} finally {
  rmSync(folder, { recursive: true });
}
const heads = ["batches", "unsealed rows", "open", "its CPU", "first search", "its CPU"];
process.stdout.write(`${formatTable(makeRightColumns(heads), rows)}\n`);

/** The medians of all rounds. */
async function measureStarts(batches: number): Promise<string[]> {
  const dir = join(folder, String(batches));
  await runProcess({ kind: "fill", root, dir, batches });
  const figures: StartFigures[] = [];
  for (let round = 0; round < rounds; round++) {
    const copy = join(folder, "copy");
    cpSync(dir, copy, { recursive: true });
    figures.push((await runProcess({ kind: "open", root, dir: copy }))!);
    rmSync(copy, { recursive: true });
  }
  const median = (name: keyof StartFigures) => spreadOf(figures.map((each) => each[name])).median;
  const times = (["openMs", "openCpuMs", "searchMs", "searchCpuMs"] as const).map(median).map(formatMs);
  return [formatCount(batches), formatCount(median("unsealedRows")), ...times];
}

/** Resolves with what the process measured, once it has ended. */
async function runProcess(order: StartOrder): Promise<StartFigures | undefined> {
  const child = fork(benchPath("starts/start-process.ts"), [JSON.stringify(order)]);
  let figures: StartFigures | undefined;
  child.on("message", (message) => (figures = message as StartFigures));
  await once(child, "close");
  return figures;
}
