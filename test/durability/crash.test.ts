/** kill -9 at random moments: each acknowledged batch is there exactly once, any other as a whole or not at all. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Random } from "../../fixtures/random.ts";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import { Driver } from "./driver.ts";
import { Ledger } from "./rows/ledger.ts";
import type { WriterPlan } from "./writer.ts";

/** Above this many rows the test continues in a new folder, because each check reads all rows. */
const folderRowsMax = 120_000;

/** The writer's output line after which it is killed, and the longest delay. */
const killMoments = [
  { after: "open", withinMs: 1_500 },
  { after: "open", withinMs: 400 },
  { after: "opening", withinMs: 150 },
  { after: "sealing", withinMs: 120 },
  { after: "sealed", withinMs: 40 },
  { after: "closing", withinMs: 60 },
] as const;

test("kill -9 under load loses no acknowledged batch", async () => {
  const random = seededRandom("kill -9 under load");
  const kills = scaled(3, 100);
  const total = { kills: 0, rows: 0, batches: 0 };
  while (total.kills < kills) {
    const dir = temporaryFolder();
    const ledger = new Ledger(seed);
    while (total.kills < kills && ledger.rows < folderRowsMax) {
      const moment = total.kills < killMoments.length ? killMoments[total.kills]! : random.pick(killMoments);
      expect(await killWriter(dir, ledger, moment, random), `kill ${total.kills}, ${dir}`).toEqual([]);
      total.kills++;
      if (random.oneIn(3)) total.kills += await killReader(dir, random);
      expect(await check(dir, ledger, random), `after kill ${total.kills}, ${dir}`).toEqual([]);
    }
    total.rows += ledger.rows;
    total.batches += ledger.acknowledged.length;
  }
  report(`${total.kills} kills; ${total.batches} batches of ${total.rows} rows acknowledged, all there once`);
});

async function killWriter(
  dir: string,
  ledger: Ledger,
  moment: (typeof killMoments)[number],
  random: Random,
): Promise<string[]> {
  const plan: WriterPlan = {
    dir,
    seed,
    batchMin: ledger.batchNext,
    clients: random.between(1, 6),
    again: ledger.keyed.slice(-40),
    appendPauseMs: random.pick([0, 20, 60]),
    sealPauseMs: random.pick([5, 30, 200]),
    runMs: moment.after === "closing" ? random.between(50, 600) : 60_000,
  };
  const writer = new Child("writer.ts", plan);
  await writer.waitForLine((line) => line === moment.after, { timeoutMs: 60_000 });
  await setTimeout(random.below(moment.withinMs));
  const { code } = await writer.kill();
  const problems = ledger.addWriterLines(writer.lines);
  // Where the kill came too late, the writer has shut down cleanly.
  return code === null || code === 0 ? problems : [...problems, `exit ${code}: ${writer.stderr}`];
}

/** Kills a process while it opens the store, seals, or has it open. Returns the number of kills. */
async function killReader(dir: string, random: Random): Promise<number> {
  const driver = new Driver(seed);
  driver.start({ do: "open", dir });
  if (random.oneIn(2)) driver.start({ do: "seal" });
  await setTimeout(random.below(700));
  await driver.kill();
  return 1;
}

/** Opens the store in a new process, reads everything, and sends batches with keys again. Returns all problems. */
async function check(dir: string, ledger: Ledger, random: Random): Promise<string[]> {
  const driver = new Driver(seed);
  try {
    await driver.run({ do: "open", dir });
    const pageRows = random.between(500, 10_000);
    const problems = ledger.compare(await driver.run({ do: "read", pageRows }));
    const resent = ledger.keyed.filter(() => random.oneIn(4)).slice(-30);
    ledger.addSent(resent);
    problems.push(...ledger.addAnswers(await driver.run({ do: "append", batches: resent })));
    if (random.oneIn(3)) await driver.run({ do: "seal" });
    if (random.oneIn(3)) problems.push(...ledger.compare(await driver.run({ do: "read", pageRows })));
    if (random.oneIn(2)) await driver.run({ do: "close" });
    return problems;
  } finally {
    await driver.kill();
  }
}
