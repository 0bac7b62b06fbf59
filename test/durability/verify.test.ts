/** verifyStore reports no damage of an intact store, even while another process writes to it, and changes nothing. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Failure, openStore, readInventory, type SignalInventory, verifyStore } from "../../engine/index.ts";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import { Driver } from "./driver.ts";
import { nowMs, rowsOf } from "./rows/batches.ts";
import type { WriterPlan } from "./writer.ts";

/** Path, time of change and content hash of every file. */
function fingerprintFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return `${path} ${statSync(path).mtimeMs} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`;
    })
    .sort();
}

test("an intact store has no damage, whether it was closed or killed, and verify changes no file", async () => {
  const dir = join(temporaryFolder(), "data");
  await (await openStore({ dir, threads: 1 })).close();
  expect(await verifyStore(dir)).toMatchObject({ chunks: 0, rows: 0, damage: [] });
  for (const end of ["close", "kill"] as const) {
    const driver = new Driver(seed);
    await driver.run({ do: "open", dir });
    for (let batch = 1; batch <= 20; batch += 2) {
      await driver.run({ do: "append", batches: [batch, batch + 1] });
      await driver.run({ do: "seal" });
    }
    await driver.run({ do: "append", batches: [100, 101] });
    const { stats } = await driver.run({ do: "read", pageRows: 5_000 });
    if (end === "close") await driver.run({ do: "close" });
    await driver.kill();
    const before = fingerprintFiles(dir);
    const progress: number[] = [];
    const verified = await verifyStore(dir, ({ bytes, bytesTotal }) => progress.push(bytes / bytesTotal));
    expect(verified.damage).toEqual([]);
    expect(verified).toMatchObject({
      chunks: stats.chunks,
      rows: stats.rows - stats.unsealedRows,
      unsealedRows: stats.unsealedRows,
    });
    const inventories = await readInventory(dir);
    const sum = (of: (each: SignalInventory) => number) =>
      inventories.reduce((all, each) => all + of(each), 0);
    expect(sum(({ rows }) => rows)).toBe(verified.rows);
    expect(sum(({ unsealedRows }) => unsealedRows)).toBe(verified.unsealedRows);
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
    expect(fingerprintFiles(dir)).toEqual(before);
  }
});

test("no damage is reported while another process appends, seals and merges", async () => {
  const random = seededRandom("verify beside a writer");
  const dir = join(temporaryFolder(), "data");
  const plan: WriterPlan = {
    dir,
    seed,
    batchMin: 1,
    clients: 3,
    again: [],
    appendPauseMs: random.pick([5, 30]),
    sealPauseMs: 20,
    runMs: scaled(3_000, 60_000),
  };
  const writer = new Child("writer.ts", plan);
  await writer.waitForLine((line) => line === "open", { timeoutMs: 60_000 });
  let isWriting = true;
  void writer.ended.then(() => {
    isWriting = false;
  });
  let times = 0;
  let rows = 0;
  while (isWriting) {
    const verified = await verifyStore(dir);
    expect(verified.damage).toEqual([]);
    rows = Math.max(rows, verified.rows);
    times++;
  }
  expect(await writer.ended, writer.stderr).toEqual({ code: 0, signal: null });
  expect(rows).toBeGreaterThan(0);
  report(`verified ${times} times beside a writer, up to ${rows} rows`);
});

test("a folder that is no store is refused with an error", async () => {
  const dir = temporaryFolder();
  await expect(verifyStore(dir)).rejects.toThrow(/is no data folder of svc/);
  await expect(verifyStore(join(dir, "missing"))).rejects.toBeInstanceOf(Failure);
});

test("a second process is refused while the first has the folder open, and accepted after the first was killed", async () => {
  const dir = join(temporaryFolder(), "data");
  const first = new Driver(seed);
  await first.run({ do: "open", dir });
  await first.run({ do: "append", batches: [1] });
  const second = new Driver(seed);
  await expect(second.run({ do: "open", dir })).rejects.toMatchObject({ kind: "folder" });
  await expect(openStore({ dir })).rejects.toThrow(/is in use by process \d+/);
  expect((await verifyStore(dir)).damage).toEqual([]);
  await first.kill();
  await second.run({ do: "open", dir });
  const { contents } = await second.run({ do: "read" });
  expect(contents).toMatchObject({ rows: rowsOf(seed, 1).length, problems: [] });
  await second.kill();
});

test("of several processes that open a folder at once exactly one succeeds", async () => {
  const dir = join(temporaryFolder(), "data");
  await (await openStore({ dir, threads: 1, now: () => nowMs })).close();
  const drivers = Array.from({ length: 4 }, () => new Driver(seed));
  for (let round = 0; round < scaled(4, 80); round++) {
    const answers = await Promise.allSettled(drivers.map((driver) => driver.run({ do: "open", dir })));
    const winners = drivers.filter((_, i) => answers[i]!.status === "fulfilled");
    expect(winners.length).toBe(1);
    // In every second round the winner is killed, and its lock stays.
    if (round % 2 === 0) await winners[0]!.run({ do: "close" });
    else {
      const at = drivers.indexOf(winners[0]!);
      await drivers[at]!.kill();
      drivers[at] = new Driver(seed);
      // Once it answers, the new process has started, and in the next round all four find the lock of a dead process at
      // the same time.
      await drivers[at].run({ do: "verify", dir });
    }
  }
  await Promise.all(drivers.map((driver) => driver.kill()));
});
