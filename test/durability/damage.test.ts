/**
 * Flipped bits, cut and removed files: nothing crashes or hangs, every row that comes back is the row that was sent, what is
 * missing was reported, and the store goes on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../engine/index.ts";
import type { Random } from "../../fixtures/random.ts";
import { keyOf, rowsOf } from "./batches.ts";
import { copyFolder, copyOf, report, scaled, seed, seededRandom } from "./campaign.ts";
import type { ReadAnswer } from "./command.ts";
import { Driver } from "./driver.ts";
import { inflict } from "./fault.ts";

interface Base {
  dir: string;
  batches: number[];
  rows: number;
}

/** Batches that a damaged store is given to show that it goes on. */
const laterBatch = 9_000;

const top = mkdtempSync(join(tmpdir(), "svc-durability-base-"));
/** One store was closed in good order, the other is as a killed process would have left it. */
const bases: Base[] = [];

beforeAll(async () => {
  bases.push(...(await buildBases(join(top, "closed"), join(top, "killed"))));
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

/** Chunks on several days, some of them merged, so that pages are free; and rows that only the journal has. */
async function buildBases(dir: string, killedDir: string): Promise<Base[]> {
  const driver = new Driver(seed);
  await driver.run({ do: "open", dir });
  const batches: number[] = [];
  for (let round = 0; round < 11; round++) {
    const fresh = [round * 2 + 1, round * 2 + 2];
    await driver.run({ do: "append", batches: fresh });
    batches.push(...fresh);
    if (round < 10) await driver.run({ do: "seal" });
    if (round === 5) {
      await driver.run({ do: "close" });
      await driver.run({ do: "open", dir });
    }
  }
  copyFolder(dir, killedDir);
  await driver.run({ do: "close" });
  await driver.kill();
  const rows = batches.reduce((sum, batch) => sum + rowsOf(seed, batch).length, 0);
  return [dir, killedDir].map((base) => ({ dir: base, batches, rows }));
}

/** The process that opens the damaged stores: one after the other, another one after a crash. */
class Bench {
  driver = new Driver(seed);

  async renew(): Promise<void> {
    await this.driver.kill();
    this.driver = new Driver(seed);
  }
}

describe("a damaged store", () => {
  test("damaged at rest: answers with what is whole, reports the rest, goes on", async () => {
    const random = seededRandom("damage at rest");
    await campaign(scaled(6, 300), random, async (driver, base, dir, note) => {
      const faults = inflictSome(random, dir);
      note(faults);
      return examine(driver, base, dir, faults, random);
    });
  });

  test("damaged under a running process: the same", async () => {
    const random = seededRandom("damage under a running process");
    await campaign(scaled(3, 120), random, async (driver, base, dir, note) => {
      await driver.run({ do: "open", dir });
      if (random.oneIn(2)) await driver.run({ do: "read", pageRows: 5_000 });
      note(inflictSome(random, dir));
      return examineRunning(driver, base, dir, random);
    });
  });
});

/** Damages the folder, notes how, and returns what was not as it must be. */
type Case = (driver: Driver, base: Base, dir: string, note: (faults: string) => void) => Promise<string[]>;

async function campaign(cases: number, random: Random, examineOne: Case): Promise<void> {
  const bench = new Bench();
  const failures: string[] = [];
  for (let i = 0; i < cases; i++) {
    const base = random.pick(bases);
    const dir = copyOf(base.dir);
    let faults = "";
    let problems: string[];
    try {
      problems = await examineOne(bench.driver, base, dir, (text) => {
        faults = text;
      });
    } catch (error) {
      // A command that must not fail, a crash or a hang.
      problems = [error instanceof Error ? error.message : String(error)];
      await bench.renew();
    }
    if (problems.length === 0) rmSync(dir, { recursive: true });
    else
      failures.push(
        `case ${i} of ${base.dir.split("/").at(-1)}, now ${dir} (${faults}): ${problems.join("\n  ")}`,
      );
    if (problems.length > 0) report(failures.at(-1)!);
  }
  await bench.driver.kill();
  report(`${cases} damaged folders`);
  expect(failures).toEqual([]);
}

function inflictSome(random: Random, dir: string): string {
  const count = random.oneIn(5) ? 2 : 1;
  return Array.from({ length: count }, () => inflict(random, dir)).join("; ");
}

async function examine(
  driver: Driver,
  base: Base,
  dir: string,
  faults: string,
  random: Random,
): Promise<string[]> {
  const verified = await orRefusal(driver.run({ do: "verify", dir }), faults);
  const opened = await orRefusal(driver.run({ do: "open", dir }), faults);
  // Without a "format" that can be read nobody can say what the folder is: it is refused by name.
  if (opened === "refused") return verified === "refused" ? [] : ["open refuses what verify does not"];
  const answer = await driver.run({ do: "read", pageRows: 5_000 });
  const problems = judge(base, answer);
  const isDamaged = answer.contents.rows < base.rows || answer.stats.damage.length > 0;
  if (verified !== "refused" && isDamaged && verified.damage.length === 0) {
    problems.push(`verify reported nothing, open this: ${JSON.stringify(answer.stats.damage)}`);
  }
  return [...problems, ...(await goesOn(driver, base, dir, answer, random))];
}

async function examineRunning(driver: Driver, base: Base, dir: string, random: Random): Promise<string[]> {
  const first = await driver.run({ do: "read", pageRows: 5_000 });
  const problems = judge(base, first);
  if (random.oneIn(2)) {
    await driver.run({ do: "seal" });
    problems.push(...judge(base, await driver.run({ do: "read", pageRows: 5_000 })));
  }
  await driver.run({ do: "close" });
  const opened = await orRefusal(driver.run({ do: "open", dir }), "format");
  if (opened === "refused") return problems;
  const answer = await driver.run({ do: "read", pageRows: 5_000 });
  return [...problems, ...judge(base, answer), ...(await goesOn(driver, base, dir, answer, random))];
}

/** What came back must be right, and what did not must have been reported. */
function judge(base: Base, { contents, stats, events }: ReadAnswer): string[] {
  const problems = [...contents.problems];
  const missing = base.rows - contents.rows;
  if (missing > 0 && stats.damage.length === 0 && events.length === 0)
    problems.push(`${missing} rows are silently missing`);
  return problems;
}

/** What a partition lost is said by every later process, too. */
function lostChunks({ stats }: ReadAnswer): boolean {
  return stats.damage.some(
    ({ where, problem }) =>
      where.startsWith("logs/") && /set aside|are lost|without its manifest/.test(problem),
  );
}

/** Rows that come after the damage are kept, keys hold, and no more is lost than was. */
async function goesOn(
  driver: Driver,
  base: Base,
  dir: string,
  before: ReadAnswer,
  random: Random,
): Promise<string[]> {
  const problems: string[] = [];
  const keyed = base.batches.filter((batch) => keyOf(seed, batch) !== undefined);
  const isWhole = before.stats.damage.length === 0 && before.events.length === 0;
  const again = await driver.run({ do: "append", batches: keyed });
  const twice = again.filter(({ duplicate }) => !duplicate).map(({ batch }) => batch);
  if (isWhole && twice.length > 0)
    problems.push(`keys of batches ${twice.join(", ")} were silently forgotten`);
  await driver.run({ do: "append", batches: [laterBatch] });
  const expected = before.contents.rows + rowsOf(seed, laterBatch).length;
  for (const step of random.pick([["seal"], ["restart"], ["seal", "restart"]])) {
    if (step === "seal") await driver.run({ do: "seal" });
    else {
      await driver.run({ do: "close" });
      await driver.run({ do: "open", dir });
    }
    const answer = await driver.run({ do: "read", pageRows: 5_000 });
    const { contents } = answer;
    if (lostChunks(before) && !lostChunks(answer)) problems.push(`after the ${step}: the loss was forgotten`);
    // A batch whose key was lost came in a second time, and that was reported.
    if (twice.length > 0) continue;
    problems.push(...contents.problems.map((problem) => `after the ${step}: ${problem}`));
    if (contents.rows !== expected)
      problems.push(`${expected} rows before the ${step}, ${contents.rows} after`);
  }
  await driver.run({ do: "close" });
  return problems;
}

/** Only a damaged "format" may keep a folder from being opened. */
async function orRefusal<T>(answer: Promise<T>, faults: string): Promise<T | "refused"> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && error.kind === "folder" && /(?:^|; )format/.test(faults))
      return "refused";
    throw error;
  }
}
