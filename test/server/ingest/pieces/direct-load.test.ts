/** `svc ingest --direct`: loads files into a data folder without a server. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStore } from "../../../../engine/index.ts";
import { queryTimeseries } from "../../../../query/index.ts";
import { runSvc, startSvc } from "../../command/program.ts";
import { lines } from "../../running.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-direct-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const startMs = Date.UTC(2026, 0, 10);
const rowOf = (n: number) => ({
  timestamp: startMs + n,
  message: `row ${n} of many`,
  attributes: { n: String(n) },
});

function write(rows: number): string {
  const file = join(dir, "rows.jsonl");
  writeFileSync(file, lines(Array.from({ length: rows }, (_, n) => rowOf(n))));
  return file;
}

const data = () => join(dir, "data");
const ingest = (...words: string[]) => runSvc(["ingest", "--direct", "--data", data(), ...words]);

/** The number of rows, and of distinct rows. */
async function counts(): Promise<{ rows: number; distinct: number }> {
  const store = await openStore({ dir: data(), threads: 1 });
  try {
    // With few rows in a bucket, the distinct count is exact.
    const asked = { startMs, endMs: startMs + 3_600_000, bucketSeconds: 1 };
    const { series } = await queryTimeseries(store, { query: "count_distinct(n, logs)", ...asked });
    const distinct = series.flatMap(({ points }) => points).reduce((sum, [, count]) => sum + count, 0);
    return { rows: store.stats().rows, distinct };
  } finally {
    await store.close();
  }
}

test("stores a file; a second run adds nothing", async () => {
  const file = write(30_000);
  const first = await ingest(file);
  expect([first.code, first.out]).toEqual([0, expect.stringContaining("30,000 rows taken, 0 refused")]);
  expect(await counts()).toEqual({ rows: 30_000, distinct: 30_000 });
  const packed = join(dir, "packed");
  writeFileSync(packed, gzipSync(readFileSync(file)));
  const { code, out } = await ingest(packed);
  expect([code, out]).toEqual([0, expect.stringContaining("0 rows taken, 30,000 were there already")]);
  expect((await counts()).rows).toBe(30_000);
});

test("reports refused lines and takes the others", async () => {
  const file = join(dir, "mixed.jsonl");
  writeFileSync(file, `${JSON.stringify(rowOf(1))}\nno JSON\n${JSON.stringify(rowOf(2))}\n`);
  const { code, out } = await ingest(file);
  expect([code, out]).toEqual([1, expect.stringContaining("2 rows taken, 1 refused")]);
  expect(out).toContain("line 2: not JSON");
  expect((await counts()).rows).toBe(2);
});

test("reports refused lines again when a file is sent again", async () => {
  const file = join(dir, "mixed.jsonl");
  writeFileSync(file, `${JSON.stringify(rowOf(1))}\nno JSON\n${JSON.stringify(rowOf(2))}\n`);
  await ingest(file);
  const { code, out } = await ingest(file);
  expect(out).toContain("0 rows taken, 2 were there already, 1 refused");
  expect(out).toContain("line 2: not JSON");
  expect(code).toBe(1);
});

test("stores rows of the signal in --signal", async () => {
  const file = join(dir, "spans.jsonl");
  const span = { traceId: "a".repeat(32), spanId: "b".repeat(16), startTimeUnixNano: "1769676121007000000" };
  writeFileSync(file, lines([span]));
  expect((await ingest("--signal", "spans", file)).out).toContain("1 rows taken");
  const store = await openStore({ dir: data(), threads: 1 });
  expect(store.stats().signals.traces.rows).toBe(1);
  await store.close();
});

test("refuses a folder that a server has open", async () => {
  const store = await openStore({ dir: data(), threads: 1 });
  try {
    const { code, out, err } = await ingest(write(1));
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/is in use by process \d+ on \S+: stop it first, or use another folder\n$/);
  } finally {
    await store.close();
  }
});

test(`adds each row once though it is killed and interrupted many times (SVC_SEED=${seed})`, async () => {
  const rows = 250_000;
  const file = write(rows);
  let random = seed;
  for (const signal of ["SIGKILL", "SIGINT"] as const) {
    random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
    const { child, ended } = startSvc(["ingest", "--direct", "--data", data(), file]);
    await expect.poll(() => existsSync(join(data(), "journal")), { timeout: 60_000 }).toBe(true);
    await sleep(300 + (random % 900));
    child.kill(signal);
    await ended;
  }
  const last = await ingest(file);
  expect(last.code, last.err).toBe(0);
  expect(await counts()).toEqual({ rows, distinct: rows });
});
