/** Deadlines that are longer than any timer. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../../../engine/index.ts";

const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 0, 15, 12);

test.each([30 * dayMs, 1_000_000 * dayMs, Number.POSITIVE_INFINITY])(
  "a deadline of %d ms is not over at once",
  async (deadlineMs) => {
    const dir = mkdtempSync(join(tmpdir(), "svc-deadline-"));
    const store = await openStore({ dir, threads: 1, now: () => nowMs });
    const rows = Array.from({ length: 2_000 }, (_, i) => ({
      ...{ timeNs: BigInt(nowMs - i) * 1_000_000n, level: "info", message: `row ${i}`, attributes: {} },
    }));
    await store.append("logs", rows);
    await store.seal();
    const query = { signal: "logs" as const, fromNs: 0n, toNs: 1n << 62n, steps: [] };
    let scanned = 0;
    for await (const batch of store.scan(query, { deadlineMs })) scanned += batch.numRows;
    const { points } = await store.aggregate(
      { ...query, groupBy: [], aggregates: [{ op: "count" }] },
      { deadlineMs },
    );
    expect([scanned, points.values[0]![0]]).toEqual([rows.length, rows.length]);
    await store.close();
    rmSync(dir, { recursive: true });
  },
);

test("a scan that is read no further holds up neither maintenance after its deadline nor the end of the store", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-stalled-scan-"));
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  let appended = 0;
  const appendAndSeal = async () => {
    const timeNs = BigInt(nowMs - appended++) * 1_000_000n;
    await store.append("logs", [{ timeNs, level: "info", message: `row ${appended}`, attributes: {} }]);
    await store.seal();
  };
  for (let i = 0; i < 3; i++) await appendAndSeal();
  const query = { signal: "logs" as const, fromNs: 0n, toNs: 1n << 62n, steps: [] };
  const stalled = store.scan(query, { deadlineMs: 500 });
  expect((await stalled.next()).done).toBe(false);
  // Enough small chunks that they are merged, which waits for the scans that may read them.
  for (let i = 0; i < 12; i++) await appendAndSeal();
  expect(store.stats().chunks).toBeLessThan(10);
  await expect(stalled.next()).rejects.toMatchObject({ kind: "deadline" });
  const left = store.scan(query, { deadlineMs: 600_000 });
  expect((await left.next()).done).toBe(false);
  await store.close();
  await expect(left.next()).rejects.toThrow();
  rmSync(dir, { recursive: true });
});
