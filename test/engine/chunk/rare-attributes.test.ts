/** Attributes beyond those that have a column of their own: a row is read back with exactly its attributes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { attributeColumnsMax } from "../../../engine/limits.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const dayNs = 86_400_000_000_000n;
const fromNs = 19_900n * dayNs;
/** So many that each is rarer than the usual ones. */
const rareKeys = 400;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-rare-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Rows of more keys than there are columns. Each has `rareMin` or more attributes of the rare ones. */
function drawRows(random: Random, rows: number, rareMin: number): LogRow[] {
  return Array.from({ length: rows }, (_, row) => {
    const attributes: Record<string, string> = {};
    for (let i = 0; i < 12; i++) attributes[`usual ${random.below(attributeColumnsMax)}`] = `u${row}`;
    const rare = rareMin + random.below(3);
    for (let i = 0; i < rare; i++) attributes[`rare ${random.below(rareKeys)}`] = `r${row} ${i}`;
    return { timeNs: fromNs + BigInt(row) * 1_000_000n, level: "info", message: `row ${row}`, attributes };
  });
}

function comparable({ timeNs, message, attributes }: LogRow): unknown {
  return [timeNs, message, Object.entries(attributes).sort()];
}

async function expectRows(store: Store, rows: readonly LogRow[]): Promise<void> {
  const { rows: found } = await store.search({
    signal: "logs",
    ...{ fromNs, toNs: fromNs + dayNs, steps: [], limit: rows.length + 1 },
  });
  const newestFirst = rows.toSorted((a, b) => Number(b.timeNs - a.timeNs));
  expect(found.map(comparable)).toEqual(newestFirst.map(comparable));
}

describe(`attributes without a column of their own (SVC_SEED=${seed})`, () => {
  test.each([
    { name: "each row has one of them", rareMin: 1, isShuffled: false },
    { name: "some rows have none", rareMin: 0, isShuffled: false },
    { name: "rows come in another order than by time", rareMin: 1, isShuffled: true },
  ])("$name", async ({ rareMin, isShuffled }) => {
    const random = new Random(seed);
    let rows = drawRows(random, 1_200, rareMin);
    if (isShuffled) rows = rows.toSorted((a, b) => (a.message < b.message ? -1 : 1));
    let store = await openStore({ dir, threads: 1 });
    const half = rows.slice(0, 600);
    await store.append("logs", half);
    await expectRows(store, half);
    await store.seal();
    await expectRows(store, half);
    await store.append("logs", rows.slice(600));
    await store.seal();
    await expectRows(store, rows);
    await store.close();
    store = await openStore({ dir, threads: 1 });
    await expectRows(store, rows);
    await store.close();
  });
});
