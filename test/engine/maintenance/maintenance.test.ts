/** Background work on stored rows: merging, retention by age and by size. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Store, type StoreOptions } from "../../../engine/index.ts";
import { planRetention } from "../../../engine/maintenance/retention.ts";
import type { Partition } from "../../../engine/partition/catalog.ts";
import { seed } from "../datasets.ts";

const dayMs = 86_400_000;
const firstDayMs = Date.UTC(2024, 5, 1);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-maintenance-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** `count` rows spread over one day, with text that does not compress away. */
function rowsOfDay(day: number, count: number): LogRow[] {
  return Array.from({ length: count }, (_, i) => ({
    timeNs: BigInt(firstDayMs + day * dayMs + Math.floor((i * dayMs) / count)) * 1_000_000n,
    level: "info",
    message: `day ${day} row ${i} ${Buffer.from(String(Math.sin(day * 1e4 + i))).toString("base64")}`,
    attributes: { day: String(day) },
  }));
}

async function messages(store: Store): Promise<string[]> {
  const found = await store.search({
    signal: "logs",
    fromNs: 0n,
    toNs: 1n << 62n,
    steps: [],
    limit: 100_000,
  });
  return found.rows.map(({ message }) => message).reverse();
}

describe("merging", () => {
  test("turns many small chunks into few, with every row once and in order", async () => {
    const store = await openStore({ dir, threads: 1 });
    const rows = rowsOfDay(0, 1_200);
    for (let at = 0; at < rows.length; at += 40) {
      await store.append("logs", rows.slice(at, at + 40));
      await store.seal();
    }
    expect(store.stats().chunks).toBeLessThan(10);
    expect(store.stats().rows).toBe(rows.length);
    expect(await messages(store)).toEqual(rows.map(({ message }) => message));
    await store.close();
  });
});

test("a seal that failed between the manifest's copies stores its rows once, together with later ones or not", async () => {
  const store = await openStore({ dir, threads: 1 });
  const [first, second, third] = [
    rowsOfDay(0, 60).slice(0, 20),
    rowsOfDay(0, 60).slice(20, 40),
    rowsOfDay(0, 60).slice(40),
  ];
  await store.append("logs", first);
  await store.seal();
  const copy = join(dir, "logs", "2024-06-01", "manifest.copy");
  rmSync(copy);
  // No file can be renamed to a folder that is not empty.
  mkdirSync(join(copy, "in-the-way"), { recursive: true });
  await store.append("logs", second);
  await expect(store.seal()).rejects.toThrow();
  await store.append("logs", third);
  await expect(store.seal()).rejects.toThrow();
  rmSync(copy, { recursive: true });
  await store.seal();
  const expected = rowsOfDay(0, 60).map(({ message }) => message);
  expect(await messages(store)).toEqual(expected);
  expect(store.stats()).toMatchObject({ rows: 60, unsealedRows: 0 });
  await store.close();
  const again = await openStore({ dir, threads: 1 });
  expect(await messages(again)).toEqual(expected);
  await again.close();
});

