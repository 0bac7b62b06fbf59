/** Random rows in a store, in every state that rows can be in, and the same rows in an array. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { type LogRow, openStore, type Store } from "../../engine/index.ts";
import { arbitraryRow, numberLevels } from "./arbitrary.ts";

export const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const dayNs = 86_400_000_000_000n;
const firstDay = 19_000n;

/** The state of a dataset's rows when they are searched. */
export const states = ["in memory", "sealed", "in memory and sealed", "merged", "after a restart"] as const;

export interface Dataset {
  state: (typeof states)[number];
  /** In the order in which the store acknowledged them. */
  rows: LogRow[];
  fromNs: bigint;
  toNs: bigint;
}

export interface FilledStore {
  store: Store;
  sets: Dataset[];
  close(): Promise<void>;
}

export const sample = <T>(arbitrary: fc.Arbitrary<T>, count: number, salt: number): T[] =>
  fc.sample(arbitrary, { seed: seed + salt, numRuns: count });

/**
 * Opens a store in a folder of its own and fills it with `datasets` datasets. Searches have `columnCacheBytes` for
 * decoded columns.
 */
export async function fillStore(datasets: number, columnCacheBytes: number): Promise<FilledStore> {
  const dir = mkdtempSync(join(tmpdir(), "svc-datasets-"));
  const sets = Array.from({ length: datasets }, (_, number) => makeDataset(number));
  const inState = (...wanted: Dataset["state"][]) => sets.filter(({ state }) => wanted.includes(state));
  let store = await openStore({ dir, threads: 2 });
  for (const set of inState("merged")) await appendMerged(store, set);
  await append(store, inState("sealed", "after a restart"));
  await append(store, inState("in memory and sealed"), 0, 0.5);
  await store.seal();
  await append(store, inState("in memory and sealed"), 0.5, 1);
  await append(store, inState("after a restart"), 1, 1.5);
  await store.close();
  store = await openStore({ dir, threads: 2, columnCacheBytes });
  await append(store, inState("in memory"));
  const close = async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  };
  return { store, sets, close };
}

/** A time range within a dataset, often all of it. */
export function arbitraryRange(set: Dataset): fc.Arbitrary<{ fromNs: bigint; toNs: bigint }> {
  const time = fc.oneof(
    fc.constantFrom(...set.rows.map(({ timeNs }) => timeNs)),
    fc.bigInt({ min: set.fromNs, max: set.toNs }),
  );
  return fc
    .oneof(
      { weight: 2, arbitrary: fc.constant<[bigint, bigint]>([set.fromNs, set.toNs]) },
      { weight: 1, arbitrary: fc.tuple(time, time) },
    )
    .map(([a, b]) => ({ fromNs: a < b ? a : b, toNs: a < b ? b : a }));
}

export function printBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

/** Each dataset has days of its own, so that searches see no other's rows. Every third spans midnight. */
function makeDataset(number: number): Dataset {
  const spanNs = number % 3 === 0 ? dayNs : 3_600_000_000_000n;
  const fromNs = (firstDay + BigInt(number) * 3n) * dayNs + (number % 3 === 0 ? dayNs / 2n : 0n);
  const levels = number % 4 === 1 ? numberLevels : undefined;
  const rows = sample(arbitraryRow(fromNs, spanNs, levels), 40 + (number % 5) * 40, number);
  return { state: states[number % states.length]!, rows, fromNs, toNs: fromNs + spanNs };
}

/**
 * Appends the rows between two shares of each dataset, in batches of uneven size. A share above 1 appends the first
 * rows again.
 */
async function append(store: Store, chosen: Dataset[], fromShare = 0, toShare = 1): Promise<void> {
  for (const set of chosen) {
    const count = set.rows.length;
    const part =
      fromShare >= 1 ? set.rows.slice(0, count / 2) : set.rows.slice(fromShare * count, toShare * count);
    if (fromShare >= 1) set.rows = [...set.rows, ...part];
    for (let at = 0, size = 1; at < part.length; at += size, size = (size * 3) % 31 || 1) {
      await store.append("logs", part.slice(at, at + size));
    }
  }
}

/** Seals after each batch, so that there is a chunk a batch and the maintenance worker merges them. */
async function appendMerged(store: Store, set: Dataset): Promise<void> {
  const size = Math.ceil(set.rows.length / 12);
  for (let at = 0; at < set.rows.length; at += size) {
    await store.append("logs", set.rows.slice(at, at + size));
    await store.seal();
  }
}
