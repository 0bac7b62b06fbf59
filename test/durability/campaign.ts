/** How far the random tests go, and from which seed. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Random } from "../../fixtures/random.ts";

/** `npm run soak` runs the long forms. */
export const isSoak = process.env.SVC_SOAK === "1";

/** SVC_SEED sets it; a failure is repeated by giving the seed that was printed. */
export const seed = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));

export function scaled(short: number, long: number): number {
  return isSoak ? long : short;
}

/** A generator for one test, and its seed on the screen. */
export function seededRandom(name: string): Random {
  report(`${name}: SVC_SEED=${seed}`);
  return new Random(seed, hashOf(name));
}

/** Prints past vitest, which holds back what a test writes until it has ended. */
export function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** An empty folder that goes when the test has passed, and stays to be looked at when it has failed. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-durability-"));
  onTestFinished(({ task }) => {
    const isOfUse = task.result?.state === "fail" && readdirSync(dir, { recursive: true }).length > 1;
    // Said at once: a long run that is cut short never comes to its summary.
    const errors = task.result?.errors?.map(({ message }) => message.slice(0, 2_000)) ?? [];
    if (isOfUse) report([`kept ${dir}`, ...errors].join("\n  "));
    else rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

/** A copy of a data folder that goes when the test has passed. */
export function copyOf(dir: string): string {
  const copy = join(temporaryFolder(), "data");
  copyFolder(dir, copy);
  return copy;
}

/** Copies a data folder; the holes in its files stay holes, which Node's own copying would fill. */
export function copyFolder(dir: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", dir, to]);
  if (status !== 0) throw new Error(`cp: ${stderr.toString()}`);
}

function hashOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash;
}
