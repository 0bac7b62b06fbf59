/** The idempotency keys of the pieces of a batch: each is found with its rows as long as it lives, and adds rows once. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import {
  BatchBuilder,
  type EncodedBatch,
  Failure,
  hashKey,
  openStore,
  type PieceKey,
  type Store,
  verifyStore,
} from "../../../engine/index.ts";
import { packedRowsMin } from "../../../engine/limits.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 10);
const hourMs = 3_600_000;

let base: string;
let dir: string;
/** Both clocks of the store. */
let nowMs: number;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "svc-piece-keys-"));
  dir = join(base, "data");
  nowMs = startMs;
});
afterEach(() => rmSync(base, { recursive: true }));

const open = (path = dir): Promise<Store> =>
  openStore({ dir: path, threads: 1, now: () => nowMs, elapsed: () => nowMs - startMs });

/** A batch of pieces that have so many rows. */
function encode(keys: readonly PieceKey[], packed = false): EncodedBatch {
  const rows = keys.reduce((sum, key) => sum + key.rows, 0);
  const builder = new BatchBuilder("logs", { nowMs });
  for (let n = 0; n < rows; n++) {
    const timeNs = BigInt(startMs + (n % 1_000)) * 1_000_000n;
    builder.addLogRow({ timeNs, level: "", message: `row ${n}`, attributes: {} });
  }
  const batch = builder.finish({ keys, ...(packed ? { packedCaps: fullChunkCaps } : {}) });
  builder.release();
  return batch;
}

const toKeys = (counts: Readonly<Record<string, number>>): PieceKey[] =>
  Object.entries(counts).map(([key, rows]) => ({ hash: hashKey(key), rows }));

const find = (store: Store, ...keys: string[]) => store.findKeyRows(keys.map(hashKey));

async function failureOf(appended: Promise<unknown>): Promise<unknown> {
  return appended.then(
    () => undefined,
    (error: unknown) => (error instanceof Failure ? error.kind : error),
  );
}

const files = (pattern: RegExp) => readdirSync(join(dir, "journal")).filter((name) => pattern.test(name));

