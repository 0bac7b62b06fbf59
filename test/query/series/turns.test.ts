/** The work that the query thread does on very many series is divided into turns. */
import { afterEach, expect, test } from "vitest";
import { type AggregateResult, emptyScanStatistics } from "../../../engine/index.ts";
import { queryTimeseries } from "../../../query/index.ts";
import type { SeriesStore } from "../../../query/series/scan-reader.ts";
import { canMeasureTurns, longestTurnMs } from "../longest-turn.ts";

/** Longest turn, in CPU milliseconds. A turn may once have a garbage collection in it: then the work is measured again. */
const turnMsMax = 50;

/** A store whose answer to every aggregation has some groups with labels `id` and `le`, and a point in each bucket. */
function makeStore(groups: number, buckets: number): SeriesStore {
  const texts = Array.from({ length: groups }, (_, i) => [`id-${(i * 7_919) % groups}`, String(i % 10)]);
  const points = groups * buckets;
  const make = (labels: string[]): Pick<AggregateResult, "groups" | "labels"> => {
    const offsets = new Uint32Array(labels.length + 1);
    for (const [i, text] of labels.entries()) offsets[i + 1] = offsets[i]! + text.length;
    return { groups, labels: { offsets, bytes: Buffer.from(labels.join("")) } };
  };
  const result = {
    // Descending: the points come in an order that has to be changed.
    points: {
      groups: Uint32Array.from({ length: points }, (_, i) => i % groups),
      buckets: Float64Array.from({ length: points }, (_, i) => buckets - 1 - Math.floor(i / groups)),
      values: [Float64Array.from({ length: points }, (_, i) => i % 1_000), new Float64Array(points).fill(2)],
    },
    scanned: emptyScanStatistics(),
  };
  const plain = { ...result, ...make(texts.map(([id]) => id!)) };
  const two = { ...result, ...make(texts.flat()) };
  return {
    aggregate: async ({ groupBy }) => (groupBy.length === 2 ? two : plain),
    attributeKeys: () => ({ keys: ["id", "le"], isWhole: true }),
  } as Partial<SeriesStore> as SeriesStore;
}

const stores = new Map<string, SeriesStore>();
function storeOf(groups: number, buckets: number): SeriesStore {
  const key = `${groups} ${buckets}`;
  if (!stores.has(key)) stores.set(key, makeStore(groups, buckets));
  return stores.get(key)!;
}
afterEach(() => void (stores.size > 1 && stores.clear()));

const one = "count(logs{}) by (id)";
test.skipIf(!canMeasureTurns).each([
  [1_000_000, 1, `topk(5, ${one})`],
  [100_000, 10, `topk(5, ${one}) by (id)`],
  [100_000, 10, `sum(${one}) by (id)`],
  [100_000, 10, `sum(${one})`],
  [100_000, 10, `quantile(0.5, ${one})`],
  [100_000, 10, `count_distinct(id, ${one})`],
  [100_000, 10, one],
  [100_000, 10, `${one} * 2 > 1`],
  [100_000, 10, `${one} + ${one}`],
  [100_000, 10, `${one} + sum(${one})`],
  [100_000, 10, `${one} and ${one}`],
  [100_000, 10, `${one} or ${one}`],
  [100_000, 10, `${one} default ${one}`],
  [100_000, 10, `${one} default 0`],
  [100_000, 10, "histogram_quantile(0.9, count(logs{}) by (id, le))"],
  [10, 100_000, one],
  [10, 100_000, `${one} or ${one}`],
  [10, 100_000, `sum(${one}) + ${one}`],
  [10, 100_000, "histogram_quantile(0.9, count(logs{}) by (id, le))"],
])(
  "of %d groups in %d buckets: %s",
  async (groups, buckets, query) => {
    const store = storeOf(groups, buckets);
    const range = { startMs: 0, endMs: buckets * 1_000 - 1, bucketSeconds: 1 };
    const ask = () => queryTimeseries(store, { query, ...range });
    let ms = await longestTurnMs(ask);
    for (let again = 0; again < 2 && ms > turnMsMax; again++) ms = Math.min(ms, await longestTurnMs(ask));
    expect(ms).toBeLessThan(turnMsMax);
  },
  60_000,
);
