/** Events of many attributes: chunk headers stay small, and columns with and without listed values are searched alike. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createChunkBuilder, getAttributeBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import { openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { queryTimeseries, searchLogs } from "../../../query/index.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 10);
const keys = Array.from({ length: 120 }, (_, key) => `key.${key}`);
const random = new Random(seed);
/** Column number k has k + 1 values; some columns are longer than others by their texts alone. */
const rows = Array.from({ length: 3_000 }, () =>
  Object.fromEntries(
    keys.flatMap((key, k) =>
      random.oneIn(5) ? [] : [[key, `${"long ".repeat(k % 7)}value ${random.below(k + 1)}`]],
    ),
  ),
);

describe(`columns of many values (SVC_SEED=${seed})`, () => {
  test("are listed in the header from the shortest list on, up to 64 KiB", () => {
    const builder = createChunkBuilder();
    for (const [row, attributes] of rows.entries()) {
      builder.timeNs.push(row);
      builder.arrival.push(row);
      builder.level.pushText(row, "info");
      builder.message.pushBytes(Buffer.from("a"));
      for (const key in attributes) getAttributeBuilder(builder, key).pushText(row, attributes[key]!);
    }
    builder.rows = rows.length;
    const [chunk] = encodeChunks(builder, { sealed: true });
    const { columns } = chunk!.header;
    const bytesOf = (key: string) => {
      const values = new Set(rows.flatMap((row) => row[key] ?? []));
      return [...values].reduce((sum, value) => sum + value.length + 10, 0);
    };
    const listed = columns.filter(({ role, values }) => role === "attribute" && values !== undefined);
    const others = columns.filter(({ role, values }) => role === "attribute" && values === undefined);
    expect(others.length).toBeGreaterThan(10);
    expect(listed.length).toBeGreaterThan(10);
    const longest = Math.max(...listed.map(({ key }) => bytesOf(key)));
    expect(Math.min(...others.map(({ key }) => bytesOf(key)))).toBeGreaterThanOrEqual(longest);
    const bytes = listed.reduce((sum, { key }) => sum + bytesOf(key), 0);
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    expect(bytes + bytesOf(others[0]!.key)).toBeGreaterThan(48 * 1024);
    expect(others.every(({ filterBytes }) => filterBytes > 0)).toBe(true);
  });

  const dir = mkdtempSync(join(tmpdir(), "svc-lists-"));
  let store: Store;
  beforeAll(async () => {
    store = await openStore({ dir, threads: 1 });
    const stored = rows.map((attributes, i) => ({
      timeNs: BigInt(startMs + i) * 1_000_000n,
      level: "info",
      message: "a",
      attributes,
    }));
    await store.append("logs", stored);
    await store.seal();
  });
  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });
  const range = { startMs, endMs: startMs + 3_600_000 };

  test.each([0, 5, 60, 113, 119])("are counted by value: column %d", async (k) => {
    const key = keys[k]!;
    const wanted = new Map<string, number>();
    for (const row of rows) {
      const value = row[key];
      if (value !== undefined) wanted.set(value, (wanted.get(value) ?? 0) + 1);
    }
    const query = `count(logs{${key}!=""}) by (${key})`;
    const { series } = await queryTimeseries(store, { query, ...range, bucketSeconds: 3_600 });
    const found = new Map(
      series.map(({ labels, points }) => [labels[key], points.reduce((sum, [, count]) => sum + count, 0)]),
    );
    expect(found).toEqual(wanted);
  });

  test.each([0, 60, 119])("find rows, and nothing for a value that no row has: column %d", async (k) => {
    const key = keys[k]!;
    const value = rows.find((row) => row[key] !== undefined)![key]!;
    const count = async (text: string) => {
      const query = `logs{${key}=${JSON.stringify(text)}}`;
      return (await searchLogs(store, { query, ...range, limit: 1_000 })).rows.length;
    };
    expect(await count(value)).toBe(Math.min(1_000, rows.filter((row) => row[key] === value).length));
    expect(await count("nowhere")).toBe(0);
  });
});
