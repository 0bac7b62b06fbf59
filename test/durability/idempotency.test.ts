/** A batch that is sent again under its idempotency key adds no rows, whatever happened in between. */
import { expect, test } from "vitest";
import { openStore, type Store } from "../../engine/index.ts";
import { scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Driver } from "./driver.ts";
import { keyOf, nowMs, rowsOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";

/** Numbers of batches that have keys. */
const keyed = Array.from({ length: 900 }, (_, i) => i + 1).filter(
  (batch) => keyOf(seed, batch) !== undefined,
);

function open(dir: string, clockMs = nowMs): Promise<Store> {
  return openStore({ dir, threads: 1, now: () => clockMs });
}

async function send(store: Store, batch: number) {
  const { rows, duplicate } = await store.append("logs", rowsOf(seed, batch), { key: keyOf(seed, batch)! });
  return { rows, duplicate };
}

/** The answer to the first append of a batch. */
function firstAnswer(batch: number) {
  return { rows: rowsOf(seed, batch).length, duplicate: false };
}

/** The answer to every later append of the same batch. */
function duplicateAnswer(batch: number) {
  return { rows: rowsOf(seed, batch).length, duplicate: true };
}

test("a batch sent again one after the other, at once, after a seal and after restarts is a duplicate", async () => {
  const random = seededRandom("idempotency");
  const dir = temporaryFolder();
  let store = await open(dir);
  const batches = keyed.slice(0, scaled(24, 400));
  for (const [i, batch] of batches.entries()) {
    const answers = await Promise.all([send(store, batch), send(store, batch), send(store, batch)]);
    expect(answers).toEqual([firstAnswer(batch), duplicateAnswer(batch), duplicateAnswer(batch)]);
    expect(await send(store, batch)).toEqual(duplicateAnswer(batch));
    if (random.oneIn(4)) await store.seal();
    if (random.oneIn(6)) {
      await store.close();
      store = await open(dir);
    }
    const earlier = batches[random.below(i + 1)]!;
    expect(await send(store, earlier)).toEqual(duplicateAnswer(earlier));
  }
  // By now segments of the journal were removed, and with them the records that carried the keys.
  await store.seal();
  await store.seal();
  await store.close();
  store = await open(dir);
  for (const batch of batches) expect(await send(store, batch)).toEqual(duplicateAnswer(batch));
  const { problems, rows } = await readContents(store, seed);
  const expected = batches.reduce((sum, batch) => sum + rowsOf(seed, batch).length, 0);
  expect({ problems, rows }).toEqual({ problems: [], rows: expected });
  await store.close();
});

test("a batch sent again after kill -9 is a duplicate", async () => {
  const random = seededRandom("idempotency after kill -9");
  const dir = temporaryFolder();
  const sent: number[] = [];
  for (let round = 0; round < scaled(2, 30); round++) {
    const driver = new Driver(seed);
    await driver.run({ do: "open", dir });
    const answers = await driver.run({ do: "append", batches: sent, times: 2 });
    expect(answers.filter(({ duplicate, failure }) => !duplicate || failure !== undefined)).toEqual([]);
    const fresh = keyed.slice(sent.length, sent.length + random.between(1, 20));
    const taken = await driver.run({ do: "append", batches: fresh });
    expect(taken.filter(({ duplicate, failure }) => duplicate || failure !== undefined)).toEqual([]);
    sent.push(...fresh);
    if (random.oneIn(2)) await driver.run({ do: "seal" });
    await driver.kill();
  }
  const store = await open(dir);
  const { problems, rows } = await readContents(store, seed);
  const expected = sent.reduce((sum, batch) => sum + rowsOf(seed, batch).length, 0);
  expect({ problems, rows }).toEqual({ problems: [], rows: expected });
  await store.close();
});

test("a key is remembered for the requested time, an hour by default", async () => {
  const dir = temporaryFolder();
  const batch = keyed[0]!;
  const key = "k";
  let store = await open(dir);
  expect(await send(store, batch)).toEqual(firstAnswer(batch));
  expect((await store.append("logs", rowsOf(seed, 1), { key, keyAgeMs: 5_000 })).duplicate).toBe(false);
  await store.seal();
  await store.close();
  store = await open(dir, nowMs + 3_000_000);
  expect(await send(store, batch)).toEqual(duplicateAnswer(batch));
  expect((await store.append("logs", rowsOf(seed, 1), { key, keyAgeMs: 5_000 })).duplicate).toBe(false);
  await store.close();
});

test("a batch whose rows are all refused and an empty batch are duplicates the second time", async () => {
  const dir = temporaryFolder();
  let store = await open(dir);
  const late = [{ timeNs: -1n, level: "", message: "from 1969", attributes: {} }];
  for (const [key, rows] of [
    ["refused", late],
    ["empty", []],
  ] as const) {
    const answer = await store.append("logs", rows, { key });
    expect(answer).toMatchObject({ rows: 0, duplicate: false });
    expect(await store.append("logs", rows, { key })).toMatchObject({ rows: 0, duplicate: true });
  }
  await store.close();
  store = await open(dir);
  expect(await store.append("logs", [], { key: "empty" })).toMatchObject({ rows: 0, duplicate: true });
  await store.seal();
  expect(store.stats()).toMatchObject({ rows: 0, damage: [] });
  await store.close();
});

test("the same rows under another key are another batch", async () => {
  const store = await open(temporaryFolder());
  const rows = rowsOf(seed, 2);
  await store.append("logs", rows, { key: "a" });
  await store.append("logs", rows, { key: "b" });
  await store.append("logs", rows);
  expect(store.stats().rows).toBe(rows.length * 3);
  await store.close();
});
