/** Lost rows are reported as long as they are missing: by the process that finds the damage and by every later one. */
import { readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type DamageReport,
  openStore,
  type Store,
  type StoreOptions,
  verifyStore,
} from "../../engine/index.ts";
import { report, seed, temporaryFolder } from "./campaign.ts";
import { dayMs, firstDayMs, nowMs, rowsOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";

const rounds = 5;

function open(dir: string, options: Partial<StoreOptions> = {}): Promise<Store> {
  return openStore({ dir, threads: 1, now: () => nowMs, ...options });
}

/** Appends and seals some batches one after the other; returns their number of rows. */
async function fill(store: Store, batchMin: number): Promise<number> {
  let rows = 0;
  for (let batch = batchMin; batch < batchMin + rounds; batch++) {
    await store.append("logs", rowsOf(seed, batch));
    await store.seal();
    rows += rowsOf(seed, batch).length;
  }
  return rows;
}

async function rowsIn(store: Store): Promise<number> {
  const { rows, problems } = await readContents(store, seed, 5_000);
  expect(problems).toEqual([]);
  return rows;
}

function partitionsOf(dir: string): string[] {
  return readdirSync(join(dir, "logs")).map((name) => join(dir, "logs", name));
}

/** The number of rows in all chunks that are reported as lost; each chunk counts once. */
function lostRows(damage: readonly DamageReport[]): number {
  const lost = new Map<string, number>();
  for (const { where, problem } of damage) {
    const [, day, chunk, rows] = /^logs\/(\S+) .*?chunk (\d+).*?(\d+) rows/.exec(`${where} ${problem}`) ?? [];
    if (rows !== undefined) lost.set(`${day} ${chunk}`, Number(rows));
  }
  return [...lost.values()].reduce((sum, rows) => sum + rows, 0);
}

test("chunks that a repair could not salvage are reported by later processes and by verify, until retention removes the day", async () => {
  report(`losses: SVC_SEED=${seed}`);
  const dir = join(temporaryFolder(), "data");
  let store = await open(dir);
  let sent = await fill(store, 1);
  for (const partition of partitionsOf(dir)) {
    const file = join(partition, "data.mdb");
    truncateSync(file, statSync(file).size >> 1);
  }
  sent += await fill(store, rounds + 1);
  for (let opening = 0; opening < 3; opening++) {
    const missing = sent - (await rowsIn(store));
    expect(missing).toBeGreaterThan(0);
    expect(lostRows(store.stats().damage)).toBe(missing);
    await store.close();
    // The running process may not have repaired every partition; a start does.
    if (opening > 0) expect(lostRows((await verifyStore(dir)).damage)).toBe(missing);
    store = await open(dir);
  }
  await store.close();
  store = await open(dir, { retentionAgeMs: nowMs - (firstDayMs + 20 * dayMs), retentionBeforeMs: nowMs });
  await store.seal();
  await store.close();
  expect((await verifyStore(dir)).damage).toEqual([]);
});

test("chunks of a partition without a manifest are salvaged, at a start and by a running process", async () => {
  const dir = join(temporaryFolder(), "data");
  const removeManifests = () => {
    for (const partition of partitionsOf(dir))
      for (const name of ["manifest", "manifest.copy"]) rmSync(join(partition, name));
  };
  let store = await open(dir);
  let rows = await fill(store, 1);
  await store.close();
  removeManifests();
  expect((await verifyStore(dir)).damage.map(({ where }) => where)).toEqual(
    readdirSync(join(dir, "logs")).map((day) => `logs/${day}`),
  );
  store = await open(dir);
  expect(await rowsIn(store)).toBe(rows);
  expect(JSON.stringify(store.stats().damage)).toContain("without its manifest");
  removeManifests();
  await store.append("logs", rowsOf(seed, 100));
  rows += rowsOf(seed, 100).length;
  await store.seal();
  expect(await rowsIn(store)).toBe(rows);
  await store.close();
});
