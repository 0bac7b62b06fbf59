/** Chunks that a running store could not read are found again without a restart, where they are whole. */
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const nowMs = Date.UTC(2026, 0, 15, 12);
const pageBytes = 4_096;

let dir: string;
/** The clock by which the store waits; it jumps ahead by this. */
let aheadMs: number;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-recheck-"));
  aheadMs = 0;
});
afterEach(() => rmSync(dir, { recursive: true }));

function open(): Promise<Store> {
  const elapsed = () => performance.now() + aheadMs;
  return openStore({ dir, threads: 1, now: () => nowMs, elapsed });
}

/** Two chunks of one day: rows with the attribute `chunk` 0 and 1, whose texts take more than a page. */
async function fill(): Promise<void> {
  const random = new Random(seed);
  const store = await open();
  for (const chunk of ["0", "1"]) {
    const rows = Array.from({ length: 200 }, (_, i): LogRow => {
      const message = random.hex(64).replace(/\d/g, "g");
      return { timeNs: BigInt(nowMs - i) * 1_000_000n, level: "info", message, attributes: { chunk } };
    });
    await store.append("logs", rows);
    await store.seal();
  }
  await store.close();
}

function dataFile(): string {
  const files = readdirSync(join(dir, "logs"), { recursive: true, encoding: "utf8" });
  return join(dir, "logs", files.find((file) => file.endsWith("data.mdb"))!);
}

function patch(offset: number, bytes: Uint8Array): void {
  const file = openSync(dataFile(), "r+");
  writeSync(file, bytes, 0, bytes.length, offset);
  closeSync(file);
}

/** Overwrites both meta pages, from which LMDB finds its trees. */
function damageTree(): void {
  patch(0, new Uint8Array(2 * pageBytes));
}

/** Changes a byte of every long value of a chunk. */
function damageValues(chunk: number): void {
  const bytes = readFileSync(dataFile());
  const [kindOffset, keyOffset, columnKind] = [10, 24, 1];
  for (let at = bytes.indexOf("SVCF"); at >= 0; at = bytes.indexOf("SVCF", at + 1)) {
    const isLong = bytes.readUInt32LE(at + 12) > pageBytes;
    if (bytes[at + kindOffset] === columnKind && bytes.readUInt32BE(at + keyOffset) === chunk && isLong)
      patch(at + 1_000, Uint8Array.of(bytes[at + 1_000]! ^ 0x10));
  }
}

/** How many rows of each chunk are found with their texts. */
async function countRows(store: Store): Promise<Record<string, number>> {
  const { rows } = await store.search({
    ...{ signal: "logs", fromNs: 0n, toNs: 1n << 62n, steps: [], limit: 1_000 },
  });
  const counts: Record<string, number> = {};
  for (const { attributes } of rows) counts[attributes.chunk!] = (counts[attributes.chunk!] ?? 0) + 1;
  return counts;
}

const polling = { timeout: 30_000, interval: 100 };

test(`chunks come back once the tree under a running store is repaired (SVC_SEED=${seed})`, async () => {
  await fill();
  let store = await open();
  damageTree();
  expect(await countRows(store)).toEqual({});
  aheadMs += 4_000;
  expect(await countRows(store)).toEqual({});
  aheadMs += 4_000;
  await expect.poll(() => countRows(store), polling).toEqual({ 0: 200, 1: 200 });
  const { damage } = store.stats();
  expect(damage.map(({ problem }) => problem).join()).toMatch(/quarantined.*rebuilt: 2 chunks with 400 rows/);
  await store.append("logs", [{ timeNs: 1n, level: "", message: "later", attributes: { chunk: "later" } }]);
  await store.seal();
  await store.close();
  store = await open();
  expect(await countRows(store)).toEqual({ 0: 200, 1: 200, later: 1 });
  await store.close();
});

test(`what is damaged itself stays away, and is lost for good with the tree (SVC_SEED=${seed})`, async () => {
  await fill();
  let store = await open();
  damageValues(1);
  damageTree();
  expect(await countRows(store)).toEqual({});
  aheadMs += 4_000;
  await countRows(store);
  aheadMs += 4_000;
  await expect.poll(() => countRows(store), polling).toEqual({ 1: 200 });
  expect(JSON.stringify(store.stats().damage)).toContain("chunk 1 (200 rows) is damaged and was left out");
  await store.close();
  store = await open();
  expect(await countRows(store)).toEqual({ 1: 200 });
  expect(JSON.stringify(store.stats().damage)).toContain("chunk 1 (200 rows) is damaged and was left out");
  await store.close();
});

test(`a chunk comes back after read errors that are over; one that is damaged does not (SVC_SEED=${seed})`, async () => {
  await fill();
  const store = await open();
  const whole = readFileSync(dataFile());
  damageValues(1);
  damageValues(2);
  expect(await countRows(store)).toEqual({});
  patch(0, whole);
  damageValues(2);
  aheadMs += 4_000;
  await expect
    .poll(async () => {
      aheadMs += 1_000;
      return countRows(store);
    }, polling)
    .toEqual({ 0: 200 });
  aheadMs += 60_000;
  expect(await countRows(store)).toEqual({ 0: 200 });
  await store.close();
});
