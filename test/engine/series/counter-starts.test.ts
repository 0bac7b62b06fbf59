/** Counters that name when they began: their increases are those that were made, whatever the values show. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import {
  ActiveSeries,
  encodeSampleBatch,
  openStore,
  type Sample,
  type Store,
  textAt,
} from "../../../engine/index.ts";
import { knownStartsMax } from "../../../engine/limits.ts";
import { KnownStarts } from "../../../engine/metrics/known-starts.ts";

const seed = Number(process.env.SVC_SEED ?? Date.now() % 2 ** 31);
const second = 1_000_000_000n;
const hour = 3600;
/** Two hours before midnight, so that lives cross it. */
const base = BigInt(Date.parse("2026-11-19T22:00:00Z")) * 1_000_000n;
const now = () => Date.parse("2026-11-21T12:00:00Z");
const folders: string[] = [];
afterAll(() => {
  for (const dir of folders) rmSync(dir, { recursive: true, force: true });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-starts-"));
  folders.push(dir);
  return dir;
}

/** One life of a process that counts. */
interface Life {
  /** Seconds since the last sample of the life before. */
  gap: number;
  /** What it had counted when somebody first looked, which is its first sample; undefined: its begin is known. */
  seen: number | undefined;
  /** Seconds since the sample before (of the first, since the begin), and what was counted in them. */
  steps: { seconds: number; counted: number }[];
}

const seconds = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 600 }) },
  { weight: 1, arbitrary: fc.integer({ min: hour - 1, max: hour + 1 }) },
  { weight: 1, arbitrary: fc.integer({ min: hour, max: 3 * hour }) },
);
const life: fc.Arbitrary<Life> = fc.record({
  gap: seconds,
  seen: fc.option(fc.nat(1_000), { nil: undefined, freq: 3 }),
  steps: fc.array(fc.record({ seconds, counted: fc.nat(50) }), { minLength: 1, maxLength: 12 }),
});

interface Truth {
  samples: Sample[];
  /** What was counted, by the second of the sample that shows it. */
  counted: Map<number, number>;
}

/** The samples of a series, and what it counted between two of them that lie an hour apart at most. */
function live(pod: string, lives: readonly Life[]): Truth {
  const truth: Truth = { samples: [], counted: new Map() };
  let at = 0;
  let before: number | undefined;
  const add = (value: number, begin: number) => {
    const startNs = base + BigInt(begin) * second;
    const timeNs = base + BigInt(at) * second;
    truth.samples.push({ timeNs, name: "hits", type: "counter", unit: "", labels: { pod }, value, startNs });
    before = value;
  };
  for (const { gap, seen, steps } of lives) {
    at += gap;
    const begin = at;
    let value = seen ?? 0;
    if (seen !== undefined) {
      // Nobody knows when it began: only its value tells whether it goes on.
      if (before !== undefined && gap <= hour) truth.counted.set(at, seen < before ? seen : seen - before);
      add(seen, begin);
    }
    for (const [i, step] of steps.entries()) {
      at += step.seconds;
      value += step.counted;
      // The zero stands a nanosecond before the begin.
      const isClose = i === 0 && seen === undefined ? step.seconds < hour : step.seconds <= hour;
      if (isClose) truth.counted.set(at, step.counted);
      add(value, begin);
    }
  }
  return truth;
}

/** The increases of each pod by bucket, without those that are 0: `pod bucket increase`. */
async function findIncreases(store: Store, bucket: number): Promise<string[]> {
  const { labels, points } = await store.aggregateSamples({
    name: "hits",
    fromNs: base,
    toNs: base + 1_000_000n * second,
    bucketNs: BigInt(bucket) * second,
    steps: [],
    groupBy: [{ kind: "attribute", key: "pod" }],
    of: "increase",
    aggregate: { op: "sum" },
  });
  return [...points.groups.entries()]
    .map(([i, group]) => [textAt(labels, group), points.buckets[i]!, points.values[0]![i]!] as const)
    .filter(([, , increase]) => increase !== 0)
    .map((point) => point.join(" "))
    .sort();
}

function sumByBucket(counted: ReadonlyMap<number, number>, bucket: number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const [at, count] of counted) {
    const key = Math.floor(at / bucket);
    if (count > 0) sums.set(key, (sums.get(key) ?? 0) + count);
  }
  return sums;
}

