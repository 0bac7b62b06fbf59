/**
 * The process that is killed: several clients append at once and resend batches, while the store seals and searches. It
 * prints "sent N" before each append and "ack N rows duplicate" after it, with one write each, so that the test knows
 * at the moment of the kill which batches were acknowledged.
 */
import { setTimeout } from "node:timers/promises";
import { openStore, type Store } from "../../engine/index.ts";
import { Random } from "../../fixtures/random.ts";
import { writeLine } from "./line.ts";
import { batchSignals, keyOf, nowMs, rowsOf, signalOf } from "./rows/batches.ts";
import { everythingNs } from "./rows/contents.ts";

export interface WriterPlan {
  dir: string;
  seed: number;
  /** Number of the first new batch. */
  batchMin: number;
  clients: number;
  /** Batches of earlier runs that have keys; some of them are sent again. */
  again: number[];
  /** Longest pause of a client between appends. */
  appendPauseMs: number;
  /** Mean pause between seals. */
  sealPauseMs: number;
  /** After this time the writer closes the store and ends. */
  runMs: number;
}

const plan = JSON.parse(process.argv[2]!) as WriterPlan;
const random = new Random(plan.seed, plan.batchMin);
const resendable = [...plan.again];
let batchNext = plan.batchMin;
let isOver = false;

async function send(store: Store, batch: number): Promise<void> {
  const key = keyOf(plan.seed, batch);
  const rows = rowsOf(plan.seed, batch);
  writeLine(`sent ${batch}`);
  const result = await store.append(signalOf(batch), rows, key === undefined ? {} : { key });
  writeLine(`ack ${batch} ${result.rows} ${result.duplicate}`);
}

async function appendRepeatedly(store: Store): Promise<void> {
  while (!isOver) {
    if (plan.appendPauseMs > 0) await setTimeout(random.below(plan.appendPauseMs));
    if (resendable.length > 0 && random.oneIn(8)) {
      await send(store, random.pick(resendable));
      continue;
    }
    const batch = batchNext++;
    const hasKey = keyOf(plan.seed, batch) !== undefined;
    if (hasKey && random.oneIn(6)) await Promise.all([send(store, batch), send(store, batch)]);
    else await send(store, batch);
    if (hasKey) resendable.push(batch);
  }
}

async function sealRepeatedly(store: Store): Promise<void> {
  while (!isOver) {
    await setTimeout(random.below(plan.sealPauseMs * 2));
    writeLine("sealing");
    if (random.oneIn(4)) await Promise.all([store.seal(), store.seal()]);
    else await store.seal();
    writeLine("sealed");
  }
}

async function searchRepeatedly(store: Store): Promise<void> {
  while (!isOver) {
    await setTimeout(random.below(60));
    const signal = random.pick(batchSignals);
    await store.search({ signal, ...everythingNs, steps: [], limit: random.between(1, 500) });
  }
}

writeLine("opening");
const store = await openStore({
  dir: plan.dir,
  threads: 1,
  now: () => nowMs,
  log: ({ level, message }) => {
    if (level !== "info") writeLine(`event ${level}: ${message}`);
  },
});
writeLine("open");
const end = setTimeout(plan.runMs).then(() => {
  isOver = true;
});
await Promise.all([
  ...Array.from({ length: plan.clients }, () => appendRepeatedly(store)),
  sealRepeatedly(store),
  searchRepeatedly(store),
  end,
]);
writeLine("closing");
await store.close();
writeLine("closed");
