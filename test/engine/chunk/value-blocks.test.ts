/** Payloads that are compressed in blocks, against the bytes that were written. */
import { expect, test } from "vitest";
import { createChunkBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type { ChunkSource } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { packChunk, rowsCompression } from "../../../engine/chunk/packed-chunk.ts";
import { columnText, type PlainTextColumn, textOfRows } from "../../../engine/column/column.ts";
import { loadNextBlock } from "../../../engine/column/text-blocks.ts";
import { Failure } from "../../../engine/failure.ts";
import { openBlocks, packBlocks, unpackBlocks } from "../../../engine/files/value-blocks.ts";
import type { ByteRange, ReadStoredParts } from "../../../engine/files/value-pages.ts";
import { openChunk, sealChunk } from "../../../engine/partition/chunk-store.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

/** Bytes that repeat in some places and not in others, so that some blocks are compressed. */
function drawPayload(random: Random, length: number): Uint8Array {
  const payload = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const run = 1 + random.below(5_000);
    const isRandom = random.oneIn(2);
    const byte = random.below(256);
    for (const end = Math.min(length, at + run); at < end; at++)
      payload[at] = isRandom ? random.below(256) : byte;
  }
  return payload;
}

function drawCuts(random: Random, length: number): number[] {
  const cuts = Array.from({ length: random.below(6) }, () => 1 + random.below(length - 1));
  return [...new Set(cuts)].sort((a, b) => a - b);
}

function readOf(stored: Uint8Array, reads: ByteRange[] = []): ReadStoredParts {
  return (ranges) => {
    reads.push(...ranges);
    return ranges.map(({ from, to }) => stored.subarray(from, to));
  };
}

