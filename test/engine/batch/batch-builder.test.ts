/** Batches of rows that are given as bytes, and rows that are appended out of order. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BatchBuilder,
  encodeBatch,
  type LogRow,
  openStore,
  PlainColumns,
  RowRanges,
  type Store,
} from "../../../engine/index.ts";
import { batchDaysMax } from "../../../engine/limits.ts";
import { arbitraryRow } from "../arbitrary.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const dayNs = 86_400_000_000_000n;
const nowMs = 2_000_000_000_000;

/** Writes the texts of a row one after the other into one buffer, which the batch reads; returns their ranges. */
function toRanges(builder: BatchBuilder, row: LogRow): RowRanges {
  const texts: Buffer[] = [];
  let end = 3;
  const put = (text: string): [number, number] => {
    texts.push(Buffer.from(text));
    const from = end;
    end += texts.at(-1)!.length;
    return [from, end];
  };
  const ranges = new RowRanges();
  ranges.seconds = Number(row.timeNs / 1_000_000_000n);
  ranges.nanos = Number(row.timeNs % 1_000_000_000n);
  [ranges.messageFrom, ranges.messageTo] = put(row.message);
  [ranges.levelFrom, ranges.levelTo] = put(row.level);
  const attributes = Object.entries(row.attributes).map(([key, value]) => [put(key), put(value)] as const);
  builder.read(Buffer.concat([Buffer.from("···").subarray(0, 3), ...texts]));
  for (const [key, value] of attributes) {
    const number = builder.addKey(...key);
    expect(builder.findKey(...key)).toBe(number);
    ranges.addAttribute(number, ...value);
  }
  return ranges;
}

describe(`batches (SVC_SEED=${seed})`, () => {
  test("rows given as bytes make the same batch as the same rows given as objects", () => {
    fc.assert(
      fc.property(fc.array(arbitraryRow(19_000n * dayNs, 3n * dayNs), { maxLength: 60 }), (rows) => {
        const builder = new BatchBuilder("logs", { nowMs });
        for (const row of rows) expect(builder.add(toRanges(builder, row))).toBeUndefined();
        const { refused, ...batch } = encodeBatch("logs", rows, { nowMs });
        expect(refused).toEqual([]);
        const made = builder.finish();
        expect(made.rows).toBe(batch.rows);
        expect(Buffer.from(made.bytes).equals(Buffer.from(batch.bytes))).toBe(true);
      }),
      { seed, numRuns: 200 },
    );
  });

  test("rows given as objects take over the memory of a batch of bytes, and nothing else of it", () => {
    const rows = Array.from({ length: 200 }, (_, n) => ({
      timeNs: 19_000n * dayNs + BigInt(n),
      level: "info",
      message: `order ${n} of ${"x".repeat((n * 700) % 9_000)} was paid`,
      attributes: { [`key ${n % 5}`]: `value ${n * n}`, other: "y".repeat(n % 40) },
    }));
    const build = (columns?: PlainColumns) => {
      const builder = new BatchBuilder("logs", { nowMs }, columns);
      for (const row of rows) expect(builder.addLogRow(row)).toBeUndefined();
      const { bytes } = builder.finish();
      builder.release();
      return Buffer.from(bytes);
    };
    const earlier = new BatchBuilder("logs", { nowMs });
    earlier.read(Buffer.alloc(1_000_000, "z"));
    earlier.release();
    expect(build().equals(build(new PlainColumns()))).toBe(true);
  });

  test("columns in WebAssembly and in TypeScript make the same batch, of values chosen to collide as well", () => {
    const sixteen = 16;
    const pairs = 12;
    // In a hash of multiplications the top bit of a word and two bits of the next one cancel out, whatever its secret.
    const collide = Array.from({ length: 2 ** pairs }, (_, i) => {
      const value = Buffer.alloc(sixteen * pairs, "A");
      for (let pair = 0; pair < pairs; pair++) {
        if (((i >> pair) & 1) === 0) continue;
        for (const at of [7, 11, 15]) value[sixteen * pair + at]! ^= 0x80;
      }
      return value;
    });
    const body = Buffer.concat([Buffer.from("key"), ...collide, ...collide]);
    const [made, plain] = [undefined, new PlainColumns()].map((columns) => {
      const builder = new BatchBuilder("logs", { nowMs }, columns);
      builder.read(body);
      const key = builder.addKey(0, 3);
      const row = new RowRanges();
      for (let at = 3; at < body.length; at += sixteen * pairs) {
        row.clear();
        row.seconds = 1_700_000_000;
        row.addAttribute(key, at, at + sixteen * pairs);
        expect(builder.add(row)).toBeUndefined();
      }
      return builder.finish();
    });
    expect(Buffer.from(made!.bytes).equals(Buffer.from(plain!.bytes))).toBe(true);
  });

  test("refuses a row that cannot be stored with the reason, and takes the next one", () => {
    const builder = new BatchBuilder("logs", { nowMs });
    const row = (text: Partial<LogRow>): LogRow => ({
      timeNs: 1n,
      level: "",
      message: "",
      attributes: {},
      ...text,
    });
    const tooMany = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, ""]));
    expect(builder.add(toRanges(builder, row({ message: "x".repeat(2 ** 21 + 1) })))).toMatch(
      /^the message is longer/,
    );
    expect(builder.add(toRanges(builder, row({ level: "x".repeat(257) })))).toMatch(/^log_level is longer/);
    expect(builder.add(toRanges(builder, row({ attributes: tooMany })))).toBe("more than 1000 attributes");
    expect(builder.add(toRanges(builder, row({ timeNs: BigInt(nowMs) * 1_000_000n + dayNs + 1n })))).toMatch(
      /more than a day ahead/,
    );
    expect(
      builder.add(toRanges(builder, row({ timeNs: BigInt(nowMs) * 1_000_000n + dayNs }))),
    ).toBeUndefined();
    expect(builder.finish().rows).toBe(1);
  });
});

