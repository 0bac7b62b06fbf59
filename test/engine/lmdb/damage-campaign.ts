/** Damages copies of random environments and lets child processes open them, so that a crash is a failed case. */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { anyDamage, anyShape, buildEnvironment, type FileDamage } from "./random-environment.ts";

export interface CampaignOptions {
  dir: string;
  seed: number;
  /** Random environments, and damaged copies of each. */
  environments: number;
  cases: number;
}

export interface CampaignResult {
  opened: number;
  refused: number;
  /** Crashes, and whatever else must not be, with what led there. */
  failures: string[];
}

/** One run of the child: `held` are frames by key, both in hexadecimal. */
export interface ChildTask {
  whole: string;
  scratch: string;
  held: [string, string][];
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
    const held = [...(await buildEnvironment(join(dir, "whole"), shape))].map(
      ([key, frame]): [string, string] => {
        return [key, frame.toString("hex")];
      },
    );
    const damages = fc.sample(fc.array(anyDamage, { minLength: 1, maxLength: 3 }), {
      seed: seed + i,
      numRuns: cases,
    });
    const task = { whole: join(dir, "whole"), scratch: join(dir, "damaged"), held, cases: damages };
    runChildren(task, join(dir, "task.json"), `seed ${seed}, environment ${i}`, result);
  }
  rmSync(dir, { recursive: true, force: true });
  return result;
}

/** A child that dies is followed by one that goes on behind the case that killed it. */
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
    const died = from + Math.max(lines.length - 1, 0);
    const damage = JSON.stringify(task.cases[died]);
    result.failures.push(`${where}: ${child.signal ?? child.status} after ${damage}: ${child.stderr}`);
    from = died + 1;
  }
}
