/** Where rows have more names than the store lists, there is no warning of an unknown name. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { collectPlanWarnings, planLogs, searchLogs } from "../../../query/index.ts";
import { canMeasureTurns, longestTurnMs } from "../longest-turn.ts";

const atMs = Date.UTC(2026, 0, 5, 12);
let dir: string;
let store: Store;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-names-"));
  store = await open();
});
afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(): Promise<Store> {
  return openStore({ dir, threads: 1, now: () => atMs });
}

/** Appends a batch with one row for each key. */
function append(keyMin: number, keys: number): Promise<unknown> {
  const rows: LogRow[] = Array.from({ length: keys }, (_, i) => ({
    timeNs: BigInt(atMs) * 1_000_000n,
    level: "info",
    message: "",
    attributes: { [`key${keyMin + i}`]: "x" },
  }));
  return store.append("logs", rows);
}

/** The warnings for each name, of a search for it that finds no row. */
async function warningsFor(...names: string[]): Promise<string[][]> {
  const asked = names.map(async (name) => {
    const query = `logs{"${name}"="y"}`;
    return (await searchLogs(store, { query, startMs: atMs, endMs: atMs, limit: 1 })).warnings;
  });
  return Promise.all(asked);
}

const unknownWarning = ['no row has the attribute "unknown"'];

test("while all names are listed, only unknown names are warned of", async () => {
  for (let batch = 0; batch < 4; batch++) {
    await append(batch * 500, 500);
    await store.seal();
  }
  expect(await warningsFor("key0", "key1999", "unknown")).toEqual([[], [], unknownWarning]);
});

test("no name is warned of where a manifest does not list all names", async () => {
  for (let batch = 0; batch < 4; batch++) {
    await append(batch * 500, 500);
    await store.seal();
  }
  await append(2_000, 1);
  expect(await warningsFor("key0", "key2000", "unknown")).toEqual([[], [], unknownWarning]);
  await store.seal();
  expect(await warningsFor("key0", "key2000", "unknown")).toEqual([[], [], []]);
  await store.close();
  store = await open();
  expect(await warningsFor("key0", "key2000", "unknown")).toEqual([[], [], []]);
});

test("no name is warned of where a chunk's header does not list all names", async () => {
  await append(0, 700);
  const names = Array.from({ length: 700 }, (_, i) => `key${i}`);
  expect((await warningsFor(...names)).flat()).toEqual([]);
  await store.seal();
  expect((await warningsFor(...names)).flat()).toEqual([]);
});

test("a similar name is suggested for the first unknown names alone", async () => {
  await append(0, 100);
  const misspelled = Array.from({ length: 8 }, (_, i) => `kez${i}`);
  const query = `logs{${misspelled.map((name) => `${name}="y"`).join(", ")}}`;
  const { warnings } = await searchLogs(store, { query, startMs: atMs, endMs: atMs, limit: 1 });
  expect(warnings).toEqual(
    misspelled.map((name, i) => {
      const suggestion =
        i < 5 ? expect.stringMatching(/; did you mean "key\d"\?$/) : `no row has the attribute "${name}"`;
      return suggestion;
    }),
  );
});

test.skipIf(!canMeasureTurns)(
  "many unknown names beside many stored ones keep the thread shortly",
  async () => {
    const keys = Array.from({ length: 20_000 }, (_, i) => `attribute-key-${String(i).padStart(20, "x")}`);
    const unknown = Array.from({ length: 500 }, (_, i) => `attribute-kez-${String(i).padStart(20, "y")}="y"`);
    const plan = planLogs(`{${unknown.join(", ")}}`);
    const warn = async () =>
      collectPlanWarnings({ attributeKeys: () => ({ keys, isWhole: true }) }, plan, { fromNs: 0n, toNs: 1n });
    expect(await warn()).toHaveLength(500);
    let ms = await longestTurnMs(warn);
    for (let again = 0; again < 2 && ms > 100; again++) ms = Math.min(ms, await longestTurnMs(warn));
    expect(ms).toBeLessThan(100);
  },
);
