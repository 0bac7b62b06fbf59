/**
 * The process that is killed: it appends batches of samples one after the other while the store seals. It prints "sent
 * N" before each append and "ack N" after it.
 */
import { setTimeout } from "node:timers/promises";
import { openStore } from "../../engine/index.ts";
import { writeLine } from "./line.ts";
import { latestOf, sampleNowMs, samplesOf } from "./rows/sample-batches.ts";

export interface SampleWriterPlan {
  dir: string;
  seed: number;
  /** Number of the first new batch. */
  batchMin: number;
}

const plan = JSON.parse(process.argv[2]!) as SampleWriterPlan;
const store = await openStore({ dir: plan.dir, threads: 1, now: () => sampleNowMs });
writeLine("open");

async function sealRepeatedly(): Promise<never> {
  for (;;) {
    await setTimeout(30);
    await store.seal();
  }
}

void sealRepeatedly();
for (let batch = plan.batchMin; ; batch++) {
  writeLine(`sent ${batch}`);
  await store.appendSamples([...samplesOf(plan.seed, batch), latestOf(batch)]);
  writeLine(`ack ${batch}`);
}
