/**
 * kill -9 at the entry of a random system call that changes the data folder: between a commit and its manifest, or
 * during a merge, a garbage collection, a removal, a repair or an open.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { copyToTemporary, isSoak, report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import type { Command, ReadAnswer } from "./command.ts";
import { Driver } from "./driver.ts";
import { zeroPage } from "./fault.ts";
import { dayMs, firstDayMs, nowMs, rowsOf } from "./rows/batches.ts";
import { Ledger } from "./rows/ledger.ts";
import { callSitesOf, hasStrace, killingWrapper, straceWrapper } from "./trace.ts";

const modifyingCalls = new Set([
  "pwrite64",
  "pwritev",
  "writev",
  "fdatasync",
  "fsync",
  "rename",
  "unlink",
  "ftruncate",
  "mkdir",
  "rmdir",
]);

/** The n-th call of a kind on one thread. */
interface CallSite {
  call: string;
  nth: number;
}

/** Rounds of appending and sealing. From eight chunks a day on, chunks are merged. */
const rounds = 11;

function commandsOf(round: number): Command[] {
  const batches = [1, 2, 3].map((i) => round * 3 + i);
  return [{ do: "append", batches }, { do: "append", batches: batches.slice(1), times: 2 }, { do: "seal" }];
}

async function fill(driver: Driver, dir: string, ledger: Ledger): Promise<void> {
  await driver.run({ do: "open", dir });
  for (let round = 0; round < rounds; round++) {
    for (const command of commandsOf(round)) {
      if (command.do !== "append") {
        await driver.run(command);
        continue;
      }
      ledger.addSent(command.batches);
      // Only batches with keys may be sent twice.
      const batches =
        command.times === undefined ? command.batches : command.batches.filter((batch) => batch % 3 !== 0);
      expect(ledger.addAnswers(await driver.run({ ...command, batches }))).toEqual([]);
    }
  }
  await driver.run({ do: "close" });
}

describe.skipIf(!hasStrace())("under strace (skipped where there is none)", () => {
  const top = mkdtempSync(join(tmpdir(), "svc-durability-base-"));
  /** A store that was filled and closed under strace. */
  const base = join(top, "data");
  /** The system calls that this took. */
  let fillCallSites: CallSite[];

  beforeAll(async () => {
    const logFile = join(top, "strace");
    const driver = new Driver(seed, { wrapper: straceWrapper(logFile) });
    await fill(driver, base, new Ledger(seed));
    await driver.kill();
    fillCallSites = callSitesOf(logFile, modifyingCalls);
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));

  test("a store killed at any system call opens with every acknowledged batch", async () => {
    const random = seededRandom("kill at system calls");
    const callSites = fillCallSites;
    let kills = 0;
    for (let trial = 0; trial < scaled(2, 80); trial++) {
      const dir = join(temporaryFolder(), "data");
      const ledger = new Ledger(seed);
      const callSite = random.pick(callSites);
      if (await killAt(callSite, (driver) => fill(driver, dir, ledger))) kills++;
      // A second kill while it opens and recovers.
      if (random.oneIn(2)) await killAt(random.pick(callSites), (driver) => openAndSeal(driver, dir));
      expect(await findProblems(dir, ledger), `${callSite.call} ${callSite.nth}, ${dir}`).toEqual([]);
    }
    expect(kills).toBeGreaterThan(0);
    report(`killed at ${kills} system calls of ${callSites.length}`);
  });

  test("after a kill during the first opening the folder opens without damage", async () => {
    const random = seededRandom("kill at the first opening");
    const open = async (driver: Driver, dir: string) => {
      await driver.run({ do: "open", dir });
      // Closed, so that a kill at its last calls is noticed as well.
      await driver.run({ do: "close" });
    };
    const callSites = await findCallSites(open, undefined);
    const chosen = isSoak ? callSites : [random.pick(callSites), random.pick(callSites)];
    for (const callSite of chosen) {
      const dir = join(temporaryFolder(), "data");
      await killAt(callSite, (driver) => open(driver, dir));
      expect(await findProblems(dir, new Ledger(seed)), `${callSite.call} ${callSite.nth}, ${dir}`).toEqual(
        [],
      );
    }
    report(`killed at ${chosen.length} of ${callSites.length} calls of a first opening`);
  });

  test("a kill during a removal by retention: the removal is finished later, and nothing is damaged", async () => {
    const random = seededRandom("kill while retention removes");
    // Retention removes two of the five days.
    const retention = { nowMs, retentionAgeMs: nowMs - (firstDayMs + 2 * dayMs) };
    const firstKeptNs = BigInt(firstDayMs + 2 * dayMs) * 1_000_000n;
    let kept = 0;
    for (let batch = 1; batch <= rounds * 3; batch++) {
      kept += rowsOf(seed, batch).filter(({ timeNs }) => timeNs >= firstKeptNs).length;
    }
    const remove = async (driver: Driver, dir: string) => {
      await driver.run({ do: "open", dir, ...retention });
      await driver.run({ do: "seal" });
    };
    const callSites = await findCallSites(remove, base);
    for (let trial = 0; trial < scaled(1, 25); trial++) {
      const dir = copyToTemporary(base);
      const callSite = random.pick(callSites);
      await killAt(callSite, (driver) => remove(driver, dir));
      const after = new Driver(seed);
      await remove(after, dir);
      const { contents, stats, events } = await after.run({ do: "read" });
      await after.kill();
      const found = { problems: contents.problems, rows: contents.rows, damage: stats.damage, events };
      expect(found, `${callSite.call} ${callSite.nth}, ${dir}`).toEqual({
        problems: [],
        rows: kept,
        damage: [],
        events: [],
      });
    }
  });

  test("a kill during a repair loses nothing that a complete repair keeps", async () => {
    const random = seededRandom("kill while a damaged tree is repaired");
    for (let trial = 0; trial < scaled(1, 25); trial++) {
      const damaged = copyToTemporary(base);
      zeroPage(random, damaged);
      const whole = await readFolder(copyToTemporary(damaged));
      const open = async (driver: Driver, dir: string) => {
        await driver.run({ do: "open", dir });
      };
      const callSites = await findCallSites(open, damaged);
      const dir = copyToTemporary(damaged);
      const callSite = random.pick(callSites);
      await killAt(callSite, (driver) => open(driver, dir));
      const { contents } = await readFolder(dir);
      expect(contents, `${callSite.call} ${callSite.nth}, ${dir}`).toEqual(whole.contents);
    }
  });
});

