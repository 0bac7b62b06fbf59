/**
 * kill -9 at the entry of one system call or another that changes the data folder: between a commit and its manifest, within
 * a merge, a sweep, a removal, a repair, an opening.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dayMs, firstDayMs, nowMs, rowsOf } from "./batches.ts";
import { copyOf, isSoak, report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import type { Command, ReadAnswer } from "./command.ts";
import { Driver } from "./driver.ts";
import { zeroPage } from "./fault.ts";
import { Ledger } from "./ledger.ts";
import { hasStrace, killingWrapper, placesOf, straceWrapper } from "./trace.ts";

const changing = new Set([
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

interface Place {
  call: string;
  nth: number;
}

/** Fills, seals, merges and closes a store; each round seals, and from eight chunks a day on they are merged. */
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
      ledger.sent(command.batches);
      // Only batches with keys may be sent twice.
      const batches =
        command.times === undefined ? command.batches : command.batches.filter((batch) => batch % 3 !== 0);
      expect(ledger.heard(await driver.run({ ...command, batches }))).toEqual([]);
    }
  }
  await driver.run({ do: "close" });
}

describe.skipIf(!hasStrace())("under strace (skipped where there is none)", () => {
  const top = mkdtempSync(join(tmpdir(), "svc-durability-base-"));
  /** A store that was filled and closed, and the calls that this took. */
  const base = join(top, "data");
  let fillPlaces: Place[];

  beforeAll(async () => {
    const logFile = join(top, "strace");
    const driver = new Driver(seed, { wrapper: straceWrapper(logFile) });
    await fill(driver, base, new Ledger(seed));
    await driver.kill();
    fillPlaces = placesOf(logFile, changing);
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));

  test("a store killed at any system call opens with what was acknowledged", async () => {
    const random = seededRandom("kill at system calls");
    const places = fillPlaces;
    let struck = 0;
    for (let trial = 0; trial < scaled(2, 80); trial++) {
      const dir = join(temporaryFolder(), "data");
      const ledger = new Ledger(seed);
      const place = random.pick(places);
      if (await dies(place, (driver) => fill(driver, dir, ledger))) struck++;
      // A second death while it opens and recovers.
      if (random.oneIn(2)) await dies(random.pick(places), (driver) => openAndSeal(driver, dir));
      expect(await stateOf(dir, ledger), `${place.call} ${place.nth}, ${dir}`).toEqual([]);
    }
    expect(struck).toBeGreaterThan(0);
    report(`killed at ${struck} system calls of ${places.length}`);
  });

  test("a first opening that was cut short leaves a folder that opens, without damage", async () => {
    const random = seededRandom("kill at the first opening");
    const open = async (driver: Driver, dir: string) => {
      await driver.run({ do: "open", dir });
      // Closed, lest nobody sees it die at its last calls.
      await driver.run({ do: "close" });
    };
    const places = await placesIn(open, undefined);
    const some = isSoak ? places : [random.pick(places), random.pick(places)];
    for (const place of some) {
      const dir = join(temporaryFolder(), "data");
      await dies(place, (driver) => open(driver, dir));
      expect(await stateOf(dir, new Ledger(seed)), `${place.call} ${place.nth}, ${dir}`).toEqual([]);
    }
    report(`killed at ${some.length} of ${places.length} calls of a first opening`);
  });

  test("a removal by retention that was cut short is finished, and is no damage", async () => {
    const random = seededRandom("kill while retention removes");
    // Two of the five days are past.
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
    const places = await placesIn(remove, base);
    for (let trial = 0; trial < scaled(1, 25); trial++) {
      const dir = copyOf(base);
      const place = random.pick(places);
      await dies(place, (driver) => remove(driver, dir));
      const after = new Driver(seed);
      await remove(after, dir);
      const { contents, stats, events } = await after.run({ do: "read" });
      await after.kill();
      const found = { problems: contents.problems, rows: contents.rows, damage: stats.damage, events };
      expect(found, `${place.call} ${place.nth}, ${dir}`).toEqual({
        problems: [],
        rows: kept,
        damage: [],
        events: [],
      });
    }
  });

  test("a repair that was cut short loses nothing that a whole one keeps", async () => {
    const random = seededRandom("kill while a damaged tree is repaired");
    for (let trial = 0; trial < scaled(1, 25); trial++) {
      const damaged = copyOf(base);
      zeroPage(random, damaged);
      const whole = await contentsOf(copyOf(damaged));
      const open = async (driver: Driver, dir: string) => {
        await driver.run({ do: "open", dir });
      };
      const places = await placesIn(open, damaged);
      const dir = copyOf(damaged);
      const place = random.pick(places);
      await dies(place, (driver) => open(driver, dir));
      const { contents } = await contentsOf(dir);
      expect(contents, `${place.call} ${place.nth}, ${dir}`).toEqual(whole.contents);
    }
  });
});

/** Runs the work once under strace on a copy of a folder, or on a new one, to see which calls it makes. */
async function placesIn(
  work: (driver: Driver, dir: string) => Promise<void>,
  base: string | undefined,
): Promise<Place[]> {
  const logFile = join(temporaryFolder(), "strace");
  const driver = new Driver(seed, { wrapper: straceWrapper(logFile) });
  await work(driver, base === undefined ? join(temporaryFolder(), "data") : copyOf(base));
  await driver.kill();
  return placesOf(logFile, changing);
}

/** Whether the process met its end at that place. */
async function dies({ call, nth }: Place, work: (driver: Driver) => Promise<void>): Promise<boolean> {
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

async function stateOf(dir: string, ledger: Ledger): Promise<string[]> {
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

async function contentsOf(dir: string): Promise<ReadAnswer> {
  const driver = new Driver(seed);
  try {
    await driver.run({ do: "open", dir });
    return await driver.run({ do: "read", pageRows: 5_000 });
  } finally {
    await driver.kill();
  }
}
