/** The seed and the length of the random tests, and the folders they work in. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Random } from "../../fixtures/random.ts";

/** True under `npm run soak`, which runs the tests in their long form. */
export const isSoak = process.env.SVC_SOAK === "1";

/** Set by SVC_SEED, else random. To repeat a failure, set it to the seed that was printed. */
export const seed = Number(process.env.SVC_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** A number for the short or the long form of a test. */
export function scaled(short: number, long: number): number {
  return isSoak ? long : short;
}

/** Minutes that a campaign of a set length takes in its long form: SVC_SOAK_MINUTES, or as many as it says. */
export function soakMinutes(minutes: number): number {
  return Number(process.env.SVC_SOAK_MINUTES ?? minutes);
}

/** Returns the random generator of one test, and prints its seed. */
export function seededRandom(name: string): Random {
  report(`${name}: SVC_SEED=${seed}`);
  return new Random(seed, hashText(name));
}

/** Prints a line at once; vitest would hold back a test's output until the test has ended. */
export function report(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Creates an empty folder. It is removed when the test passes, and kept for inspection when it fails. */
export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-durability-"));
  onTestFinished(({ task }) => {
    const isKept = task.result?.state === "fail" && readdirSync(dir, { recursive: true }).length > 1;
    // Printed at once: a long run that is interrupted never prints its summary.
    const errors = task.result?.errors?.map(({ message }) => message.slice(0, 2_000)) ?? [];
    if (isKept) report([`kept ${dir}`, ...errors].join("\n  "));
    else rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

/** Copies a data folder to a temporary one. */
export function copyToTemporary(dir: string): string {
  const copy = join(temporaryFolder(), "data");
  copyFolder(dir, copy);
  return copy;
}

/** Copies a data folder. Holes in files stay holes; Node's own copy function would fill them. */
export function copyFolder(dir: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", dir, to]);
  if (status !== 0) throw new Error(`cp: ${stderr.toString()}`);
}

function hashText(name: string): number {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0;
  return hash;
}
