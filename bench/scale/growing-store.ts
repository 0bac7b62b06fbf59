/** A store that grows: `system` rows of one seed after another, loaded with `svc ingest --direct`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openStore } from "../../engine/index.ts";
import { generateJsonLines } from "../../fixtures/logs.ts";
import { watchMemoryBytesPeak } from "../measure/process.ts";
import { projectRoot } from "../paths.ts";
import { prepareProgram } from "../server/program.ts";
import { waitUntilIdle } from "../systems/svc.ts";
import type { ShowProgress } from "../terminal/progress.ts";

/** Rows of one seed. The first seed's are those of `npm run bench`. */
export const seedRows = 2_000_000;
/** Rows of a seed take a little less than a day. */
const seedMs = 86_400_000;
const firstMs = Date.UTC(2025, 0, 6);
const linesATime = 2_000;

export interface GrowthFigures {
  seconds: number;
  memoryBytesPeak: number;
}

/** The time of the last row of a store of so many rows, or later. */
export function endMsOf(rows: number): number {
  return firstMs + Math.ceil(rows / seedRows) * seedMs;
}

/** Loads the rows [from, to), whole seeds. The time includes making the rows. */
export async function grow(
  dir: string,
  from: number,
  to: number,
  show: ShowProgress,
): Promise<GrowthFigures> {
  const words = [await prepareProgram(projectRoot), "ingest", "--direct", "--data", dir, "-"];
  const child = spawn(process.execPath, words, { stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors = (errors + text).slice(-2_000)));
  const closed = once(child, "close");
  const begunMs = performance.now();
  const endWatch = watchMemoryBytesPeak(child.pid!);
  for (let rows = from; rows < to; rows += seedRows) {
    const number = rows / seedRows;
    const options = { profile: "system", seed: 1 + number, startMs: firstMs + number * seedMs } as const;
    let made = rows;
    for (const lines of generateJsonLines({ ...options, rows: Math.min(seedRows, to - rows) }, linesATime)) {
      if (!child.stdin.write(lines)) await Promise.race([once(child.stdin, "drain"), closed]);
      if (child.exitCode !== null) throw new Error(`svc ingest ended with ${child.exitCode}: ${errors}`);
      made += linesATime;
      show({ step: "load", done: made, total: to, unit: "rows" });
    }
  }
  child.stdin.end();
  const [code] = await closed;
  const memoryBytesPeak = endWatch();
  if (code !== 0) throw new Error(`svc ingest ended with ${code}: ${errors}`);
  const seconds = (performance.now() - begunMs) / 1_000;
  await settle(dir);
  return { seconds, memoryBytesPeak };
}

/** Waits until background merges have ended. */
async function settle(dir: string): Promise<void> {
  const store = await openStore({ dir, threads: 2 });
  await store.seal();
  await waitUntilIdle(store);
  await store.close();
}
