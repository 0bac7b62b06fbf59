/** Packed parts: chunks that are ready for disk read as the chunks they were made of, before and after they are sealed. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openBatch, writeBatch } from "../../../engine/batch/batch.ts";
import { createChunkBuilder, getAttributeBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import { decodeChunks } from "../../../engine/chunk/chunk-decoder.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type {
  ChunkHeader,
  ChunkSource,
  ColumnHeader,
  EncodedChunk,
} from "../../../engine/chunk/chunk-header.ts";
import { type PackedChunk, packChunk, rowsCompression } from "../../../engine/chunk/packed-chunk.ts";
import {
  isPackedPart,
  openPart,
  readPackedChunk,
  readPartExtent,
  serializePackedPart,
  serializePart,
  writePart,
} from "../../../engine/chunk/part.ts";
import { Failure } from "../../../engine/index.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";
import { sealChunks } from "../../../engine/maintenance/maintenance-worker.ts";
import { openChunk, sealChunk } from "../../../engine/partition/chunk-store.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** Chunks of random rows: columns of all kinds, with and without membership filters, large and small. */
function drawChunks(random: Random, rows: number): EncodedChunk[] {
  const builder = createChunkBuilder();
  const keys = random.below(6);
  for (let row = 0; row < rows; row++) {
    builder.timeNs.push(random.below(1_000) * 1e6);
    builder.arrival.push(row);
    builder.level.pushText(row, random.pick(["info", "error", "40", ""]));
    builder.message.pushBytes(Buffer.from(`order ${random.below(1e6)} of ${random.hex(8)} was paid`));
    for (let at = 0; at < keys; at++) {
      const value = [String(random.below(1e5)), random.hex(16), "always", `größe ${random.below(9)}`][
        at % 4
      ]!;
      if (!random.oneIn(4)) getAttributeBuilder(builder, `key ${at}`).pushText(row, value);
    }
  }
  builder.rows = rows;
  const rowsMax = random.oneIn(2) ? rows : 1 + random.below(rows);
  return encodeChunks(builder, { sealed: true, caps: { ...fullChunkCaps, rowsMax } });
}

function pack(chunk: EncodedChunk): Uint8Array {
  const part = serializePackedPart(packChunk(chunk, rowsCompression));
  const bytes = new Uint8Array(part.byteLength);
  expect(writePart(part, bytes, 0)).toBe(bytes.byteLength);
  return bytes;
}

/** The header that a source was opened with. */
function headerOf({ header, listedValues }: ChunkSource): ChunkHeader {
  const columns = header.columns.all().map((column, i): ColumnHeader => {
    const values = listedValues(i);
    return values === undefined ? column : { ...column, values };
  });
  return { ...header, columns };
}

/** The header without what only says how the columns are stored. */
function plainHeader({ columns, ...header }: ChunkHeader) {
  const plain = columns.map(
    ({ storedBytes, filterStoredBytes, checksum, filterChecksum, filterPages, ...column }) => column,
  );
  return { ...header, columns: plain };
}

const toText = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("latin1");

function expectSame(source: ChunkSource, { header, payloads, filters }: EncodedChunk): void {
  const { arrivalBase, ...read } = plainHeader(headerOf(source));
  expect(read).toEqual(plainHeader(header));
  for (const [i, payload] of payloads.entries()) {
    expect(toText(source.payload(i))).toBe(toText(payload));
    expect(toText(source.filter(i))).toBe(toText(filters[i]));
    const given = new Uint8Array(payload.byteLength + 8).fill(0xaa);
    const read = source.payload(i, (byteLength) => given.subarray(0, byteLength));
    expect(toText(read)).toBe(toText(payload));
    // Whatever lies after it in the same memory stays as it is.
    expect([...given.subarray(payload.byteLength)]).toEqual(Array(8).fill(0xaa));
    expect(toText(source.payload(i, () => undefined))).toBe(toText(payload));
  }
}

