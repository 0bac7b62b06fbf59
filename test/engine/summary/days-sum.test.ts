/** The sum of templates over whole days: made once, and again when one of the days has other chunks. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";
import { DaysSum } from "../../../engine/summary/days-sum.ts";

const dayNs = 86_400_000_000_000n;
const firstNs = BigInt(Date.UTC(2025, 4, 5)) * 1_000_000n;
const days = 7;
const rowsADay = 500;
const dir = mkdtempSync(join(tmpdir(), "svc-days-sum-"));
let store: Store;
beforeAll(async () => {
  store = await openStore({ dir, threads: 1 });
  for (let day = 0; day < days; day++) await add(day);
});
afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

async function add(day: number): Promise<void> {
  const rows = Array.from({ length: rowsADay }, (_, i) => ({
    timeNs: firstNs + BigInt(day) * dayNs + BigInt(i),
    message: i % 5 === 0 ? `only on day ${"x".repeat(day + 1)}` : `took ${i} ms`,
    level: "info",
    attributes: {},
  }));
  await store.append("logs", rows);
  await store.seal();
}

let asked = 0;

async function count() {
  const fromNs = firstNs - BigInt(++asked);
  const range = { signal: "logs", fromNs, toNs: firstNs + BigInt(days) * dayNs } as const;
  return store.countTemplates({ ...range, steps: [], limit: 2 });
}

test("the days between the first and the last are added up once, until rows come late", async () => {
  const sums = vi.spyOn(DaysSum, "of");
  for (let tries = 0; (await count()).scanned.rows > 0; tries++) {
    expect(tries).toBeLessThan(200);
    await sleep(5);
  }
  const made = sums.mock.calls.length;
  expect(made).toBeGreaterThan(0);
  expect(sums.mock.calls.at(-1)![0]).toHaveLength(days - 2);
  for (let i = 0; i < 3; i++) {
    const { templates, rows, distinct } = await count();
    expect({ rows, distinct, counts: templates.map((each) => each.rows) }).toEqual({
      ...{ rows: days * rowsADay, distinct: days + 1 },
      counts: [days * rowsADay * 0.8, rowsADay * 0.2],
    });
  }
  expect(sums).toHaveBeenCalledTimes(made);
  await add(3);
  for (let tries = 0; (await count()).scanned.rows > 0; tries++) {
    expect(tries).toBeLessThan(200);
    await sleep(5);
  }
  expect(sums.mock.calls.length).toBeGreaterThan(made);
  const { templates, rows, distinct } = await count();
  expect({ rows, distinct, counts: templates.map((each) => each.rows) }).toEqual({
    ...{ rows: (days + 1) * rowsADay, distinct: days + 1 },
    counts: [(days + 1) * rowsADay * 0.8, rowsADay * 0.4],
  });
});
