/**
 * Damages copies of random environments, which child processes then open: a crash is a failed case, not the end of the
 * test.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { anyDamage, anyShape, buildEnvironment, type FileDamage } from "./random-environment.ts";

export interface CampaignOptions {
  dir: string;
  seed: number;
  /** Number of random environments. */
  environments: number;
  /** Damaged copies of each environment. */
  cases: number;
}

export interface CampaignResult {
  opened: number;
  refused: number;
  /** Crashes and other forbidden outcomes, with the damage that led to them. */
  failures: string[];
}

/** The task of one child process. `stored` has the frames of the undamaged environment by key, both in hexadecimal. */
export interface ChildTask {
  whole: string;
  scratch: string;
  stored: [string, string][];
  cases: FileDamage[][];
}

export interface ChildResult {
  opened: number;
  refused: number;
  failures: string[];
}

const childFile = join(import.meta.dirname, "damage-child.ts");

export async function runDamageCampaign({
  dir,
  seed,
  environments,
  cases,
}: CampaignOptions): Promise<CampaignResult> {
  const result: CampaignResult = { opened: 0, refused: 0, failures: [] };
  const shapes = fc.sample(anyShape, { seed, numRuns: environments });
  for (const [i, shape] of shapes.entries()) {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    const stored = [...(await buildEnvironment(join(dir, "whole"), shape))].map(
      ([key, frame]): [string, string] => {
        return [key, frame.toString("hex")];
      },
    );
    const damages = fc.sample(fc.array(anyDamage, { minLength: 1, maxLength: 3 }), {
      seed: seed + i,
      numRuns: cases,
    });
    const task = { whole: join(dir, "whole"), scratch: join(dir, "damaged"), stored, cases: damages };
    runChildren(task, join(dir, "task.json"), `seed ${seed}, environment ${i}`, result);
  }
  rmSync(dir, { recursive: true, force: true });
  return result;
}

/** After a crash, another child continues with the case after the one that caused it. */
function runChildren(task: ChildTask, file: string, where: string, result: CampaignResult): void {
  for (let from = 0; from < task.cases.length; ) {
    writeFileSync(file, JSON.stringify({ ...task, cases: task.cases.slice(from) }));
    const child = spawnSync(process.execPath, [childFile, file], { maxBuffer: 2 ** 28, timeout: 600_000 });
    const lines = child.stdout.toString().split("\n").slice(0, -1);
    const last = lines.at(-1) ?? "";
    if (child.status === 0 && last.startsWith("{")) {
      const done = JSON.parse(last) as ChildResult;
      result.opened += done.opened;
      result.refused += done.refused;
      result.failures.push(...done.failures.map((failure) => `${where}: ${failure}`));
      return;
    }
    const diedAt = from + Math.max(lines.length - 1, 0);
    const damage = JSON.stringify(task.cases[diedAt]);
    result.failures.push(`${where}: ${child.signal ?? child.status} after ${damage}: ${child.stderr}`);
    from = diedAt + 1;
  }
}