describe("retention", () => {
  test("by age removes whole days, rows in memory too, and removed days stay removed after a restart", async () => {
    let nowMs = firstDayMs + 3 * dayMs;
    const options = { dir, threads: 1, retentionAgeMs: 2 * dayMs, now: () => nowMs };
    let store = await openStore(options);
    for (const day of [0, 1, 2]) await store.append("logs", rowsOfDay(day, 10));
    await store.seal();
    expect(new Set((await messages(store)).map((text) => text.slice(0, 5)))).toEqual(
      new Set(["day 1", "day 2"]),
    );
    expect(readdirSync(join(dir, "logs")).sort()).toEqual(["2024-06-02", "2024-06-03"]);
    nowMs += 1.5 * dayMs;
    await store.append("logs", rowsOfDay(3, 10));
    await store.seal();
    await store.close();
    store = await openStore(options);
    expect(new Set((await messages(store)).map((text) => text.slice(0, 5)))).toEqual(
      new Set(["day 2", "day 3"]),
    );
    await store.close();
  });

  test("by size removes the oldest days, then the oldest chunks of the last day", async () => {
    const sized = await openStore({ dir, threads: 1 });
    for (const day of [0, 1]) await sized.append("logs", rowsOfDay(day, 500));
    await sized.seal();
    const oneDay = sized.stats().bytes / 2;
    await sized.close();
    let store = await openStore({ dir, threads: 1, retentionBytes: oneDay * 1.5 });
    await store.seal();
    expect((await messages(store)).every((text) => text.startsWith("day 1 "))).toBe(true);
    await store.append("logs", rowsOfDay(1, 500));
    await store.seal();
    await store.close();
    store = await openStore({ dir, threads: 1, retentionBytes: oneDay * 1.2 });
    await store.seal();
    expect(store.stats().bytes).toBeLessThanOrEqual(oneDay * 1.2);
    expect(store.stats().rows).toBe(500);
    await store.close();
  });

  test("by size counts the journal as well, up to a quarter of what is kept", async () => {
    const sized = await openStore({ dir, threads: 1 });
    for (const day of [0, 1]) await sized.append("logs", rowsOfDay(day, 500));
    await sized.seal();
    const { bytes } = sized.stats();
    await sized.close();
    const retentionBytes = bytes * 1.1;
    const store = await openStore({ dir, threads: 1, retentionBytes });
    expect(store.stats()).toMatchObject({ rows: 1_000, bytes });
    // Rows that are not sealed stay in the journal.
    await store.append("logs", rowsOfDay(1, 1_000));
    expect(store.stats().journalBytes).toBeGreaterThan(retentionBytes / 4);
    const left = async () => new Set((await messages(store)).map((text) => text.slice(0, 5)));
    await expect.poll(left, { timeout: 10_000 }).toEqual(new Set(["day 1"]));
    expect(store.stats().bytes).toBeLessThanOrEqual(retentionBytes * 0.75);
    await store.close();
  });

  describe("by age, where the clock may be wrong,", () => {
    const daysOfRows = 30;
    const rightMs = firstDayMs + daysOfRows * dayMs;
    const logged: string[] = [];

    async function openAt(nowMs: number, changes: Partial<StoreOptions> = {}): Promise<Store> {
      logged.length = 0;
      const store = await openStore({
        ...{ dir, threads: 1, retentionAgeMs: 30 * dayMs, now: () => nowMs },
        log: ({ message }) => logged.push(message),
        ...changes,
      });
      await store.seal();
      return store;
    }

    beforeEach(async () => {
      const store = await openAt(rightMs);
      for (let day = 0; day < daysOfRows; day++) await store.append("logs", rowsOfDay(day, 3));
      await store.close();
    });

    test("a clock 40 days ahead removes nothing, and says what it would remove", async () => {
      let store = await openAt(rightMs + 40 * dayMs);
      expect(store.stats()).toMatchObject({ rows: 3 * daysOfRows, retentionHeldDays: daysOfRows });
      expect(logged.join()).toMatch(
        /retention keeps 30 days, 2024-06-01 to 2024-06-30: .* start with --retention-before 2024-07-01/,
      );
      await store.seal();
      expect(logged.filter((message) => message.startsWith("retention keeps"))).toHaveLength(1);
      await store.close();
      store = await openAt(rightMs);
      expect(store.stats()).toMatchObject({ rows: 3 * daysOfRows, retentionHeldDays: 0 });
      await store.close();
    });

    test("rows that the wrong clock stamped do not make it right", async () => {
      const store = await openAt(rightMs + 40 * dayMs);
      await store.append("logs", rowsOfDay(daysOfRows + 39, 3));
      await store.seal();
      expect(store.stats()).toMatchObject({ rows: 3 * daysOfRows + 3, retentionHeldDays: daysOfRows });
      await store.close();
    });

    test("days before the given date are removed", async () => {
      const nowMs = rightMs + 40 * dayMs;
      const store = await openAt(nowMs, { retentionBeforeMs: firstDayMs + 20 * dayMs });
      expect(store.stats()).toMatchObject({ rows: 3 * 10, retentionHeldDays: 10 });
      await store.close();
    });

    test("a few days that newer rows confirm are removed", async () => {
      const store = await openAt(rightMs + 3 * dayMs);
      expect(store.stats().rows).toBe(3 * daysOfRows);
      await store.append("logs", rowsOfDay(daysOfRows + 2, 3));
      await store.seal();
      expect(store.stats()).toMatchObject({ rows: 3 * (daysOfRows - 3) + 3, retentionHeldDays: 0 });
      await store.close();
    });

    test("any plan removes only what both clocks call too old, and few days at once", () => {
      const scene = fc.record({
        days: fc.uniqueArray(fc.nat(300), { maxLength: 120 }),
        nowDay: fc.nat(400),
        ageDays: fc.integer({ min: 1, max: 60 }),
        beforeDay: fc.option(fc.nat(300), { nil: undefined }),
        sinceNewestDays: fc.nat(20),
      });
      fc.assert(
        fc.property(scene, ({ days, nowDay, ageDays, beforeDay, sinceNewestDays }) => {
          const partitions = days.map((day) => ({ day, manifest: { chunks: [] } }) as unknown as Partition);
          const options = {
            ...{ ageMs: ageDays * dayMs, bytes: undefined },
            removeBeforeMs: beforeDay === undefined ? undefined : beforeDay * dayMs,
          };
          const clock = { nowMs: nowDay * dayMs, sinceNewestMs: sinceNewestDays * dayMs };
          const plan = planRetention(partitions, options, clock);
          const removed = plan.partitions.map(({ day }) => day);
          const isOldByClock = (day: number) => day + 1 + ageDays <= nowDay;
          const isConfirmed = (day: number) => day + 1 <= (beforeDay ?? 0);
          const newest = Math.max(...days);
          const unconfirmed = removed.filter((day) => !isConfirmed(day));
          for (const day of removed) expect(isOldByClock(day)).toBe(true);
          for (const day of unconfirmed) expect(day + ageDays).toBeLessThanOrEqual(newest + sinceNewestDays);
          expect(unconfirmed.length).toBeLessThanOrEqual(Math.max(3, days.length / 10));
          expect([...removed, ...plan.heldDays].sort((a, b) => a - b)).toEqual(
            days.filter(isOldByClock).sort((a, b) => a - b),
          );
          for (const day of plan.heldDays) expect(isConfirmed(day)).toBe(false);
        }),
        { seed },
      );
    });
  });

  test("keeps everything where neither age nor size is given", async () => {
    const store = await openStore({ dir, threads: 1, now: () => Date.UTC(2124, 0, 1) });
    await store.append("logs", rowsOfDay(0, 10));
    await store.seal();
    expect(store.stats().rows).toBe(10);
    await store.close();
  });
});
