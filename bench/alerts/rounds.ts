/** Rounds of evaluation in fresh processes over a store that is filled beforehand. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openStore } from "../../engine/index.ts";
import { type Spread, spreadOf } from "../measure/spread.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import type { RoundsFigure, RoundsPlan } from "./rounds-plan.ts";
import { generateAlertRows } from "./workload.ts";

/** The rows of the store cover so many minutes. */
export const storedMinutes = 40;
/** The minute of the first round. */
const firstMinute = 10;

/**
 * Rounds with one number of alerts, of both processes together. The start and the first round are those of the faster
 * process.
 */
export interface RoundsSpread {
  alerts: number;
  startCpuMs: number;
  firstCpuMs: number;
  cpuMs: Spread;
  wallMs: Spread;
}

interface RoundsOptions {
  storesDir: string;
  rows: number;
  alerts: number;
  rounds: number;
}

/** Measures `alerts` and ten times as many, each in two processes: in this order, and then in reverse. */
export async function measureRounds(
  { storesDir, rows, alerts, rounds }: RoundsOptions,
  show: ShowProgress,
): Promise<RoundsSpread[]> {
  const storeDir = join(storesDir, "alert-rounds");
  await rm(storeDir, { recursive: true, force: true });
  const startMs = Math.floor(Date.now() / 60_000) * 60_000 - storedMinutes * 60_000;
  try {
    await storeRows(storeDir, rows, startMs, show);
    const plan = {
      storeDir,
      rounds: Math.min(rounds, storedMinutes - firstMinute),
      rowsPerBucket: rows / storedMinutes,
      firstMs: startMs + firstMinute * 60_000,
    };
    const counts = [alerts, 10 * alerts];
    const figures: RoundsFigure[] = [];
    for (const count of [...counts, ...counts.toReversed()]) {
      show({ step: "rounds of alerts", done: figures.length, total: 4, unit: "processes" });
      figures.push(await runRounds({ ...plan, alerts: count }));
    }
    return counts.map((count) => {
      const own = figures.filter((figure) => figure.alerts === count);
      return {
        alerts: count,
        startCpuMs: spreadOf(own.map(({ startCpuMs }) => startCpuMs)).min,
        firstCpuMs: spreadOf(own.map(({ firstCpuMs }) => firstCpuMs)).min,
        cpuMs: spreadOf(own.flatMap(({ cpuMs }) => cpuMs)),
        wallMs: spreadOf(own.flatMap(({ wallMs }) => wallMs)),
      };
    });
  } finally {
    await rm(storeDir, { recursive: true, force: true });
  }
}

async function storeRows(dir: string, rows: number, startMs: number, show: ShowProgress): Promise<void> {
  const store = await openStore({ dir, threads: 2 });
  let done = 0;
  const timeMsOf = (row: number) => startMs + (row / rows) * storedMinutes * 60_000;
  for (const batch of generateAlertRows(rows, 10_000, timeMsOf)) {
    await store.append("logs", batch);
    done += batch.length;
    show({ step: "store rows", done, total: rows, unit: "rows" });
  }
  await store.close();
}

async function runRounds(plan: RoundsPlan): Promise<RoundsFigure> {
  const child = fork(new URL("./round-process.ts", import.meta.url), [JSON.stringify(plan)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  let figure: RoundsFigure | undefined;
  child.on("message", (message: RoundsFigure) => {
    figure = message;
  });
  const [code] = await once(child, "exit");
  if (code !== 0 || figure === undefined) throw new Error(`the rounds ended with code ${code}`);
  return figure;
}