/** Runs the work once under strace on a copy of `base`, or on a new folder, and returns the calls that it makes. */
async function findCallSites(
  work: (driver: Driver, dir: string) => Promise<void>,
  base: string | undefined,
): Promise<CallSite[]> {
  const logFile = join(temporaryFolder(), "strace");
  const driver = new Driver(seed, { wrapper: straceWrapper(logFile) });
  await work(driver, base === undefined ? join(temporaryFolder(), "data") : copyToTemporary(base));
  await driver.kill();
  return callSitesOf(logFile, modifyingCalls);
}

/** Runs the work in a process that is killed at that call. Returns whether the call was reached. */
async function killAt({ call, nth }: CallSite, work: (driver: Driver) => Promise<void>): Promise<boolean> {
  const driver = new Driver(seed, { wrapper: killingWrapper(call, nth) });
  try {
    await work(driver);
    return false;
  } catch (error) {
    if (!/the process ended .*SIGKILL/.test(String(error))) throw error;
    return true;
  } finally {
    await driver.kill();
  }
}

async function openAndSeal(driver: Driver, dir: string): Promise<void> {
  await driver.run({ do: "open", dir });
  await driver.run({ do: "seal" });
  await driver.run({ do: "close" });
}

/** Verifies and opens the folder, compares its contents with the ledger, and returns all problems. */
async function findProblems(dir: string, ledger: Ledger): Promise<string[]> {
  const driver = new Driver(seed);
  try {
    const { damage } = existsSync(join(dir, "format"))
      ? await driver.run({ do: "verify", dir })
      : { damage: [] };
    await driver.run({ do: "open", dir });
    const problems = ledger.compare(await driver.run({ do: "read", pageRows: 5_000 }));
    await driver.run({ do: "seal" });
    problems.push(...ledger.compare(await driver.run({ do: "read", pageRows: 5_000 })));
    await driver.run({ do: "close" });
    const after = await driver.run({ do: "verify", dir });
    return [
      ...problems,
      ...[...damage, ...after.damage].map(({ where, problem }) => `verify: ${where}: ${problem}`),
    ];
  } finally {
    await driver.kill();
  }
}

async function readFolder(dir: string): Promise<ReadAnswer> {
  const driver = new Driver(seed);
  try {
    await driver.run({ do: "open", dir });
    return await driver.run({ do: "read", pageRows: 5_000 });
  } finally {
    await driver.kill();
  }
}
