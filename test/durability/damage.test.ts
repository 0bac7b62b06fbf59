/**
 * Flipped bits, truncated and removed files: nothing crashes or hangs, every row that is returned is the row that was
 * sent, missing rows were reported, and the store continues to work.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../engine/index.ts";
import type { Random } from "../../fixtures/random.ts";
import { copyFolder, copyToTemporary, report, scaled, seed, seededRandom } from "./campaign.ts";
import type { ReadAnswer } from "./command.ts";
import { Driver } from "./driver.ts";
import { inflictFault, storeKinds } from "./fault.ts";
import { firstTextBatch, keyOf, rowsOf, textFile } from "./rows/batches.ts";
import { StoredChunks } from "./rows/stored-chunks.ts";

/** An undamaged store, of which the tests damage copies. */
interface Base {
  dir: string;
  batches: number[];
  rows: number;
  chunks: StoredChunks;
}

/** Texts are many, but in one file of many. */
const kinds = [...storeKinds, textFile, textFile];

/** The batch that is appended to a damaged store to show that it still works. */
const laterBatch = 9_000;

const topDir = mkdtempSync(join(tmpdir(), "svc-durability-base-"));
/** One store was shut down cleanly; the other is as a killed process leaves it. */
const bases: Base[] = [];

beforeAll(async () => {
  bases.push(...(await buildBases(join(topDir, "closed"), join(topDir, "killed"))));
});
afterAll(() => rmSync(topDir, { recursive: true, force: true }));

/**
 * Builds stores with chunks on several days, some of them merged, so that there are free pages; and with rows only in
 * the journal.
 */
