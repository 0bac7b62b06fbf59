/** Messages stored as templates and variables: any bytes come back, and searches agree with a naive loop. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createChunkBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { type LogRow, openStore, type Store } from "../../../engine/index.ts";
import { plainColumns } from "../../../engine/kernels/heap.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { runSteps } from "../../query/naive.ts";
import { makeKeyedRows } from "../keyed-rows.ts";
import { arbitraryFilter, makeRows } from "../message-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const datasets = scaled(3, 120);
const searchesEach = 200;
const dayNs = 86_400_000_000_000n;

/** The messages as a sealed chunk, written to bytes and opened again. */
function openSealed(messages: readonly Uint8Array[]): ChunkView {
  const builder = createChunkBuilder();
  for (const bytes of messages) {
    builder.timeNs.push(builder.rows);
    builder.arrival.push(builder.rows);
    builder.message.pushBytes(bytes);
    builder.rows++;
  }
  const [part] = encodeChunks(builder, { sealed: true });
  const written = serializePart(part!);
  const bytes = new Uint8Array(written.byteLength);
  writePart(written, bytes, 0);
  return new ChunkView(new ChunkColumns(openPart(bytes, 0), 0), plainColumns);
}

describe(`templates (SVC_SEED=${seed})`, () => {
  test("any bytes come back as they were", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc
        .constantFrom("a1", " ", "=", "\0", "error", "0x7f", "é1", "12", "007", "1.5.2", "ff00", "-", "--1--")
        .map(encodeUtf8),
      fc.constant(Uint8Array.of(0xff)),
    );
    const message = fc.array(piece, { maxLength: 5 }).map((pieces) => Buffer.concat(pieces));
    const column = fc
      .array(message, { minLength: 1, maxLength: 4 })
      .chain((distinct) =>
        fc
          .array(fc.nat({ max: distinct.length - 1 }), { minLength: 4 * distinct.length, maxLength: 120 })
          .map((picks) => picks.map((i) => distinct[i]!)),
      );
    fc.assert(
      fc.property(column, (messages) => {
        const view = openSealed(messages);
        const column = view.column({ kind: "message" });
        if (column.kind !== "message") throw new Error("the messages were not stored as templates");
        for (const [row, bytes] of messages.entries())
          expect(Buffer.from(column.messages.messageAt(row))).toEqual(Buffer.from(bytes));
      }),
      { seed, numRuns: 1_000 },
    );
  });

  describe("searched in the store", () => {
    let dir: string;
    let store: Store;
    let sets: LogRow[][];

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "svc-messages-"));
      store = await openStore({ dir, threads: 1 });
      sets = Array.from({ length: datasets }, (_, number) =>
        number % 2 === 0 ? makeRows(number, seed) : makeKeyedRows(number, seed),
      );
      for (const rows of sets) await store.append("logs", rows);
      await store.seal();
    }, 60_000);

    afterAll(async () => {
      await store.close();
      rmSync(dir, { recursive: true });
    });

    test(`${datasets * searchesEach} searches for text agree with the naive loop, across template and variable`, async () => {
      for (const [number, rows] of sets.entries()) {
        for (const filter of fc.sample(arbitraryFilter(rows), {
          seed: seed + number,
          numRuns: searchesEach,
        })) {
          const steps = [{ kind: "filter", filter }] as const;
          const fromNs = BigInt(number + 1) * dayNs;
          const found = await store.search({
            signal: "logs",
            fromNs,
            toNs: fromNs + dayNs,
            steps: [...steps],
            limit: 10_000,
          });
          const wanted = runSteps([...steps], rows).reverse();
          expect(
            found.rows.map(({ message }) => message),
            JSON.stringify(filter),
          ).toEqual(wanted.map(({ message }) => message));
        }
      }
    }, 300_000);

    test("values that repeat attributes of many bytes are those of the messages", async () => {
      const own = mkdtempSync(join(tmpdir(), "svc-messages-"));
      // So much memory that columns in blocks are read through a window, which all of them share.
      const large = await openStore({ dir: own, threads: 1, columnCacheBytes: 2 ** 30 });
      const random = new Random(seed);
      const pad = (text: string, row: number) =>
        `C:\\Program Files\\${text} ${row} ${random.hex(60)} ${random.hex(9)}`;
      const rows = Array.from({ length: 48_500 }, (_, row): LogRow => {
        const attributes = { path: pad("AAAAA", row), command: pad("BBBBBBBB", row) };
        const message = `Path: ${attributes.path}\nCmd: ${attributes.command}\nEnd: x y`;
        return { timeNs: dayNs + BigInt(row), level: "", message, attributes };
      });
      for (let from = 0; from < rows.length; from += 10_000)
        await large.append("logs", rows.slice(from, from + 10_000));
      await large.seal();
      const field = { kind: "message" } as const;
      for (const filter of [
        { kind: "contains", field, text: "AAAAA 42", ignoreCase: false },
        { kind: "matches", field, pattern: "AAA 424[0-9] .*\\nCmd: .*BB 424[0-9] ", whole: false },
        { kind: "matches", field, pattern: "AAAAA 777 |BBBB 77[0-9] x", whole: false },
      ] as const) {
        const steps = [{ kind: "filter", filter }] as const;
        const range = { signal: "logs", fromNs: dayNs, toNs: 2n * dayNs, limit: 10_000 } as const;
        const found = await large.search({ ...range, steps: [...steps] });
        const wanted = runSteps([...steps], rows).reverse();
        expect(wanted.length).toBeGreaterThan(0);
        expect(found.rows.map(({ message }) => message)).toEqual(wanted.map(({ message }) => message));
      }
      await large.close();
      rmSync(own, { recursive: true });
    }, 120_000);

    test("pieces of hundreds of lines are found where they are", async () => {
      const random = new Random(seed);
      const line = (row: number, number: number) =>
        random.pick([
          `\tKey ${number}:\t\tvalue ${random.below(3)} of ${row}`,
          `name:  ${random.pick(["a b", "c"])} \r`,
          `line ${number} without a key`,
          "",
        ]);
      const startNs = 40n * dayNs;
      const rows = Array.from({ length: 40 }, (_, row): LogRow => {
        const message = Array.from({ length: 300 }, (_, number) => line(row % 4, number)).join("\n");
        return {
          timeNs: startNs + BigInt(row),
          level: "",
          message: row % 8 < 4 ? message : "short",
          attributes: {},
        };
      });
      for (const row of rows.slice(8)) row.message = random.pick(rows.slice(0, 8)).message;
      await store.append("logs", rows);
      await store.seal();
      for (let asked = 0; asked < 60; asked++) {
        const { message } = random.pick(rows);
        const from = random.below(message.length);
        const text = message.slice(from, from + 1 + random.below(4_000)) + (asked % 5 === 0 ? "x" : "");
        const filter = { kind: "contains", field: { kind: "message" }, text, ignoreCase: false } as const;
        const { points } = await store.aggregate({
          ...{ signal: "logs", fromNs: startNs, toNs: startNs + dayNs, groupBy: [] },
          ...{ steps: [{ kind: "filter", filter }], aggregates: [{ op: "count" }] },
        });
        const wanted = rows.filter((row) => row.message.includes(text)).length;
        expect(points.values[0]?.[0] ?? 0, JSON.stringify(text)).toBe(wanted);
      }
    }, 60_000);
  });
});

function encodeUtf8(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}
