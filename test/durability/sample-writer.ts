/**
 * The process that is killed: it appends batches of samples one after the other while the store seals. "sent N" stands before each
 * append, "ack N" after it.
 */
import { setTimeout } from "node:timers/promises";
import { openStore } from "../../engine/index.ts";
import { writeLine as say } from "./line.ts";
import { latestOf, sampleNowMs, samplesOf } from "./sample-batches.ts";

export interface SampleWriterPlan {
  dir: string;
  seed: number;
  /** Number of the first new batch. */
  batchMin: number;
}

const plan = JSON.parse(process.argv[2]!) as SampleWriterPlan;
const store = await openStore({ dir: plan.dir, threads: 1, now: () => sampleNowMs });
say("open");

async function sealOn(): Promise<never> {
  for (;;) {
    await setTimeout(30);
    await store.seal();
  }
}

void sealOn();
for (let batch = plan.batchMin; ; batch++) {
  say(`sent ${batch}`);
  await store.appendSamples([...samplesOf(plan.seed, batch), latestOf(batch)]);
  say(`ack ${batch}`);
}