async function buildBases(dir: string, killedDir: string): Promise<Base[]> {
  const driver = new Driver(seed);
  await driver.run({ do: "open", dir });
  const batches: number[] = [];
  for (let round = 0; round < 11; round++) {
    const newBatches = [round * 2 + 1, round * 2 + 2];
    // Two chunks whose texts are compressed in blocks.
    if (round === 3 || round === 8) newBatches.push(firstTextBatch + round);
    await driver.run({ do: "append", batches: newBatches });
    batches.push(...newBatches);
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
  return [dir, killedDir].map((base) => {
    const chunks = new StoredChunks(base);
    expect(chunks.hasBlocks).toBe(true);
    return { dir: base, batches, rows, chunks };
  });
}

/** The process that opens the damaged stores, one after the other; it is replaced after a crash. */
class RestartableDriver {
  driver = new Driver(seed);

  async restart(): Promise<void> {
    await this.driver.kill();
    this.driver = new Driver(seed);
  }
}

describe("a damaged store", () => {
  test("damaged at rest: returns what is intact, reports the rest, and continues to work", async () => {
    const random = seededRandom("damage at rest");
    await campaign(scaled(3, 300), random, async (driver, base, dir, setFaults) => {
      const faults = inflictFaults(random, dir);
      setFaults(faults);
      return examine(driver, base, dir, faults, random);
    });
  });

  test("damaged under a running process: the same", async () => {
    const random = seededRandom("damage under a running process");
    await campaign(scaled(2, 120), random, async (driver, base, dir, setFaults) => {
      await driver.run({ do: "open", dir });
      if (random.oneIn(2)) await driver.run({ do: "read", pageRows: 5_000 });
      const faults = inflictFaults(random, dir);
      setFaults(faults);
      return examineRunning(driver, base, dir, faults, random);
    });
  });
});

/** One damaged folder: damages it, reports how by `setFaults`, and returns all problems. */
type Case = (
  driver: Driver,
  base: Base,
  dir: string,
  setFaults: (faults: string) => void,
) => Promise<string[]>;

async function campaign(cases: number, random: Random, examineOne: Case): Promise<void> {
  const restartable = new RestartableDriver();
  const failures: string[] = [];
  for (let i = 0; i < cases; i++) {
    const base = random.pick(bases);
    const dir = copyToTemporary(base.dir);
    let faults = "";
    let problems: string[];
    try {
      problems = await examineOne(restartable.driver, base, dir, (text) => {
        faults = text;
      });
    } catch (error) {
      // A command that must not fail has failed, or the process crashed or hung.
      problems = [error instanceof Error ? error.message : String(error)];
      await restartable.restart();
    }
    if (problems.length === 0) rmSync(dir, { recursive: true });
    else
      failures.push(
        `case ${i} of ${base.dir.split("/").at(-1)}, now ${dir} (${faults}): ${problems.join("\n  ")}`,
      );
    if (problems.length > 0) report(failures.at(-1)!);
  }
  await restartable.driver.kill();
  report(`${cases} damaged folders`);
  expect(failures).toEqual([]);
}

function inflictFaults(random: Random, dir: string): string {
  const count = random.oneIn(5) ? 2 : 1;
  return Array.from({ length: count }, () => inflictFault(random, dir, kinds)).join("; ");
}

async function examine(
  driver: Driver,
  base: Base,
  dir: string,
  faults: string,
  random: Random,
): Promise<string[]> {
  const rowsMin = countIntactRows(base, dir, faults);
  const verified = await orRefused(driver.run({ do: "verify", dir }), faults);
  const opened = await orRefused(driver.run({ do: "open", dir }), faults);
  // Without a readable "format" file nobody can tell what the folder is: it is refused with an error.
  if (opened === "refused") return verified === "refused" ? [] : ["open refuses what verify does not"];
  const answer = await driver.run({ do: "read", pageRows: 5_000 });
  const problems = checkAnswer(base, answer, rowsMin);
  const isDamaged = answer.contents.rows < base.rows || answer.stats.damage.length > 0;
  if (verified !== "refused" && isDamaged && verified.damage.length === 0) {
    problems.push(`verify reported nothing, open this: ${JSON.stringify(answer.stats.damage)}`);
  }
  return [...problems, ...(await checkContinues(driver, base, dir, answer, random))];
}

async function examineRunning(
  driver: Driver,
  base: Base,
  dir: string,
  faults: string,
  random: Random,
): Promise<string[]> {
  const rowsMin = countIntactRows(base, dir, faults);
  // Where a tree is damaged, whole chunks are hidden until the store has repaired it, some seconds later or at its start.
  const rowsShownMin = faults.includes("data.mdb") ? 0 : rowsMin;
  const first = await driver.run({ do: "read", pageRows: 5_000 });
  const problems = checkAnswer(base, first, rowsShownMin);
  if (random.oneIn(2)) {
    // Without its file "holder" a running store cannot tell whether another process opened the folder.
    await orRefused(driver.run({ do: "seal" }), faults, "holder: removed");
    problems.push(...checkAnswer(base, await driver.run({ do: "read", pageRows: 5_000 }), rowsShownMin));
  }
  await orRefused(driver.run({ do: "close" }), faults, "holder: removed");
  const opened = await orRefused(driver.run({ do: "open", dir }), faults);
  if (opened === "refused") return problems;
  const answer = await driver.run({ do: "read", pageRows: 5_000 });
  return [
    ...problems,
    ...checkAnswer(base, answer, rowsMin),
    ...(await checkContinues(driver, base, dir, answer, random)),
  ];
}

/** Rows that must be found: those of chunks that no fault has touched, and of a journal that none has touched. */
function countIntactRows({ rows, chunks }: Base, dir: string, faults: string): number {
  const isJournalTouched = faults.split("; ").some((fault) => /^(?:journal\/|closed)/.test(fault));
  return chunks.countWholeRows(dir) + (isJournalTouched ? 0 : rows - chunks.rows);
}

/** Rows that were returned must be right, those of intact files must be there, and missing ones must be reported. */
function checkAnswer(base: Base, { contents, stats, events }: ReadAnswer, rowsMin: number): string[] {
  const problems = [...contents.problems];
  if (contents.rows < rowsMin)
    problems.push(`${contents.rows} rows, ${rowsMin} are in files without a fault`);
  const missing = base.rows - contents.rows;
  if (missing > 0 && stats.damage.length === 0 && events.length === 0)
    problems.push(`${missing} rows are silently missing`);
  return problems;
}

/** Returns whether lost chunks are reported; every later process must report them too. */
function reportsLostChunks({ stats }: ReadAnswer): boolean {
  return stats.damage.some(
    ({ where, problem }) =>
      where.startsWith("logs/") && /quarantined|left out|are lost|without its manifest/.test(problem),
  );
}

/** Checks that later rows are kept, that idempotency keys are still known, and that no more rows are lost. */
async function checkContinues(
  driver: Driver,
  base: Base,
  dir: string,
  before: ReadAnswer,
  random: Random,
): Promise<string[]> {
  const problems: string[] = [];
  const keyed = base.batches.filter((batch) => keyOf(seed, batch) !== undefined);
  const isUndamaged = before.stats.damage.length === 0 && before.events.length === 0;
  const again = await driver.run({ do: "append", batches: keyed });
  const takenTwice = again.filter(({ duplicate }) => !duplicate).map(({ batch }) => batch);
  if (isUndamaged && takenTwice.length > 0)
    problems.push(`keys of batches ${takenTwice.join(", ")} were silently forgotten`);
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
    if (reportsLostChunks(before) && !reportsLostChunks(answer))
      problems.push(`after the ${step}: the loss was forgotten`);
    // A batch whose key was lost was taken a second time; the loss was reported.
    if (takenTwice.length > 0) continue;
    problems.push(...contents.problems.map((problem) => `after the ${step}: ${problem}`));
    if (contents.rows !== expected)
      problems.push(`${expected} rows before the ${step}, ${contents.rows} after`);
  }
  await driver.run({ do: "close" });
  return problems;
}

/** Returns "refused" where the folder was refused; only a fault that begins with `reason` may cause that. */
async function orRefused<T>(answer: Promise<T>, faults: string, reason = "format"): Promise<T | "refused"> {
  try {
    return await answer;
  } catch (error) {
    const isDue = faults.split("; ").some((fault) => fault.startsWith(reason));
    if (error instanceof Failure && error.kind === "folder" && isDue) return "refused";
    throw error;
  }
}