test(`any part of a payload is what was written, and only its blocks are read (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let round = 0; round < 300; round++) {
    const payload = drawPayload(random, 2 + random.below(60_000));
    const cuts = drawCuts(random, payload.length);
    const stored = packBlocks(payload, cuts, rowsCompression);
    expect(Buffer.compare(unpackBlocks(stored, payload.length, "a value"), payload)).toBe(0);
    const reads: ByteRange[] = [];
    const blocks = openBlocks(payload.length, cuts.length + 1, readOf(stored, reads), "a value");
    const from = random.below(payload.length);
    const to = from + random.below(payload.length - from + 1);
    const part = new Uint8Array(to - from);
    reads.length = 0;
    blocks.readInto(part, from);
    expect(Buffer.compare(part, payload.subarray(from, to))).toBe(0);
    const touched = blocks.ranges.filter((range) => range.from < to && range.to > from && from < to);
    expect(reads).toHaveLength(touched.length);
  }
});

test(`a byte that changed is damage where its block is read, or the table (SVC_SEED=${seed})`, () => {
  const random = new Random(seed + 1);
  const payload = drawPayload(random, 40_000);
  const cuts = [9_000, 21_000, 33_333];
  const stored = packBlocks(payload, cuts, rowsCompression);
  const tableBytes = 8 + 12 * 4;
  const places: ByteRange[] = [];
  openBlocks(payload.length, 4, readOf(stored, places), "a value").readInto(new Uint8Array(40_000), 0);
  for (let round = 0; round < 500; round++) {
    const at = random.below(random.oneIn(3) ? tableBytes : stored.length);
    const changed = new Uint8Array(stored);
    changed[at] = changed[at]! ^ (1 << random.below(8));
    const block = random.below(4);
    const read = () => {
      const part = new Uint8Array(1);
      openBlocks(payload.length, 4, readOf(changed), "a value").readInto(part, [0, ...cuts][block]!);
      return part[0];
    };
    const { from, to } = places[1 + block]!;
    if (at < tableBytes || (at >= from && at < to)) expect(read).toThrow(Failure);
    else expect(read()).toBe(payload[[0, ...cuts][block]!]);
  }
});

test("another length, another number of blocks and values that were cut are damage", () => {
  const payload = drawPayload(new Random(seed + 2), 20_000);
  const stored = packBlocks(payload, [10_000], rowsCompression);
  expect(() => unpackBlocks(stored, 20_001, "a value")).toThrow(/its blocks are not those/);
  expect(() => openBlocks(20_000, 1, readOf(stored), "a value")).toThrow(Failure);
  expect(() => openBlocks(20_000, 3, readOf(stored), "a value")).toThrow(Failure);
  for (const length of [0, 7, 8, 31, stored.length - 1])
    expect(() => unpackBlocks(stored.subarray(0, length), 20_000, "a value")).toThrow(Failure);
});

/** A sealed chunk of messages that have no templates, and how often a part of its values was read. */
function sealMessages(messages: readonly string[]): { source: ChunkSource; parts: () => number } {
  const builder = createChunkBuilder();
  for (const message of messages) {
    builder.timeNs.push(builder.rows);
    builder.arrival.push(builder.rows);
    builder.message.pushBytes(Buffer.from(message));
    builder.rows++;
  }
  const { entry, values } = sealChunk(
    packChunk(encodeChunks(builder, { sealed: true })[0]!, rowsCompression),
    1,
  );
  const frames = new Map(values.map(({ key, frame }) => [Buffer.from(key).toString("hex"), frame]));
  const find = (key: Uint8Array) => frames.get(Buffer.from(key).toString("hex"));
  let parts = 0;
  const environment = {
    view: find,
    viewParts: (key: Uint8Array, ranges: readonly { offset: number; length: number }[]) => {
      parts += ranges.length;
      return ranges.map(({ offset, length }) => find(key)!.subarray(offset, offset + length));
    },
  };
  return { source: openChunk(environment, entry, "a partition"), parts: () => parts };
}

const words = drawWords(new Random(seed + 3));

function drawWords(random: Random): string[] {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  return Array.from({ length: 4_000 }, () =>
    Array.from({ length: 3 + random.below(6) }, () => letters[random.below(26)]).join(""),
  );
}

/** Messages that take several blocks. */
function drawMessages(random: Random): string[] {
  return Array.from({ length: 14_000 }, () =>
    Array.from({ length: 120 + random.below(80) }, () => words[random.below(words.length)]).join(" "),
  );
}

/** The messages of a chunk, decoded in a cache. */
function openTexts(source: ChunkSource, cache: ColumnCache): { texts: PlainTextColumn; close: () => void } {
  const view = new ChunkView(new ChunkColumns(source, 0), cache.lease());
  const texts = view.column({ kind: "message" });
  if (texts.kind !== "text") throw new Error("not texts");
  return { texts, close: () => view.close() };
}

/** A cache with a window, and one that is too small to have one. */
const caches = [
  ["with a window", 2 ** 29],
  ["without a window", 2 ** 28],
] as const;

test.each(caches)("long messages are decompressed where they are read, %s", (_, bytesMax) => {
  const random = new Random(seed + 3);
  const messages = drawMessages(random);
  const { source, parts } = sealMessages(messages);
  const column = source.header.columns.all().find(({ role }) => role === "message")!;
  expect(column.encoding).toBe("text");
  expect(column.blocks).toBeGreaterThan(3);
  const { texts, close } = openTexts(source, new ColumnCache({ bytesMax, keepsRecent: false }));
  const opening = parts();
  for (let i = 0; i < 3; i++) expect(columnText(texts, 13_999 - i)).toBe(messages[13_999 - i]);
  expect(parts() - opening).toBe(1);
  for (let i = 0; i < 2_000; i++) {
    const row = random.below(messages.length);
    expect(columnText(texts, row)).toBe(messages[row]);
  }
  // A block is decompressed into the window up to three times, where there is one, and then into the column's memory; the one
  // that was shown last stays in the window.
  const blocks = column.blocks! - 1;
  const most = Array.from({ length: blocks }, (_, i) => (bytesMax === 2 ** 29 ? 2 + ((i + 1) % 3) : 1));
  const read = parts() - opening;
  const wanted = most.reduce((sum, times) => sum + times, 0);
  expect(read).toBeLessThanOrEqual(wanted);
  expect(read).toBeGreaterThanOrEqual(bytesMax === 2 ** 29 ? wanted - 3 : wanted);
  expect(Buffer.from(texts.text.bytes).equals(Buffer.from(messages.join("")))).toBe(true);
  close();

  const whole = source.payload(source.header.columns.all().indexOf(column));
  expect(whole.byteLength).toBe(column.payloadBytes);
});

test(`columns share a window, and what is read of one from its beginning to its end is read once (SVC_SEED=${seed})`, () => {
  const random = new Random(seed + 4);
  const cache = new ColumnCache({ bytesMax: 2 ** 29, keepsRecent: false });
  const all = Array.from({ length: 3 }, () => drawMessages(random));
  const chunks = all.map((messages) => ({ messages, ...sealMessages(messages) }));
  const opened = chunks.map(({ source }) => openTexts(source, cache));
  const expectRows = (chunk: number, from: number, to: number) => {
    const { messages } = chunks[chunk]!;
    const { offsets, bytes } = textOfRows(opened[chunk]!.texts, from, to);
    const read = Buffer.from(bytes.subarray(offsets[from], offsets[to]));
    expect(read.equals(Buffer.from(messages.slice(from, to).join("")))).toBe(true);
    // One of these rows is in memory already.
    const row = from + random.below(to - from);
    const before = chunks[chunk]!.parts();
    expect(columnText(opened[chunk]!.texts, row)).toBe(messages[row]);
    expect(chunks[chunk]!.parts()).toBe(before);
  };
  for (const chunk of [0, 1]) {
    const before = chunks[chunk]!.parts();
    for (let from = 0; from < 14_000; from += 2_048) expectRows(chunk, from, Math.min(14_000, from + 2_048));
    const column = chunks[chunk]!.source.header.columns.all().find(({ role }) => role === "message")!;
    expect(chunks[chunk]!.parts() - before).toBe(column.blocks! - 1);
  }
  for (let i = 0; i < 300; i++) {
    const from = random.below(14_000);
    expectRows(
      random.below(3),
      from,
      Math.min(14_000, from + 1 + random.below(random.pick([1, 300, 14_000]))),
    );
  }
  for (const { texts } of opened) expect(texts.text.bytes.byteLength).toBeGreaterThan(8_000_000);
  for (const { close } of opened) close();
});

test("a column of which single blocks were read is loaded between tasks, unless its memory was evicted", () => {
  const messages = drawMessages(new Random(seed + 5));
  const cache = new ColumnCache({ bytesMax: 2 ** 29, keepsRecent: false });
  const open = () => {
    const { source, parts } = sealMessages(messages);
    const blocks = source.header.columns.all().find(({ role }) => role === "message")!.blocks!;
    const chunk = new ChunkColumns(source, 0);
    const view = new ChunkView(chunk, cache.lease());
    const texts = view.column({ kind: "message" }) as PlainTextColumn;
    return { chunk, view, texts, parts, blocks };
  };
  while (loadNextBlock());
  const { view, texts, parts, blocks } = open();
  const before = parts();
  expect(columnText(texts, 0)).toBe(messages[0]);
  expect([loadNextBlock(), parts() - before]).toEqual([false, 1]);
  expect(columnText(texts, 13_000)).toBe(messages[13_000]);
  while (loadNextBlock());
  expect(parts() - before).toBe(2 + blocks - 1);
  for (const [row, message] of messages.entries()) expect(columnText(texts, row)).toBe(message);
  expect(parts() - before).toBe(2 + blocks - 1);

  const other = open();
  for (const row of [13_000, 6_000]) expect(columnText(other.texts, row)).toBe(messages[row]);
  const atEnd = other.parts();
  for (const held of other.chunk.held) cache.release(held);
  other.view.close();
  expect([loadNextBlock(), other.parts() - atEnd]).toEqual([false, 0]);
  for (const [row, message] of messages.entries()) expect(columnText(texts, row)).toBe(message);
  view.close();
});

test("a block that is damaged is not loaded between tasks, and is an error for those who read it", () => {
  const messages = drawMessages(new Random(seed + 6));
  const { source } = sealMessages(messages);
  const index = source.header.columns.all().findIndex(({ role }) => role === "message");
  const blocks = source.payloadBlocks!(index)!;
  const damagedFrom = blocks.ranges.at(-1)!.from;
  const damaged: ChunkSource = {
    ...source,
    payloadBlocks: () => ({
      ...blocks,
      readInto: (target, from) => {
        if (from + target.byteLength > damagedFrom) throw new Failure("damage", "changed");
        blocks.readInto(target, from);
      },
    }),
  };
  const { texts, close } = openTexts(damaged, new ColumnCache({ bytesMax: 2 ** 29, keepsRecent: false }));
  for (const row of [8_000, 3_000]) expect(columnText(texts, row)).toBe(messages[row]);
  while (loadNextBlock());
  expect(columnText(texts, 0)).toBe(messages[0]);
  expect(() => columnText(texts, 13_999)).toThrow("changed");
  close();
});
