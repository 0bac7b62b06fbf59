/** The query thread's own work on many series ends at the deadline as well. */
import { expect, test } from "vitest";
import { type AggregateResult, emptyScanStatistics } from "../../../engine/index.ts";
import { queryTimeseries } from "../../../query/index.ts";
import { selectTopSeries } from "../../../query/series/ranking.ts";
import type { SeriesStore } from "../../../query/series/scan-reader.ts";
import { labelsOf, toSeriesSet } from "../../../query/series/series-set.ts";
import { WorkDeadline } from "../../../query/time/deadline.ts";

/** A store whose answer to every aggregation is one row for each of `groups` ids. */
function makeStore(groups: number): SeriesStore {
  const texts = Array.from({ length: groups }, (_, i) => `id-${(i * 7_919) % groups}`);
  const offsets = new Uint32Array(groups + 1);
  for (const [i, text] of texts.entries()) offsets[i + 1] = offsets[i]! + text.length;
  const result: AggregateResult = {
    groups,
    labels: { offsets, bytes: Buffer.from(texts.join("")) },
    points: {
      groups: Uint32Array.from(texts, (_, i) => i),
      buckets: new Float64Array(groups),
      values: [new Float64Array(groups).fill(1)],
    },
    scanned: emptyScanStatistics(),
  };
  const passed = new Promise<void>((resolve) => setTimeout(resolve, 20));
  return {
    aggregate: () => passed.then(() => result),
    attributeKeys: () => ({ keys: ["id"], isWhole: true }),
  } as Partial<SeriesStore> as SeriesStore;
}

const range = { startMs: 0, endMs: 59_999, bucketSeconds: 60 };

test.each([
  "topk(5, count(logs{}) by (id))",
  "topk(5, count(logs{}) by (id)) by (id)",
  "sum(count(logs{}) by (id)) by (id)",
  "count(logs{}) by (id)",
  "count(logs{}) by (id) * 2",
  "count(logs{}) by (id) and count(logs{}) by (id)",
])("%s over many series ends at the deadline", async (query) => {
  const asked = queryTimeseries(makeStore(50_000), { query, ...range }, { deadlineMs: 5 });
  await expect(asked).rejects.toMatchObject({ kind: "deadline" });
});

test("an abandoned query does not work on", async () => {
  const abort = AbortSignal.abort();
  const asked = queryTimeseries(makeStore(10), { query: "count(logs{}) by (id)", ...range }, { abort });
  await expect(asked).rejects.toMatchObject({ kind: "cancelled" });
});

test("the first of many equal series are found in few steps, however many are asked for", async () => {
  const groups = 100_000;
  const result = await makeStore(groups).aggregate({} as never);
  let reads = 0;
  const work = new WorkDeadline(performance.now(), {});
  const set = await toSeriesSet(result, ["id"], 0, work);
  const countRead = (series: number, name: string) => {
    reads++;
    return set.labelOf(series, name);
  };
  const counted = { ...set, labelOf: countRead };
  const count = 30_000;
  const plan = { op: "topk", count, among: { kind: "by", labels: [] } } as const;
  const top = await selectTopSeries(plan as never, counted, work);
  const ids = Array.from(top.order, (series) => labelsOf(set, series)[0]![1]);
  const all = Array.from({ length: groups }, (_, i) => `id-${i}`).sort();
  expect(ids).toEqual(all.slice(0, count));
  expect(reads).toBeLessThan(3 * groups);
});
