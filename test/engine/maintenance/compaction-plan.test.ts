/** Which chunks are merged: few stay small, and a row is not written again for little. */

import { describe, expect, test } from "vitest";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import type { ChunkEntry } from "../../../engine/chunk/chunk-entry.ts";
import {
  groupPartsToSeal,
  isLastChunkDeferred,
  selectChunksToMerge,
} from "../../../engine/maintenance/compaction-plan.ts";
import type { MemtablePart } from "../../../engine/partition/catalog.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** A partition into which chunks are sealed one after the other. */
class Simulated {
  chunks: ChunkEntry[] = [];
  idNext = 1;
  mergedRows = 0;
  readonly signal: "logs" | "metrics";

  constructor(signal: "logs" | "metrics") {
    this.signal = signal;
  }

  /** Samples take a few bytes each, logs some fifty. */
  seal(rows: number, bytesPerRow = this.signal === "metrics" ? 5 : 50): void {
    const arrival = this.chunks.reduce((most, { arrivalMax }) => Math.max(most, arrivalMax), 0) + 1;
    const [id, end] = [this.idNext++, arrival + rows - 1];
    const times = { timeNsMin: arrival, timeNsMax: end };
    const bytes = rows * bytesPerRow;
    this.chunks.push({ id, rows, ...times, arrivalMin: arrival, arrivalMax: end, bytes, checksum: 0 });
    for (let merged = this.merge(); merged; merged = this.merge());
  }

  /** Merges as the maintenance thread does. Returns false where there is nothing to merge. */
  merge(): boolean {
    const chosen = selectChunksToMerge(this.signal, this.chunks, fullChunkCaps);
    if (chosen === undefined) return false;
    const sum = (of: "rows" | "bytes") => chosen.reduce((total, chunk) => total + chunk[of], 0);
    this.mergedRows += sum("rows");
    const least = (of: "timeNsMin" | "arrivalMin") => Math.min(...chosen.map((chunk) => chunk[of]));
    const most = (of: "timeNsMax" | "arrivalMax") => Math.max(...chosen.map((chunk) => chunk[of]));
    const times = { timeNsMin: least("timeNsMin"), timeNsMax: most("timeNsMax") };
    const arrivals = { arrivalMin: least("arrivalMin"), arrivalMax: most("arrivalMax") };
    const merged = { id: this.idNext++, rows: sum("rows"), bytes: sum("bytes"), checksum: 0 };
    this.chunks = [
      ...this.chunks.filter((chunk) => !chosen.includes(chunk)),
      { ...merged, ...times, ...arrivals },
    ];
    this.chunks.sort((a, b) => a.timeNsMin - b.timeNsMin || a.id - b.id);
    return true;
  }

  get rows(): number {
    return this.chunks.reduce((sum, { rows }) => sum + rows, 0);
  }
}

describe.each(["logs", "metrics"] as const)(`chunks of %s (SVC_SEED=${seed})`, (signal) => {
  test.each([10, 300, 2_000, 20_000])("of a seal of %d rows every few minutes", (rows) => {
    const day = new Simulated(signal);
    for (let i = 0; i < 288; i++) day.seal(rows);
    expect(day.rows).toBe(288 * rows);
    expect(day.chunks.length).toBeLessThan(16 + day.rows / 32_768);
    // Each merge makes a row's chunk several times as large; by the old rule tiny seals were merged 40 times a row.
    expect(day.mergedRows / day.rows).toBeLessThan(5);
  });

  test("of seals of any size: never many small ones, and no row twice", () => {
    const random = new Random(seed);
    for (let round = 0; round < 20; round++) {
      const day = new Simulated(signal);
      let sealed = 0;
      for (let i = 0; i < 200; i++) {
        const rows = 1 + random.below(10 ** (1 + random.below(5)));
        sealed += rows;
        day.seal(rows);
        expect(day.chunks.filter((chunk) => chunk.rows < 32_768).length).toBeLessThan(40);
      }
      expect(day.rows).toBe(sealed);
    }
  });

  test("that are large by their bytes are left", () => {
    const day = new Simulated(signal);
    for (let i = 0; i < 20; i++) day.seal(1_000, 2_200);
    expect([day.chunks.length, day.mergedRows]).toEqual([20, 0]);
  });

  test("that are not to be merged are left, and of metrics none around them are merged", () => {
    const day = new Simulated(signal);
    for (let i = 0; i < 7; i++) day.seal(100);
    const left = new Set(day.chunks.map(({ id }) => id));
    const others = Array.from({ length: 8 }, (_, i): ChunkEntry => {
      const at = i < 4 ? 0.5 : 1_000 + i;
      const times = { timeNsMin: at, timeNsMax: at, arrivalMin: at, arrivalMax: at };
      return { id: 100 + i, rows: 100, ...times, bytes: 1, checksum: 0 };
    });
    const chosen = selectChunksToMerge(
      signal,
      [...others.slice(0, 4), ...day.chunks, ...others.slice(4)],
      fullChunkCaps,
      left,
    );
    expect(chosen?.map(({ id }) => id)).toEqual(
      signal === "metrics" ? undefined : others.map(({ id }) => id),
    );
  });
});

