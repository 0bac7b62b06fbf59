/** A store's contents do not depend on when it seals, compacts, merges, closes and opens. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type LogRow, openStore, type RowQuery, type Store } from "../../engine/index.ts";
import { isSoak, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { nowMs, rowsOf } from "./rows/batches.ts";
import { everythingNs, readContents, searchAll } from "./rows/contents.ts";

function open(dir: string): Promise<Store> {
  return openStore({ dir, threads: 2, now: () => nowMs });
}

/** Returns all rows in the order of a search. */
async function rowsIn(store: Store): Promise<{ arrival: number; text: string }[]> {
  const rows: { arrival: number; text: string }[] = [];
  for await (const { arrival, timeNs, level, message, attributes } of searchAll(store, 2_000)) {
    rows.push({
      arrival,
      text: JSON.stringify([String(timeNs), level, message, Object.entries(attributes).sort()]),
    });
  }
  return rows;
}

test("sealing, compacting, merging and restarts do not change the result of a search", async () => {
  const random = seededRandom("restart");
  const dir = temporaryFolder();
  let store = await open(dir);
  let batch = 0;
  const total = { rows: 0 };
  for (let step = 0; step < scaled(8, 120); step++) {
    const count = random.between(1, 8);
    for (let i = 0; i < count; i++) {
      batch++;
      total.rows += rowsOf(seed, batch).length;
      await store.append("logs", rowsOf(seed, batch));
    }
    const before = await rowsIn(store);
    expect(before.length).toBe(total.rows);
    if (random.oneIn(2)) await store.seal();
    if (random.oneIn(3)) {
      await store.close();
      store = await open(dir);
    }
    expect(await rowsIn(store)).toEqual(before);
  }
  const { problems, rows } = await readContents(store, seed);
  expect({ problems, rows }).toEqual({ problems: [], rows: total.rows });
  expect(store.stats().damage).toEqual([]);
  await store.close();
});

test("rows with the same time keep the order in which they arrived", async () => {
  const dir = temporaryFolder();
  let store = await open(dir);
  const timeNs = BigInt(nowMs) * 1_000_000n;
  const expected: string[] = [];
  for (let round = 0; round < 12; round++) {
    for (let batch = 0; batch < 20; batch++) {
      const rows: LogRow[] = Array.from({ length: 1 + ((round + batch) % 4) }, (_, row) => {
        return { timeNs, level: "info", message: `${round} ${batch} ${row}`, attributes: {} };
      });
      expected.push(...rows.map(({ message }) => message));
      await store.append("logs", rows);
    }
    if (round % 3 !== 2) await store.seal();
    if (round % 4 === 3) {
      await store.close();
      store = await open(dir);
    }
    const found: string[] = [];
    for await (const { message } of searchAll(store, 37)) found.push(message);
    expect(found).toEqual(expected);
  }
  await store.close();
});

test("concurrent seals add each row once", async () => {
  seededRandom("seals at once");
  const store = await open(temporaryFolder());
  let rows = 0;
  for (let batch = 1; batch <= scaled(12, 150); batch++) {
    rows += rowsOf(seed, batch).length;
    await Promise.all([store.append("logs", rowsOf(seed, batch)), store.seal(), store.seal()]);
    await Promise.all([store.seal(), store.seal(), store.seal()]);
  }
  const contents = await readContents(store, seed);
  expect(contents.problems).toEqual([]);
  expect(contents.rows).toBe(rows);
  await store.close();
});

test("paging returns every row once while rows arrive and chunks are sealed and merged", async () => {
  const random = seededRandom("cursor");
  const store = await open(temporaryFolder());
  let batch = 0;
  const append = async () => {
    batch++;
    await store.append("logs", rowsOf(seed, batch));
  };
  for (let round = 0; round < scaled(4, 60); round++) {
    for (let i = 0; i < 6; i++) await append();
    const before = await rowsIn(store);
    const found = new Map<number, string>();
    let duplicates = 0;
    let appendedMeanwhile = 0;
    for await (const { arrival, message } of searchAll(store, random.pick([60, 150, 400]))) {
      if (found.has(arrival)) duplicates++;
      found.set(arrival, message);
      // At most as many as before the pages were read: in proportion to the rows found, they would grow without end.
      if (appendedMeanwhile < 6 && random.oneIn(300)) {
        await append();
        appendedMeanwhile++;
      }
      if (random.oneIn(1_000)) await store.seal();
    }
    expect(duplicates).toBe(0);
    const missing = before.filter(({ arrival }) => !found.has(arrival));
    expect(missing, `${appendedMeanwhile} batches came while the pages were read`).toEqual([]);
  }
  const { problems } = await readContents(store, seed);
  expect(problems).toEqual([]);
  await store.close();
});

test.skipIf(!isSoak)("a batch that is larger than a journal segment is kept, sealed and found", async () => {
  const dir = temporaryFolder();
  let store = await open(dir);
  const rows: LogRow[] = Array.from({ length: 40 }, (_, i) => ({
    timeNs: BigInt(nowMs + i) * 1_000_000n,
    level: "info",
    message: randomBytes(1024 * 1024 - 8).toString("hex"),
    attributes: { i: String(i) },
  }));
  expect(await store.append("logs", rows, { key: "large" })).toMatchObject({ rows: 40, duplicate: false });
  for (const step of ["restart", "seal", "restart"]) {
    if (step === "seal") await store.seal();
    else {
      await store.close();
      store = await open(dir);
    }
    const found: string[] = [];
    for await (const { message } of searchAll(store, 3)) found.push(message);
    expect(found.reverse()).toEqual(rows.map(({ message }) => message));
    expect(await store.append("logs", rows, { key: "large" })).toMatchObject({ duplicate: true });
  }
  expect(store.stats().damage).toEqual([]);
  await store.close();
});

test("searches and scans return each row once while chunks are sealed and merged", async () => {
  seededRandom("searches beside seals");
  const store = await open(temporaryFolder());
  let rows = 0;
  for (let batch = 1; batch <= scaled(12, 100); batch++) {
    rows += rowsOf(seed, batch).length;
    await store.append("logs", rowsOf(seed, batch));
    const query: RowQuery = { signal: "logs", ...everythingNs, steps: [], limit: 1_000_000 };
    const [found] = await Promise.all([store.search(query), store.seal(), readContents(store, seed, 5_000)]);
    expect(found.rows.length).toBe(rows);
  }
  await store.close();
});
