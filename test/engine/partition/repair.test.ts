/** Repairs of partitions through the public face: chunks that are whole stay, whatever their columns are like. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogRow, openStore } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const nowMs = Date.UTC(2026, 0, 15, 12);

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-repair-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Messages without a template, of more than the 4 MiB from which their column is compressed in blocks. */
function drawRows(random: Random): LogRow[] {
  return Array.from({ length: 1_500 }, (_, i) => ({
    timeNs: BigInt(nowMs - i) * 1_000_000n,
    level: "info",
    message: Array.from({ length: 260 }, () => random.hex(16).replace(/\d/g, "g")).join(
      i % 2 === 0 ? " " : "-",
    ),
    attributes: {},
  }));
}

/** Changes a bit of the first leaf page, behind the pages of metadata. */
function damageLeaf(file: string): void {
  const pageBytes = 4_096;
  const [leafFlag, flagsOffset, entriesOffset] = [2, 18, 24];
  const bytes = readFileSync(file);
  for (let page = 2 * pageBytes; page < bytes.length; page += pageBytes) {
    const isPage = Number(bytes.readBigUInt64LE(page)) === page / pageBytes;
    if (!isPage || bytes.readUInt16LE(page + flagsOffset) !== leafFlag) continue;
    bytes[page + entriesOffset]! ^= 0x10;
    writeFileSync(file, bytes);
    return;
  }
  throw new Error(`${file} has no leaf page`);
}

test(`a chunk with texts in blocks outlives damage of the tree (SVC_SEED=${seed})`, async () => {
  const rows = drawRows(new Random(seed));
  const options = { dir, threads: 1, now: () => nowMs };
  let store = await openStore(options);
  for (let at = 0; at < rows.length; at += 300) await store.append("logs", rows.slice(at, at + 300));
  await store.seal();
  await store.close();
  const files = readdirSync(join(dir, "logs"), { recursive: true, encoding: "utf8" });
  damageLeaf(join(dir, "logs", files.find((file) => file.endsWith("data.mdb"))!));
  store = await openStore(options);
  const { rows: found } = await store.search({
    ...{ signal: "logs", fromNs: 0n, toNs: 1n << 62n, steps: [], limit: rows.length + 1 },
  });
  expect(store.stats().damage.length).toBeGreaterThan(0);
  expect(found.map(({ message }) => message)).toEqual(rows.map(({ message }) => message));
  await store.close();
});
