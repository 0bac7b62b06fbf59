/** A labelled day: telemetry of a system, and the faults that were injected into it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** What was injected, and when. */
export interface LabelledFault {
  /** Unix milliseconds. */
  startMs: number;
  type: string;
  /** Names of services, without their namespace, of which each is a right answer. */
  services: string[];
}

export const signals = ["logs", "spans", "metrics"] as const;
export type DaySignal = (typeof signals)[number];

const root = join(import.meta.dirname, "../..");

/** Reads `faults.json`, a list of `{ injectedAt, pod, type }`. */
export async function readFaults(dir: string): Promise<LabelledFault[]> {
  const text = await readFile(join(dir, "faults.json"), "utf8");
  const faults = JSON.parse(text) as { injectedAt: number; pod: string; type: string }[];
  return faults.map(({ injectedAt: startMs, pod, type }) => {
    return { startMs, type, services: [pod.replace(/-[0-9a-f]{6,10}-[a-z0-9]{5}$/, "")] };
  });
}

/** Loads the files of a day into a data folder. */
export async function loadDay(dir: string, data: string, loaded: readonly DaySignal[]): Promise<void> {
  for (const signal of loaded) {
    const file = join(dir, `${signal}.jsonl.gz`);
    const command = ["server/main.ts", "ingest", file, "--signal", signal, "--direct", "--data", data];
    const child = spawn(process.execPath, command, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.resume();
    // Some samples of a day may be refused: those that lie in the future.
    await once(child, "exit");
  }
}
