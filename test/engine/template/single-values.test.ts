/** Values of variables that are read one by one, against the messages that were stored. */
import { describe, expect, test } from "vitest";
import { createChunkBuilder, getAttributeBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type { EncodedChunk } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { Failure } from "../../../engine/index.ts";
import { SlotKind } from "../../../engine/kernels/decoding.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";
import { Random } from "../../../fixtures/random.ts";
import { makeRows } from "../message-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const datasets = 40;
/** Rows that a view reads one by one; for more it decodes the variables. */
const singleRowsMax = 256;

interface Row {
  message: string;
  job: string | undefined;
}

/** Messages with slots of every kind, some of which repeat an attribute. */
function makeMessages(number: number): Row[] {
  const random = new Random(seed, number);
  const rows = makeRows(number, seed).map(({ message }): Row => ({ message, job: undefined }));
  for (let i = 0; i < 300; i++) {
    const job = `job${random.below(1e9)}`;
    rows.push({ message: `Ended:\n job: ${job}\n by: ${random.pick(["a b", "c"])}\n took: ${i} ms`, job });
    rows.push({ message: `${job} ended after ${random.below(900)} ms`, job });
    rows.push({
      message: `stored z${"y".repeat(250 + random.below(20))}${i} of ${2 ** 52 + i}`,
      job: undefined,
    });
  }
  return rows.sort(() => random.below(3) - 1);
}

function encode(rows: readonly Row[]): EncodedChunk {
  const builder = createChunkBuilder();
  const jobs = getAttributeBuilder(builder, "job");
  for (const [i, { message, job }] of rows.entries()) {
    builder.timeNs.push(i);
    builder.arrival.push(i);
    builder.message.pushBytes(Buffer.from(message));
    if (job !== undefined) jobs.pushText(i, job);
    builder.rows++;
  }
  return encodeChunks(builder, { sealed: true })[0]!;
}

function open(chunk: EncodedChunk): ChunkColumns {
  const written = serializePart(chunk);
  const bytes = new Uint8Array(written.byteLength);
  writePart(written, bytes, 0);
  return new ChunkColumns(openPart(bytes, 0), 0);
}

function messagesOf(view: ChunkView): (row: number) => string {
  const column = view.column({ kind: "message" });
  if (column.kind !== "message") throw new Error("the messages were not stored as templates");
  return (row) => Buffer.from(column.messages.messageAt(row)).toString();
}

describe(`single values (SVC_SEED=${seed})`, () => {
  test("are those of the stored messages, in every kind of slot", () => {
    const kinds = new Set<number>();
    for (let number = 0; number < datasets; number++) {
      const rows = makeMessages(number);
      const chunk = open(encode(rows));
      const cache = new ColumnCache({ bytesMax: 2 ** 26, keepsRecent: false });
      const random = new Random(seed, datasets + number);

      const first = new ChunkView(chunk, cache.lease());
      const messageAt = messagesOf(first);
      for (let i = 0; i < singleRowsMax; i++) {
        const row = random.below(rows.length);
        expect(messageAt(row)).toBe(rows[row]!.message);
      }
      expect(chunk.groups.size, "groups that were decoded").toBe(0);
      for (const [row, { message }] of rows.entries()) expect(messageAt(row)).toBe(message);
      expect(chunk.groups.size, "groups that were decoded for many rows").toBeGreaterThan(0);
      const column = first.column({ kind: "message" });
      if (column.kind === "message") for (const kind of column.messages.kinds) kinds.add(kind);
      first.close();
    }
    expect([...kinds].sort()).toEqual(Object.values(SlotKind));
  });

  test("a chunk that is asked a second time is decoded", () => {
    const rows = makeMessages(0);
    const chunk = open(encode(rows));
    const cache = new ColumnCache({ bytesMax: 2 ** 26, keepsRecent: false });
    for (const groups of [0, 1]) {
      const view = new ChunkView(chunk, cache.lease());
      const messageAt = messagesOf(view);
      for (let row = 0; row < 50; row++) expect(messageAt(row)).toBe(rows[row]!.message);
      expect(Math.min(chunk.groups.size, 1)).toBe(groups);
      view.close();
    }
  });

  test("streams that were cut are damage", () => {
    const rows = makeMessages(1);
    const encoded = encode(rows);
    const lengths = 16 + 4;
    let refused = 0;
    for (const [i, { role }] of encoded.header.columns.entries()) {
      if (role !== "variables") continue;
      for (const buffer of [1, 2, 4]) {
        const payload = encoded.payloads[i]!.slice();
        const view = new DataView(payload.buffer);
        const at = lengths + 4 * (buffer - 1);
        const length = view.getUint32(at, true);
        // The buffers after it stay where they are.
        if (length % 8 === 0 || length % 8 === 1) continue;
        view.setUint32(at, length - 1, true);
        const payloads = encoded.payloads.with(i, payload);
        const cache = new ColumnCache({ bytesMax: 2 ** 26, keepsRecent: false });
        const chunk = new ChunkView(open({ ...encoded, payloads }), cache.lease());
        try {
          // Rows without such a variable are read all the same.
          const messageAt = messagesOf(chunk);
          for (let row = 0; row < singleRowsMax; row++) expect(messageAt(row)).toBe(rows[row]!.message);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
          refused++;
        }
        chunk.close();
      }
    }
    expect(refused).toBeGreaterThan(0);
  });
});