/** The chunk as a partition's environment holds it. */
function seal(chunk: PackedChunk, id: number) {
  const { entry, values } = sealChunk(chunk, id);
  const frames = new Map(values.map(({ key, frame }) => [toText(key), frame]));
  const view = (key: Uint8Array) => frames.get(toText(key));
  const viewParts = (key: Uint8Array, parts: readonly { offset: number; length: number }[]) => {
    const frame = view(key);
    return frame && parts.map(({ offset, length }) => frame.subarray(offset, offset + length));
  };
  const open = () => openChunk({ view, viewParts }, entry, "day");
  return { entry, open };
}

describe(`packed parts (SVC_SEED=${seed})`, () => {
  test("read as the chunks that they hold, and so do chunks that are sealed from them", () => {
    const random = new Random(seed);
    for (let round = 0; round < 40; round++) {
      for (const chunk of drawChunks(random, 1 + random.below(round % 8 === 0 ? 3_000 : 200))) {
        const bytes = pack(chunk);
        const before = toText(bytes);
        const base = random.below(2) * random.between(1, 2 ** 40);
        const { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax } = chunk.header;
        const extent = { rows, timeNsMin, timeNsMax, arrivalMin, arrivalMax };
        expect(isPackedPart(bytes)).toBe(true);
        expect(readPartExtent(bytes)).toEqual(extent);
        const part = openPart(bytes, base);
        expect(part.arrivalBase).toBe(base);
        expectSame(part, chunk);

        const { entry, open } = seal(readPackedChunk(bytes, base), random.below(1e6));
        const sealed = open();
        expect(entry).toMatchObject({
          ...extent,
          arrivalMin: arrivalMin + base,
          arrivalMax: arrivalMax + base,
        });
        expect(sealed.arrivalBase).toBe(base);
        expectSame(sealed, chunk);
        const arrivals = (source: ChunkSource) => Array.from(decodeChunks([source]).arrival.finish());
        const wanted = arrivals(openPlain(chunk)).map((arrival) => arrival + base);
        expect(arrivals(part)).toEqual(wanted);
        expect(arrivals(sealed)).toEqual(wanted);
        // Sealing leaves the part as it was, so that a seal that failed can be tried again.
        expect(toText(bytes)).toBe(before);
        expectSame(seal(readPackedChunk(bytes, base), 7).open(), chunk);
      }
    }
  });

  test("are sealed into a partition beside chunks, and read from its file", async () => {
    const random = new Random(seed + 1);
    const chunks = [...drawChunks(random, 300), ...drawChunks(random, 40)];
    const parts = openBatch(
      writeBatch(chunks.map((chunk) => ({ day: 20_000, chunk: packChunk(chunk, rowsCompression) }))),
    );
    const toSeal = parts.map(({ bytes }, i) => ({ bytes, arrivalBase: 1_000 * (i + 1) }));
    const dir = mkdtempSync(join(tmpdir(), "svc-parts-"));
    try {
      const task = { kind: "seal", dir, day: 20_000, arrivalSealed: 1e6 } as const;
      const last = packChunk(chunks[0]!, rowsCompression);
      const manifest = await sealChunks({ ...task, chunks: [...toSeal, last] });
      expect(manifest.chunks).toHaveLength(chunks.length + 1);
      // Chunks are numbered in the order of the task, and listed in that of their times.
      const firstId = Math.min(...manifest.chunks.map(({ id }) => id));
      const environment = openEnvironment(dir, { readOnly: true });
      for (const entry of manifest.chunks) {
        const chunk = chunks[entry.id - firstId] ?? chunks[0]!;
        const source = openChunk(environment, entry, dir);
        expect(source.arrivalBase).toBe(toSeal[entry.id - firstId]?.arrivalBase ?? 0);
        expect(entry.arrivalMin).toBe(chunk.header.arrivalMin + source.arrivalBase);
        expectSame(source, chunk);
      }
      environment.close();
      // The same rows again add nothing.
      expect((await sealChunks({ ...task, chunks: toSeal })).chunks).toEqual(manifest.chunks);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test("are told from plain parts, which have no frames", () => {
    const [chunk] = drawChunks(new Random(seed + 2), 50);
    expectSame(openPlain(chunk!), chunk!);
    expect(isPackedPart(new Uint8Array(4))).toBe(false);
    expect(() => openPart(new Uint8Array(4), 0)).toThrow(Failure);
  });

  test("with a bit flipped in a column fail as damage, or give the right values of the other columns", () => {
    const random = new Random(seed + 3);
    for (let round = 0; round < 300; round++) {
      const [chunk] = drawChunks(random, 1 + random.below(60));
      const bytes = pack(chunk!);
      flipBit(bytes, random);
      expectRightOrDamage(bytes, chunk!);
    }
  });

  test("that are cut in a column fail as damage, and so does what would be sealed of them", () => {
    const random = new Random(seed + 4);
    for (let round = 0; round < 300; round++) {
      const [chunk] = drawChunks(random, 1 + random.below(60));
      const whole = pack(chunk!);
      const from = columnsStart(whole);
      // Beyond the last value there may be padding.
      const cut = whole.slice(0, from + random.below(whole.byteLength - 8 - from));
      expect(expectRightOrDamage(cut, chunk!)).toBeGreaterThan(0);
      expect(failureOf(() => readPackedChunk(cut, 0))).toBe("damage");
    }
  });

  test("with a bit flipped in a column are never sealed as chunks with wrong values", () => {
    const random = new Random(seed + 5);
    for (let round = 0; round < 100; round++) {
      const [chunk] = drawChunks(random, 1 + random.below(60));
      const bytes = pack(chunk!);
      flipBit(bytes, random);
      for (const [i, payload] of chunk!.payloads.entries()) {
        const read = () => toText(seal(readPackedChunk(bytes, 0), 7).open().payload(i));
        const kind = failureOf(() => expect(read()).toBe(toText(payload)));
        expect([undefined, "damage"]).toContain(kind);
      }
    }
  });

  test("that are cut in their header fail as damage, packed or not", () => {
    const random = new Random(seed + 6);
    for (let round = 0; round < 100; round++) {
      const [chunk] = drawChunks(random, 1 + random.below(60));
      const whole = pack(chunk!);
      const cut = whole.slice(0, random.below(columnsStart(whole) - 8));
      expect(failureOf(() => openPart(cut, 0))).toBe("damage");
      expect(failureOf(() => readPartExtent(cut))).toBe("damage");
    }
  });
});

/** Flips a bit of a column. */
function flipBit(bytes: Uint8Array, random: Random): void {
  const from = columnsStart(bytes);
  bytes[from + random.below(bytes.byteLength - from)]! ^= 1 << random.below(8);
}

function openPlain(chunk: EncodedChunk): ChunkSource {
  const part = serializePart(chunk);
  const bytes = new Uint8Array(part.byteLength);
  writePart(part, bytes, 0);
  expect(isPackedPart(bytes)).toBe(false);
  return openPart(bytes, 0);
}

/** Where the columns of a part begin. */
function columnsStart(bytes: Uint8Array): number {
  const end = 8 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  return Math.ceil(end / 8) * 8;
}

/** The kind of the failure; undefined where there is none. Another error is thrown. */
function failureOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.kind;
  }
}

/** Expects each value to be right, or to fail as damage; returns how many fail. */
function expectRightOrDamage(bytes: Uint8Array, { header, payloads, filters }: EncodedChunk): number {
  const part = openPart(bytes, 0);
  expect(plainHeader(headerOf(part))).toEqual(plainHeader(header));
  let failed = 0;
  const check = (read: () => Uint8Array | undefined, wanted: Uint8Array | undefined) => {
    const kind = failureOf(() => expect(toText(read())).toBe(toText(wanted)));
    if (kind === undefined) return;
    expect(kind).toBe("damage");
    failed++;
  };
  for (const [i, payload] of payloads.entries()) {
    check(() => part.payload(i), payload);
    check(() => part.filter(i), filters[i]);
  }
  return failed;
}
