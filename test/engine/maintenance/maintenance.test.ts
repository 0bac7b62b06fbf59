/** Background work on stored rows: merging, retention by age and by size. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";

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

  test("keeps everything where neither age nor size is given", async () => {
    const store = await openStore({ dir, threads: 1, now: () => Date.UTC(2124, 0, 1) });
    await store.append("logs", rowsOfDay(0, 10));
    await store.seal();
    expect(store.stats().rows).toBe(10);
    await store.close();
  });
});
