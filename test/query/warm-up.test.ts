/** A warm-up asks about what is stored and keeps nothing: later questions read and find what they would without it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Failure, openStore, type Store } from "../../engine/index.ts";
import { generateRows } from "../../fixtures/logs.ts";
import { queryTimeseries, searchLogs, warmUp } from "../../query/index.ts";

const startMs = Date.parse("2026-11-20T00:00:00Z");
const rows = 30_000;
const range = { startMs, endMs: startMs + 86_400_000 };
const now = () => range.endMs;

let dir: string;
let store: Store | undefined;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-warm-"));
  store = await openStore({ dir, threads: 2, now });
  const options = { profile: "system", seed: 3, rows, startMs } as const;
  await store.append("logs", [...generateRows(options)]);
  const times = Array.from({ length: 300 }, (_, i) => BigInt(startMs + i * 60_000) * 1_000_000n);
  await store.append(
    "traces",
    times.map((timeNs, i) => ({
      timeNs,
      level: "",
      message: `GET /cart/${i}`,
      attributes: { trace_id: `${i}`.padStart(32, "a"), "service.name": "cart", duration_ns: `${i}000` },
    })),
  );
  await store.appendSamples(
    times.map((timeNs, i) => ({
      name: "requests_total",
      type: "counter" as const,
      unit: "",
      labels: { "service.name": "cart" },
      timeNs,
      value: i,
    })),
  );
  await store.seal();
  await store.close();
  store = await openStore({ dir, threads: 2, now });
});
afterEach(async () => {
  await store?.close();
  rmSync(dir, { recursive: true });
});

/** Answers of two questions, and the bytes of columns that they read. */
async function ask(store: Store) {
  const query = "count(logs) by (log_level)";
  const { series, scanned } = await queryTimeseries(store, { query, ...range, bucketSeconds: 60 });
  const found = await searchLogs(store, { query: "logs", ...range, limit: 10 });
  return { series, rows: found.rows, bytes: scanned.bytes + found.scanned.bytes };
}

test("questions read and find the same after it", async () => {
  const cold = await ask(store!);
  await store!.close();
  store = await openStore({ dir, threads: 2, now });
  await warmUp(store);
  const warm = await ask(store);
  expect(warm).toEqual(cold);
  expect(warm.bytes).toBeGreaterThan(0);
  expect((await ask(store)).bytes).toBe(0);
});

test("questions are asked about logs, spans and metrics", async () => {
  const asked = new Set<string>();
  const { aggregate, aggregateSamples, search } = store!;
  Object.assign(store!, {
    search: (...given: Parameters<Store["search"]>) => {
      asked.add(`search ${given[0].signal}`);
      expect(given[1]?.isWarmUp).toBe(true);
      return search.apply(store!, given);
    },
    aggregate: (...given: Parameters<Store["aggregate"]>) => {
      asked.add(`aggregate ${given[0].signal}`);
      expect(given[1]?.isWarmUp).toBe(true);
      return aggregate.apply(store!, given);
    },
    aggregateSamples: (...given: Parameters<Store["aggregateSamples"]>) => {
      asked.add("aggregate samples");
      expect(given[1]?.isWarmUp).toBe(true);
      return aggregateSamples.apply(store!, given);
    },
  });
  await warmUp(store!);
  expect([...asked].sort()).toEqual([
    "aggregate logs",
    "aggregate samples",
    "aggregate traces",
    "search logs",
    "search traces",
  ]);
});

test("where a question about logs fails, the others are asked about spans and metrics", async () => {
  const asked: string[] = [];
  const { aggregate, aggregateSamples } = store!;
  Object.assign(store!, {
    aggregate: (...given: Parameters<Store["aggregate"]>) => {
      if (given[0].signal === "logs") return Promise.reject(new Failure("limit", "too many groups"));
      asked.push(given[0].signal);
      return aggregate.apply(store!, given);
    },
    aggregateSamples: (...given: Parameters<Store["aggregateSamples"]>) => {
      asked.push("metrics");
      return aggregateSamples.apply(store!, given);
    },
  });
  await warmUp(store!);
  expect([...new Set(asked)]).toEqual(["traces", "metrics"]);
});

test("it ends where it is aborted, where the store is empty, and where the store is closed meanwhile", async () => {
  await warmUp(store!, AbortSignal.abort());
  const warming = warmUp(store!);
  await store!.close();
  await warming;
  store = await openStore({ dir: join(dir, "empty"), threads: 1 });
  await warmUp(store);
});

test("a damaged chunk is reported as by any question", async () => {
  await store!.close();
  const folder = join(dir, "logs", readdirSync(join(dir, "logs"))[0]!);
  const file = join(folder, "data.mdb");
  const bytes = readFileSync(file);
  // Of each column's frame: a chunk without a header is set aside by opening the store.
  for (let at = bytes.indexOf("SVCF"); at >= 0; at = bytes.indexOf("SVCF", at + 1))
    if (bytes[at + 10] === 1) bytes[at + 40]! ^= 0xff;
  writeFileSync(file, bytes);
  store = await openStore({ dir, threads: 2, now });
  await warmUp(store);
  expect(store.stats().damage.map(({ problem }) => problem)).toEqual([
    expect.stringContaining(`its ${rows} rows are quarantined`),
  ]);
  expect((await searchLogs(store, { query: "logs", ...range, limit: 10 })).rows).toEqual([]);
});
