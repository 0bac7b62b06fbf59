/**
 * Flips a bit of environments that it has open for writing, goes on writing to them and closes them. Its arguments: a
 * folder, a seed, the first case and the case after the last. It prints each case before it begins, and what is wrong.
 */
import { closeSync, openSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../../../engine/failure.ts";
import { type LmdbEnvironment, openEnvironment } from "../../../engine/lmdb/environment.ts";
import { Random } from "../../../fixtures/random.ts";

/** A write or a close that takes longer hangs. */
const waitMsMax = 10_000;
/** The file may not grow by more: a reservation that follows a damaged count would fill the disk. */
const growthBytesMax = 16 * 2 ** 20;
const [folder, ...numbers] = process.argv.slice(2) as [string, ...string[]];
const [seed, first, end] = numbers.map(Number) as [number, number, number];

for (let i = first; i < end; i++) {
  console.log(`case ${i}`);
  const problem = await runCase(new Random(seed, i), join(folder, String(i)));
  if (problem === undefined) continue;
  console.log(`problem ${problem}`);
  // What hangs would keep the process alive.
  process.exit(1);
}

async function runCase(random: Random, dir: string): Promise<string | undefined> {
  let environment = openEnvironment(dir, { readOnly: false });
  for (let k = random.between(3, 25); k > 0; k--) await change(random, environment);
  if (random.oneIn(2)) {
    await environment.close();
    environment = openEnvironment(dir, { readOnly: false });
    if (random.oneIn(2)) await change(random, environment);
  }
  const file = join(dir, "data.mdb");
  const { size } = statSync(file);
  flipBit(random, file, size);
  for (let k = 0; k < 6; k++) {
    const problem = await attempt(`write ${k}`, () => change(random, environment));
    if (problem !== undefined) return problem;
  }
  if (statSync(file).size > size + growthBytesMax) return `the file grew to ${statSync(file).size} bytes`;
  const problem = await attempt("close", () => environment.close());
  rmSync(dir, { recursive: true });
  return problem;
}

/** Puts and removes some keys. */
function change(random: Random, environment: LmdbEnvironment): Promise<void> {
  return environment.write((to) => {
    for (let i = random.between(1, 20); i > 0; i--) {
      const key = Buffer.from(`key ${String(random.below(200)).padStart(4, "0")}`);
      const bytes = random.oneIn(4) ? random.between(5_000, 60_000) : random.between(20, 900);
      if (random.oneIn(3)) to.remove(key);
      else to.put(key, Buffer.alloc(bytes, random.below(256)));
    }
  });
}

/** Flips one bit: in every other case in the first bytes of a page, which say what it is. */
function flipBit(random: Random, file: string, size: number): void {
  const pageBytes = 4096;
  const page = random.below(Math.floor(size / pageBytes));
  const at = random.oneIn(2) ? page * pageBytes + random.below(160) : random.below(size);
  const fd = openSync(file, "r+");
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, at);
  byte[0]! ^= 1 << random.below(8);
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
}

/** What is wrong with how an action ended: it may be refused as damage. */
async function attempt(what: string, act: () => Promise<void>): Promise<string | undefined> {
  const hangs = sleep(waitMsMax, `${what} hangs`, { ref: false });
  const ended = act().then(
    () => undefined,
    (error: unknown) =>
      error instanceof Failure && error.kind === "damage" ? undefined : `${what}: ${String(error)}`,
  );
  return Promise.race([ended, hangs]);
}
