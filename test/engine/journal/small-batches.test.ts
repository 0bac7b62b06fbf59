/** Thousands of small batches: what a start has to read of them is bounded, and none is lost. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openBatch } from "../../../engine/batch/batch.ts";
import { encodeBatch } from "../../../engine/batch/batch-builder.ts";
import { readPartExtent } from "../../../engine/chunk/part.ts";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { IdempotencyKeys } from "../../../engine/journal/idempotency-keys.ts";
import { idempotencyKeysMax, journalBatchesMax, journalSegmentBatches } from "../../../engine/limits.ts";

const nowMs = Date.UTC(2024, 5, 1, 12);
const batches = 3 * journalBatchesMax;
/** Batches that are appended at the same time. */
const batchesAtOnce = 512;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-small-batches-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function rowOf(number: number): LogRow {
  return {
    timeNs: BigInt(nowMs + number) * 1_000_000n,
    level: "info",
    message: `row ${number}`,
    attributes: { number: String(number), [`key${number % 3}`]: "x" },
  };
}

function open(path: string): Promise<Store> {
  return openStore({ dir: path, threads: 1, now: () => nowMs });
}

function appendOne(store: Store, number: number): Promise<{ duplicate: boolean }> {
  return store.append("logs", [rowOf(number)], { key: `key ${number}` });
}

test("of very many, a start finds few that are not sealed, every row once, and every key", async () => {
  const store = await open(join(dir, "data"));
  for (let at = 0; at < batches; at += batchesAtOnce) {
    await Promise.all(Array.from({ length: batchesAtOnce }, (_, i) => appendOne(store, at + i)));
  }
  const unsealedMax = journalBatchesMax + journalSegmentBatches;
  while (store.stats().unsealedRows > unsealedMax) await sleep(20);
  await store.close();
  const again = await open(join(dir, "data"));
  expect(again.stats()).toMatchObject({ rows: batches, damage: [] });
  expect(again.stats().unsealedRows).toBeLessThanOrEqual(unsealedMax);
  const segments = readdirSync(join(dir, "data", "journal")).filter((name) => name.endsWith(".log"));
  expect(segments.length).toBeLessThanOrEqual(unsealedMax / journalSegmentBatches + 2);
  const counted = await again.aggregate({
    ...{ signal: "logs", fromNs: 0n, toNs: 1n << 62n, steps: [] },
    ...{ groupBy: [{ kind: "attribute", key: "number" }], aggregates: [{ op: "count" }] },
  });
  expect(counted.groups).toBe(batches);
  for (const number of [0, 1, journalSegmentBatches, batches - 1])
    expect(await appendOne(again, number)).toMatchObject({ duplicate: true });
  expect(again.attributeKeys("logs", 0n, 1n << 62n).keys.sort()).toEqual(["key0", "key1", "key2", "number"]);
  await again.close();
}, 60_000);

test("a part's header begins with what a start reads of it", () => {
  const { bytes } = encodeBatch("logs", [rowOf(1), rowOf(2)], { nowMs });
  const [part] = openBatch(bytes);
  expect(readPartExtent(part!.bytes)).toEqual({
    ...{ rows: 2, arrivalMin: 0, arrivalMax: 1 },
    ...{ timeNsMin: 43_200_001e6, timeNsMax: 43_200_002e6 },
  });
});

test("files of keys that are older than all that memory holds are removed", async () => {
  const keys = new IdempotencyKeys(dir);
  const keysPerFile = idempotencyKeysMax / 2;
  const removed: string[] = [];
  for (let file = 0; file < 3; file++) {
    const hashes = Array.from({ length: keysPerFile }, (_, i) =>
      (file * keysPerFile + i).toString(16).padStart(64, "0"),
    );
    for (const hash of hashes) keys.add(hash, { rows: 1, untilMs: nowMs + 1 });
    await keys.writeKeyFile(`${file}.log`, hashes, nowMs);
    removed.push(...keys.expire(nowMs));
  }
  expect(removed).toEqual(["0.keys"]);
  expect(keys.files).toEqual(["1.keys", "2.keys"]);
  expect(keys.size).toBe(idempotencyKeysMax);
}, 60_000);
