/** Batches of samples that seed and number determine in full. */
import { type Sample, type Store, textAt } from "../../engine/index.ts";
import { Random } from "../../fixtures/random.ts";

const dayMs = 86_400_000;
const firstDayMs = Date.UTC(2025, 2, 1);
/** Behind every sample, for the stores' clocks. */
export const sampleNowMs = firstDayMs + 30 * dayMs;
const stream = 2_000_000;

/** Increases of one each, in series that bear the number of the batch: their sum is how many of them are there. */
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

/** A sample that every batch writes anew at the same time: the last batch's stays. */
export function latestOf(batch: number): Sample {
  const timeNs = BigInt(firstDayMs) * 1_000_000n;
  return { timeNs, name: "latest", type: "gauge", unit: "", labels: {}, value: batch };
}

export const everySample = { fromNs: 0n, toNs: 1n << 62n, of: "declared" } as const;

/** How many samples of each batch a store has. */
export async function countsOf(store: Store): Promise<Map<number, number>> {
  const groupBy = [{ kind: "attribute", key: "batch" } as const];
  const aggregate = { op: "sum" } as const;
  const query = { ...everySample, steps: [], name: "events_total", groupBy, aggregate };
  const { labels, points } = await store.aggregateSamples(query);
  return new Map(
    [...points.groups].map((group, i) => [Number(textAt(labels, group)), points.values[0]![i]!]),
  );
}
