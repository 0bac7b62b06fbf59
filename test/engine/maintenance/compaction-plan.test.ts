/** Which chunks are merged: few stay small, and a row is not written again for little. */

import { describe, expect, test } from "vitest";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import type { ChunkEntry } from "../../../engine/chunk/chunk-entry.ts";
import { selectChunksToMerge } from "../../../engine/maintenance/compaction-plan.ts";
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