test("a row that is refused does not count among the days of its batch", () => {
  const builder = new BatchBuilder("logs", { nowMs });
  const add = (day: number, level: string) =>
    builder.add(
      toRanges(builder, {
        timeNs: BigInt(nowMs) * 1_000_000n - BigInt(day) * dayNs,
        level,
        message: "",
        attributes: {},
      }),
    );
  for (let day = 0; day < batchDaysMax; day++) expect(add(day, "x".repeat(257))).toMatch(/^log_level/);
  for (let day = batchDaysMax; day < 2 * batchDaysMax; day++) expect(add(day, "info")).toBeUndefined();
  expect(add(batchDaysMax + 7, "info")).toBeUndefined();
  expect(add(1, "info")).toMatch(/already has rows of 400 other days/);
});

describe(`rows appended out of order (SVC_SEED=${seed})`, () => {
  let dir: string;
  let store: Store;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "svc-order-"));
    store = await openStore({ dir, threads: 1 });
  });

  afterAll(async () => {
    await store.close();
    rmSync(dir, { recursive: true });
  });

  test("are found complete and in order of time, in memory and sealed", async () => {
    const start = 19_000n * dayNs;
    const shapes = [
      (n: number) => `took ${n} ms`,
      (n: number) => `GET /cart/${(n * 7919).toString(16).padStart(8, "0")} ${n % 2 === 0 ? 200 : 404}`,
      (n: number) => `10.0.${n % 256}.${n % 97}:${n * 31} closed at 2026-01-0${(n % 9) + 1}`,
      (n: number) => `user u${n}x${n * n} says é${n}`,
    ];
    const rows = fc
      .sample(
        fc.array(fc.tuple(fc.nat({ max: 5_000 }), fc.nat({ max: 10_000 }), fc.nat({ max: 3 })), {
          minLength: 2_000,
          maxLength: 2_000,
        }),
        { seed, numRuns: 1 },
      )[0]!
      .map(([at, n, shape]) => ({
        timeNs: start + BigInt(at) * 1_000_000n,
        level: n % 3 === 0 ? "info" : "Warn",
        message: shapes[shape]!(n),
        attributes: {
          number: String(n),
          id: (n * 104_729).toString(16).padStart(16, "0"),
          note: `n-${n % 50}`,
        },
      }));
    const expected = rows
      .map((row, i) => ({ row, i }))
      .sort((a, b) => Number(b.row.timeNs - a.row.timeNs) || a.i - b.i)
      .map(({ row }) => row);
    for (let at = 0; at < rows.length; at += 500) await store.append("logs", rows.slice(at, at + 500));
    const found = async () => {
      const result = await store.search({
        signal: "logs",
        fromNs: start,
        toNs: start + dayNs,
        steps: [],
        limit: rows.length,
      });
      return result.rows.map(({ arrival: _, ...row }) => ({ ...row, attributes: { ...row.attributes } }));
    };
    expect(await found()).toEqual(expected);
    await store.seal();
    expect(await found()).toEqual(expected);
  });
});
