/** What a store counts of its writes. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore, type Store } from "../../../engine/index.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-written-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const dayNs = BigInt(Date.UTC(2026, 0, 10)) * 1_000_000n;
const appendRows = (store: Store, from: number, count: number) =>
  store.append(
    "logs",
    Array.from({ length: count }, (_, i) => ({
      timeNs: dayNs + BigInt(from + i),
      level: "info",
      message: `order ${from + i} paid`,
      attributes: {},
    })),
  );

test("rows and bytes of the journal, of seals and of merges, since the store was opened", async () => {
  const store = await openStore({ dir, threads: 1 });
  await appendRows(store, 0, 70);
  await appendRows(store, 70, 30);
  const { written, journalBytes } = store.stats();
  const none = { rows: 0, bytes: 0 };
  expect(written).toEqual({
    journal: { rows: 100, bytes: journalBytes },
    compact: none,
    seal: none,
    merge: none,
  });
  await store.seal();
  const sealed = store.stats();
  expect(sealed.written.seal).toEqual({ rows: 100, bytes: sealed.bytes });
  for (let i = 1; i < 8; i++) {
    await appendRows(store, i * 100, 100);
    await store.seal();
  }
  // The eighth small chunk starts a merge of all.
  const merged = store.stats();
  expect([merged.rows, merged.chunks]).toEqual([800, 1]);
  expect(merged.written.seal.rows).toBe(800);
  expect(merged.written.merge).toEqual({ rows: 800, bytes: merged.bytes });
  expect(merged.written.journal.rows).toBe(800);
  await store.close();
  const again = await openStore({ dir, threads: 1 });
  expect(again.stats().written).toEqual({ journal: none, compact: none, seal: none, merge: none });
  await again.close();
});

test("parts that are compacted count their rows, and no bytes", async () => {
  const store = await openStore({ dir, threads: 1 });
  for (let i = 0; i < 40; i++) await appendRows(store, i * 10, 10);
  await expect
    .poll(() => store.stats().written.compact.rows, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(160);
  expect(store.stats().written.compact.bytes).toBe(0);
  await store.close();
});