describe("keys of pieces", () => {
  test("are found with the rows of each, those without rows too, before and after a restart and a crash", async () => {
    let store = await open();
    expect(find(store, "a")).toEqual([undefined]);
    const added = await store.appendEncoded(encode(toKeys({ a: 3, b: 0, c: 70 })));
    expect(added).toEqual({ rows: 73, duplicate: false });
    expect(find(store, "c", "x", "a", "b")).toEqual([70, undefined, 3, 0]);
    const copy = join(base, "copy");
    expect(spawnSync("cp", ["-a", dir, copy]).status).toBe(0);
    const crashed = await open(copy);
    expect(find(crashed, "a", "b", "c")).toEqual([3, 0, 70]);
    await crashed.close();
    await store.close();
    store = await open();
    expect(find(store, "c", "x", "a", "b")).toEqual([70, undefined, 3, 0]);
    await store.close();
  });

  test("live on in a file of keys once the segment with their rows is removed", async () => {
    let store = await open();
    await store.appendEncoded(encode(toKeys({ a: packedRowsMin, b: 5 }), true));
    const [segment] = files(/\.log$/);
    await store.seal();
    expect(files(/\.log$/)).not.toContain(segment);
    expect(files(/\.keys$/)).toHaveLength(1);
    expect(find(store, "a", "b")).toEqual([packedRowsMin, 5]);
    await store.close();
    store = await open();
    expect(find(store, "a", "b")).toEqual([packedRowsMin, 5]);
    expect(await failureOf(store.appendEncoded(encode(toKeys({ b: 5 }))))).toBe("input");
    expect(store.stats()).toMatchObject({ rows: packedRowsMin + 5, damage: [] });
    await store.close();
    expect(await verifyStore(dir)).toMatchObject({ rows: packedRowsMin + 5, damage: [] });
  });

  test("that were used refuse the whole batch, which adds neither rows nor keys", async () => {
    const store = await open();
    await store.appendEncoded(encode(toKeys({ a: 3, b: 4 })));
    expect(await failureOf(store.appendEncoded(encode(toKeys({ new: 9, b: 4 }))))).toBe("input");
    expect(store.stats().rows).toBe(7);
    expect(store.arrivalMax).toBe(7);
    expect(find(store, "a", "b", "new")).toEqual([3, 4, undefined]);
    // A key of a whole batch is such a key as well, and the other way round.
    await store.append("logs", [{ timeNs: 1n, level: "", message: "", attributes: {} }], { key: "whole" });
    expect(await failureOf(store.appendEncoded(encode(toKeys({ whole: 1 }))))).toBe("input");
    const again = await store.append("logs", [], { key: "b" });
    expect(again).toMatchObject({ rows: 4, duplicate: true });
    expect(store.stats().rows).toBe(8);
    await store.close();
  });

  test("are new again when they have expired, and their files are removed", async () => {
    let store = await open();
    await store.appendEncoded(encode(toKeys({ a: 3 })), { keyAgeMs: 2 * hourMs });
    await store.appendEncoded(encode(toKeys({ short: 2 })));
    nowMs += hourMs - 1;
    expect(find(store, "a", "short")).toEqual([3, 2]);
    nowMs += 1;
    expect(find(store, "a", "short")).toEqual([3, undefined]);
    await store.close();
    store = await open();
    expect(find(store, "a", "short")).toEqual([3, undefined]);
    await store.seal();
    expect(files(/\.keys$/)).toHaveLength(1);
    nowMs += hourMs;
    expect(find(store, "a")).toEqual([undefined]);
    expect(await store.appendEncoded(encode(toKeys({ a: 8, short: 1 })))).toMatchObject({ rows: 9 });
    expect(find(store, "a", "short")).toEqual([8, 1]);
    await store.seal();
    await store.close();
    store = await open();
    expect(find(store, "a", "short")).toEqual([8, 1]);
    expect(store.stats().rows).toBe(14);
    await store.close();
  });

  test("of a batch without any row are kept", async () => {
    let store = await open();
    expect(await store.appendEncoded(encode(toKeys({ none: 0 })))).toMatchObject({ rows: 0 });
    expect(find(store, "none")).toEqual([0]);
    await store.close();
    store = await open();
    expect(find(store, "none")).toEqual([0]);
    expect(store.stats()).toMatchObject({ rows: 0, damage: [] });
    await store.close();
  });

  test(`are those of a map, whatever is appended, sealed and opened again (SVC_SEED=${seed})`, async () => {
    const random = new Random(seed);
    const live = new Map<string, { rows: number; untilMs: number }>();
    let [rows, store] = [0, await open()];
    const isUsed = (key: string) => (live.get(key)?.untilMs ?? 0) > nowMs;
    for (let step = 0; step < 70; step++) {
      const keys = new Set(Array.from({ length: 1 + random.below(4) }, () => `key ${random.below(60)}`));
      const counts = Object.fromEntries([...keys].map((key) => [key, random.below(30)]));
      const ageMs = hourMs * (1 + random.below(3));
      const outcome = await failureOf(store.appendEncoded(encode(toKeys(counts)), { keyAgeMs: ageMs }));
      expect(outcome).toBe([...keys].some(isUsed) ? "input" : undefined);
      if (outcome === undefined) {
        for (const [key, count] of Object.entries(counts)) {
          live.set(key, { rows: count, untilMs: nowMs + ageMs });
          rows += count;
        }
      }
      if (random.oneIn(8)) await store.seal();
      if (random.oneIn(12)) {
        await store.close();
        store = await open();
      }
      nowMs += random.below(1_500_000);
      const all = Array.from({ length: 60 }, (_, n) => `key ${n}`);
      const wanted = all.map((key) => (isUsed(key) ? live.get(key)!.rows : undefined));
      expect(find(store, ...all)).toEqual(wanted);
      expect(store.stats().rows).toBe(rows);
    }
    await store.close();
    expect((await verifyStore(dir)).damage).toEqual([]);
  });
});