describe("parts", () => {
  const caps = { rowsMax: 1_000, messageBytesMax: 10_000, samplesMax: 1_000 };
  let arrivalNext = 1;
  const partOf = (rows: number, bytes: number, isPacked = false): MemtablePart => {
    const arrivalMin = arrivalNext;
    arrivalNext += rows;
    const times = { timeNsMin: 0, timeNsMax: 0, arrivalMin, arrivalMax: arrivalNext - 1 };
    const memory = new Uint8Array(bytes);
    return {
      ...{ id: arrivalMin, day: 0, arrivalBase: 0, bytes: memory, isPacked, appendedMs: 0 },
      ...{ rows, journalRows: rows, ...times },
    };
  };
  const sizes = (groups: readonly MemtablePart[][]) => groups.map((group) => group.map(({ rows }) => rows));

  test("are grouped up to a full chunk by rows and by bytes, and packed ones are alone", () => {
    const parts = [
      ...[partOf(400, 100), partOf(600, 100), partOf(1, 100)],
      ...[partOf(2, 9_900), partOf(3, 1), partOf(4, 50_000), partOf(5, 1)],
      ...[partOf(6, 1, true), partOf(7, 1), partOf(2_000, 1), partOf(8, 1)],
    ];
    expect(sizes(groupPartsToSeal("logs", parts.toReversed(), caps))).toEqual([
      ...[[400, 600], [1, 2], [3], [4], [5]],
      ...[[6], [7], [2_000], [8]],
    ]);
  });

  test("of a last chunk that is small by rows and bytes wait", () => {
    const first = partOf(1_000, 1);
    const deferred = (last: MemtablePart) => isLastChunkDeferred("logs", [[first], [last]], caps);
    expect(deferred(partOf(499, 4_999))).toBe(true);
    expect(deferred(partOf(500, 1))).toBe(false);
    expect(deferred(partOf(1, 5_000))).toBe(false);
    expect(deferred(partOf(1, 1, true))).toBe(false);
  });
});

test("where chunks are smaller, so are those that are merged", () => {
  const share = 1 / 8;
  const caps = {
    rowsMax: fullChunkCaps.rowsMax * share,
    messageBytesMax: fullChunkCaps.messageBytesMax * share,
    samplesMax: fullChunkCaps.samplesMax * share,
  };
  const chunksOf = (bytes: number) =>
    Array.from({ length: 20 }, (_, i): ChunkEntry => {
      const times = { timeNsMin: i, timeNsMax: i, arrivalMin: i * 100, arrivalMax: i * 100 + 99 };
      return { id: i, rows: 100, ...times, bytes, checksum: 0 };
    });
  const notSmall = 1.5 * 2 ** 20 * share;
  expect(selectChunksToMerge("logs", chunksOf(notSmall), caps)).toBeUndefined();
  const chosen = selectChunksToMerge("logs", chunksOf(notSmall - 1), caps);
  const bytes = chosen!.reduce((sum, chunk) => sum + chunk.bytes, 0);
  expect(bytes).toBeLessThanOrEqual(2 * 2 ** 20);
  expect(chosen!.length).toBe(10);
  expect(selectChunksToMerge("logs", chunksOf(notSmall), fullChunkCaps)!.length).toBe(20);
});