describe("increases of counters that name their begin", () => {
  test(`equal what was counted (SVC_SEED=${seed})`, { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(life, { minLength: 1, maxLength: 6 }), { minLength: 40, maxLength: 40 }),
        // The batch of each sample, whether it comes twice, and what follows each batch.
        fc.infiniteStream(fc.nat(5)),
        fc.infiniteStream(fc.boolean()),
        fc.array(fc.constantFrom("none", "seal", "restart"), { minLength: 6, maxLength: 6 }),
        async (podLives, batchOf, comesTwice, steps) => {
          const truths = podLives.map((lives, pod) => live(`p${pod}`, lives));
          const batches: Sample[][] = Array.from({ length: 6 }, () => []);
          for (const sample of truths.flatMap(({ samples }) => samples)) {
            batches[batchOf.next().value!]!.push(sample);
            if (comesTwice.next().value!) batches[batchOf.next().value!]!.push(sample);
          }
          const dir = folder();
          let store = await openStore({ dir, threads: 2, now });
          for (const [i, batch] of batches.entries()) {
            expect((await store.appendSamples(batch)).refused).toEqual([]);
            if (steps[i] === "seal") await store.seal();
            if (steps[i] !== "restart") continue;
            await store.close();
            store = await openStore({ dir, threads: 2, now });
          }
          try {
            for (const bucket of [1, 60, 3600, 1_000_000]) {
              const counted = truths.flatMap((truth, pod) =>
                [...sumByBucket(truth.counted, bucket)].map(([at, sum]) => `p${pod} ${at} ${sum}`),
              );
              expect(await findIncreases(store, bucket), `by ${bucket} s`).toEqual(counted.sort());
            }
          } finally {
            await store.close();
          }
        },
      ),
      { seed, numRuns: 2, endOnFailure: true },
    );
  });

  test("a start before midnight takes nothing from the first sample after it, whatever was counted before", async () => {
    const store = await openStore({ dir: folder(), threads: 1, now });
    const midnight = 7200;
    const append = (at: number, value: number, begin: number) =>
      store.appendSamples([
        {
          ...{ timeNs: base + BigInt(at) * second, startNs: base + BigInt(begin) * second, value },
          ...{ name: "hits", type: "counter", unit: "", labels: { pod: "a" } },
        },
      ]);
    await append(midnight - 60, 900, 1);
    // Arrives before the first sample of its life, so a zero is stored a nanosecond before midnight.
    await append(midnight + 10, 12, midnight);
    await append(midnight, 7, midnight);
    expect(await findIncreases(store, 1)).toEqual([`a ${midnight} 7`, `a ${midnight + 10} 5`]);
    await store.close();
  });

  test("a start is stored once, and again only while it is not known to be on disk", async () => {
    const store = await openStore({ dir: folder(), threads: 1, now });
    const sampleAt = (at: number, startNs?: bigint): Sample => ({
      timeNs: base + BigInt(at) * second,
      name: "hits",
      type: "counter",
      unit: "",
      labels: { pod: "a" },
      value: at,
      ...(startNs === undefined ? {} : { startNs }),
    });
    const census = () => new ActiveSeries(store.seriesCensus());
    const encode = (samples: Sample[]) => encodeSampleBatch(samples, { nowMs: now(), census: census() });
    const start = base - second;
    expect(encode([sampleAt(1, start), sampleAt(2, start)]).starts).toHaveLength(1);
    // That batch was not appended: this one stores the start again.
    const appended = encode([sampleAt(1, start)]);
    expect(appended.starts).toHaveLength(1);
    await store.appendEncoded(appended);
    expect(encode([sampleAt(2, start)]).starts).toBeUndefined();
    expect(encode([sampleAt(2, start + 1n)]).starts).toHaveLength(1);
    for (let at = 2; at < 50; at++) await store.appendSamples([sampleAt(at, start)]);
    expect(store.stats().signals.metrics.rows).toBe(50);
    await store.close();
  });

  test("more starts than are remembered make it forget those before, and they may be stored again", () => {
    const known = new KnownStarts(KnownStarts.makeTable());
    known.note(BigInt64Array.from({ length: knownStartsMax }, (_, i) => BigInt(i + 1)));
    const all = 2 ** 32 - 1;
    expect([known.has(0, 1), known.has(0, knownStartsMax), known.has(all, all)]).toEqual([true, true, false]);
    known.note(BigInt64Array.of(1n, -1n, 5n << 32n));
    expect([known.has(0, 1), known.has(all, all), known.has(5, 0)]).toEqual([true, true, true]);
    expect([known.has(0, 2), known.has(0, 5)]).toEqual([false, false]);
  });

  test("samples that name no start, or one that says nothing, are stored as ever", () => {
    const plain = { timeNs: base, name: "hits", unit: "", labels: { pod: "a" }, value: 7 };
    const encode = (sample: Sample) => encodeSampleBatch([sample], { nowMs: now() });
    const counter = encode({ ...plain, type: "counter" });
    const hourNs = BigInt(hour) * second;
    for (const startNs of [0n, base + 1n, base - hourNs, 2n ** 64n - 1n]) {
      const { bytes, starts } = encode({ ...plain, type: "counter", startNs });
      expect([Buffer.compare(bytes, counter.bytes), starts]).toEqual([0, undefined]);
    }
    for (const type of ["gauge", "delta"] as const) {
      expect(encode({ ...plain, type, startNs: base - second }).starts).toBeUndefined();
    }
  });
});
