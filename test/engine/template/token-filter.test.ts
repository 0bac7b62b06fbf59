/**
 * Searches for ids and numbers among many: every row that contains a part of one is found, whichever blocks the filters
 * skip.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { sample, seed } from "../datasets.ts";

const rowCount = 40_000;
const startNs = 1_640_000_000_000_000_000n;
const dir = mkdtempSync(join(tmpdir(), "svc-longruns-"));
let store: Store;
let rows: LogRow[];

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
    .map((digits) => digits.join(""));
const digits = (min: number, max: number) =>
  fc.array(fc.constantFrom(..."0123456789"), { minLength: min, maxLength: max }).map((all) => all.join(""));
const uuid = fc.uuid();

/**
 * Messages of a few templates. Their ids lie in variables of each group (digits, hexadecimal, words, random letters)
 * and in static text.
 */
const message = fc.oneof(
  fc.tuple(uuid, digits(1, 5)).map(([id, ms]) => `request ${id} took ${ms}ms`),
  fc.tuple(hex(32), digits(9, 16)).map(([trace, block]) => `trace=${trace} block blk_-${block} done`),
  digits(13, 13).map((time) => `{"time":${time},"level":"info"}`),
  fc.tuple(hex(24), digits(8, 10)).map(([id, offset]) => `consumed ${id.toUpperCase()} at ${offset}.5`),
  fc.base64String({ minLength: 16, maxLength: 40 }).map((token) => `token 7${token}`),
  fc.constantFrom(
    "deadbeefcafebabe is static",
    "order 1234567890123 again",
    "id 00000000-0000-0000-0000-000000000000",
  ),
);

beforeAll(async () => {
  rows = sample(message, rowCount, 1).map((text, i) => ({
    timeNs: startNs + BigInt(i) * 1_000_000n,
    level: "info",
    message: text,
    attributes: {},
  }));
  store = await openStore({ dir, threads: 2 });
  for (let at = 0; at < rowCount; at += 10_000) await store.append("logs", rows.slice(at, at + 10_000));
  await store.seal();
});

afterAll(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Parts of messages, some in upper case with case ignored, some with a digit changed. */
const part = fc
  .tuple(
    fc.nat(rowCount - 1),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.integer({ min: 6, max: 40 }),
    fc.nat(5),
  )
  .map(([row, share, length, change]) => {
    const text = rows[row]!.message;
    const from = Math.floor(share * Math.max(1, text.length - length));
    const cut = text.slice(from, from + length);
    if (change === 0) return { text: cut.toUpperCase(), ignoreCase: true };
    if (change === 1)
      return { text: cut.replace(/\d/, (digit) => String((Number(digit) + 1) % 10)), ignoreCase: false };
    return { text: cut, ignoreCase: false };
  });

type Part = { text: string; ignoreCase: boolean };

async function count({ text, ignoreCase }: Part): Promise<number> {
  const { points } = await store.aggregate({
    signal: "logs",
    fromNs: 0n,
    toNs: 2n ** 62n,
    steps: [{ kind: "filter", filter: { kind: "contains", field: { kind: "message" }, text, ignoreCase } }],
    groupBy: [],
    aggregates: [{ op: "count" }],
  });
  return points.values[0]![0] ?? 0;
}

function countInRows({ text, ignoreCase }: Part): number {
  return rows.filter(({ message }) =>
    ignoreCase ? message.toLowerCase().includes(text.toLowerCase()) : message.includes(text),
  ).length;
}

test(`counts of 300 parts of messages agree with a loop over the rows (SVC_SEED=${seed})`, async () => {
  let found = 0;
  for (const each of sample(part, 300, 2)) {
    const wanted = countInRows(each);
    expect(await count(each), JSON.stringify(each.text)).toBe(wanted);
    if (wanted > 0) found++;
  }
  expect(found).toBeGreaterThan(100);
});

test(`the first counts of a store agree, too (SVC_SEED=${seed})`, async () => {
  for (let opening = 0; opening < 8; opening++) {
    await store.close();
    store = await openStore({ dir, threads: 2 });
    const longParts = sample(part, 60, 3 + opening).filter(({ text }) => /[0-9a-f]{12}|[0-9]{9}/.test(text));
    for (const each of longParts.slice(0, 6))
      expect(await count(each), JSON.stringify(each.text)).toBe(countInRows(each));
  }
});

test("a number that no row contains is ruled out by the filters, and no row is scanned", async () => {
  const { scanned } = await store.aggregate({
    signal: "logs",
    fromNs: 0n,
    toNs: 2n ** 62n,
    steps: [
      {
        kind: "filter",
        filter: {
          kind: "contains",
          field: { kind: "message" },
          text: "31415926535897932384",
          ignoreCase: false,
        },
      },
    ],
    groupBy: [],
    aggregates: [{ op: "count" }],
  });
  expect(scanned).toMatchObject({ rows: 0 });
});
