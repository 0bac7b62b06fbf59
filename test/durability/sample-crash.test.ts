/** kill -9 while samples are written: acknowledged batches are there as a whole, others as a whole or not at all. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { openStore, type Store, verifyStore } from "../../engine/index.ts";
import { scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import { countsOf, everySample, sampleNowMs, samplesOf } from "./rows/sample-batches.ts";
import type { SampleWriterPlan } from "./sample-writer.ts";

test(
  "kill -9 while samples are written loses no acknowledged batch",
  async () => {
    const random = seededRandom("kill -9 under samples");
    const dir = temporaryFolder();
    let batchMin = 1;
    let acknowledged = 0;
    const acks = new Set<number>();
    for (let kill = 0; kill < scaled(3, 40); kill++) {
      const plan: SampleWriterPlan = { dir, seed, batchMin };
      const writer = new Child("sample-writer.ts", plan);
      await writer.waitForLine((line) => line.startsWith("ack"), { timeoutMs: 60_000 });
      await setTimeout(random.below(700));
      await writer.kill();
      for (const line of writer.lines) {
        const [word, number] = line.split(" ");
        if (word === "sent") batchMin = Number(number) + 1;
        if (word === "ack") acknowledged = Number(number);
        if (word === "ack") acks.add(acknowledged);
      }
      const store = await openStore({ dir, threads: 1, now: () => sampleNowMs });
      if (random.oneIn(2)) await store.seal();
      const counts = await countsOf(store);
      for (let batch = 1; batch < batchMin; batch++) {
        const found = counts.get(batch) ?? 0;
        const whole = samplesOf(seed, batch).length;
        if (acks.has(batch) || found > 0) expect(found, `batch ${batch} of ${dir}`).toBe(whole);
      }
      const latest = await latestIn(store);
      expect(latest).toBeGreaterThanOrEqual(acknowledged);
      expect(counts.has(latest)).toBe(true);
      await store.close();
    }
    expect(acks.size).toBeGreaterThan(3);
    expect((await verifyStore(dir)).damage).toEqual([]);
  },
  scaled(120_000, 7_200_000),
);

async function latestIn(store: Store): Promise<number> {
  const query = { ...everySample, steps: [], name: "latest", groupBy: [], aggregate: { op: "max" } as const };
  return (await store.aggregateSamples(query)).points.values[0]![0]!;
}
