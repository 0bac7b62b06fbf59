/** Random queries mean what they mean to Prometheus, over the same samples. Needs Debian's package `prometheus`. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store } from "../../../../engine/index.ts";
import { queryTimeseries } from "../../../../query/index.ts";
import { describeDifference } from "../difference.ts";
import { dataStartMs, makeSamples, queriesStartMs } from "./oracle-samples.ts";
import { arbitraryPair } from "./pairs.ts";
import { hasPrometheus, type Prometheus, startPrometheus } from "./prometheus.ts";

const seed = Number(process.env.SVC_SEED ?? 20251119);
const queries = 260;

const steps = fc.tuple(
  fc.constantFrom(1, 15, 30, 60, 97, 300),
  fc.integer({ min: 3, max: 14 }),
  fc.nat({ max: 100 }),
);

describe.skipIf(!hasPrometheus)(`as Prometheus answers (SVC_SEED=${seed})`, () => {
  let dir: string;
  let store: Store;
  let prometheus: Prometheus;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "svc-oracle-"));
    const samples = makeSamples(seed);
    for (const name of ["store", "prometheus"]) mkdirSync(join(dir, name));
    store = await openStore({
      ...{ dir: join(dir, "store"), threads: 1, now: () => dataStartMs + 4 * 3_600_000 },
    });
    for (let at = 0; at < samples.length; at += 5_000)
      await store.appendSamples(samples.slice(at, at + 5_000));
    prometheus = await startPrometheus(join(dir, "prometheus"), samples);
  }, 60_000);
  afterAll(async () => {
    await prometheus?.stop();
    await store?.close();
    rmSync(dir, { recursive: true });
  });

  test(`${queries} queries`, { timeout: 60_000 }, async () => {
    const drawn = fc.sample(fc.tuple(arbitraryPair, steps), { seed, numRuns: queries });
    const differences: string[] = [];
    let answered = 0;
    for (const [{ svcql, promql }, [seconds, count, first]] of drawn) {
      const bucketMs = seconds * 1000;
      const startMs = Math.ceil(queriesStartMs / bucketMs + (seconds < 60 ? first : 0)) * bucketMs;
      const range = { startMs, endMs: startMs + count * bucketMs - 1, bucketSeconds: seconds };
      const expected = await prometheus.query(promql.replaceAll("<step>", `${seconds}s`), range);
      const { series } = await queryTimeseries(store, { query: svcql, ...range });
      const difference = describeDifference(series, expected, false);
      if (difference !== "") differences.push(`${svcql} by ${seconds} s from ${startMs}: ${difference}`);
      if (expected.length > 0) answered += 1;
    }
    expect(differences).toEqual([]);
    expect(new Set(drawn.map(([{ svcql }]) => svcql)).size).toBeGreaterThan(200);
    expect(answered).toBeGreaterThan(queries * 0.6);
  });
});
