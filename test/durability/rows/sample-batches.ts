/** Batches of samples that are determined by seed and number. */
import { type Sample, type Store, textAt } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";

const dayMs = 86_400_000;
const firstDayMs = Date.UTC(2025, 2, 1);
/** Later than every sample; the time of the stores' clocks. */
export const sampleNowMs = firstDayMs + 30 * dayMs;
const stream = 2_000_000;

/**
 * Delta samples of value 1, in series labelled with the number of the batch: their sum is the number of samples in the
 * store.
 */
export function samplesOf(seed: number, batch: number): Sample[] {
  const random = new Random(seed, stream + batch);
  const count = random.oneIn(5) ? random.between(1, 20_000) : random.between(1, 200);
  const day = random.below(3);
  return Array.from({ length: count }, (_, i) => ({
    timeNs: BigInt(firstDayMs + day * dayMs + i) * 1_000_000n,
    name: "events_total",
    type: "delta",
    unit: "",
    labels: { batch: String(batch), shard: String(random.below(4)) },
    value: 1,
  }));
}

/** A sample that every batch writes with the same time: the store keeps that of the last batch. */
export function latestOf(batch: number): Sample {
  const timeNs = BigInt(firstDayMs) * 1_000_000n;
  return { timeNs, name: "latest", type: "gauge", unit: "", labels: {}, value: batch };
}

export const everySample = { fromNs: 0n, toNs: 1n << 62n, of: "declared" } as const;

/** Returns the number of samples of each batch in a store. */
export async function countsOf(store: Store): Promise<Map<number, number>> {
  const groupBy = [{ kind: "attribute", key: "batch" } as const];
  const aggregate = { op: "sum" } as const;
  const query = { ...everySample, steps: [], name: "events_total", groupBy, aggregate };
  const { labels, points } = await store.aggregateSamples(query);
  return new Map(
    [...points.groups].map((group, i) => [Number(textAt(labels, group)), points.values[0]![i]!]),
  );
}
