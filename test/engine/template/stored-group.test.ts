/** Searches of variables as they are stored, chunk by chunk in little memory, against a loop over the messages. */
import { expect, test } from "vitest";
import { createChunkBuilder, getAttributeBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type { ChunkSource } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { searchMessages } from "../../../engine/filter/message-search.ts";
import type { LogRow } from "../../../engine/index.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";
import { addTemplateRows } from "../../../engine/template/text-search.ts";
import { hasBit } from "../../../engine/vector/bitmap.ts";
import { generateRows } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { makeKeyedRows } from "../keyed-rows.ts";
import { makeRows } from "../message-rows.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function encodeChunk(rows: readonly LogRow[]): ChunkSource {
  const builder = createChunkBuilder();
  for (const [i, { message, attributes }] of rows.entries()) {
    builder.timeNs.push(i);
    builder.arrival.push(i);
    builder.message.pushBytes(Buffer.from(message));
    for (const [key, value] of Object.entries(attributes))
      getAttributeBuilder(builder, key).pushText(i, value);
    builder.rows++;
  }
  const written = serializePart(encodeChunks(builder, { sealed: true })[0]!);
  const bytes = new Uint8Array(written.byteLength);
  writePart(written, bytes, 0);
  return openPart(bytes, 0);
}

/** The rows of a chunk whose messages hold a text. */
function search(chunk: ChunkColumns, cache: ColumnCache, text: string, ignoreCase: boolean): number[] {
  const view = new ChunkView(chunk, cache.lease());
  try {
    const column = view.column({ kind: "message" });
    if (column.kind !== "message") throw new Error("the messages were not stored as templates");
    const field = { kind: "message" as const };
    const found = searchMessages({ kind: "contains", field, text, ignoreCase }, column.messages, view);
    const rows = [...Array(view.rows).keys()];
    if (found === "every") return rows;
    if (found === "none") return [];
    if (found === "undecided") throw new Error(`${text}: undecided`);
    const bits = addTemplateRows(column.messages, found, view.heap);
    return bits === undefined ? [] : rows.filter((row) => hasBit(bits, row));
  } finally {
    view.close();
  }
}

/** A part of a message: a word or a number as a whole, or a part of one, or of several. */
function drawText(rows: readonly LogRow[], random: Random): string {
  const { message } = random.pick(rows);
  const words = message.split(/[\s:]+/).filter((word) => word !== "");
  const long = words.filter((word) => /[0-9]{7}/.test(word));
  if (long.length > 0 && random.oneIn(2)) return random.pick(long);
  if (words.length > 0 && random.oneIn(4)) return random.pick(words);
  const text = random.oneIn(4) || words.length === 0 ? message : random.pick(words);
  const from = random.below(text.length);
  return text.slice(from, from + 1 + random.below(Math.min(12, text.length - from)));
}

const sets: [name: string, bytesMax: number, rowsOf: (number: number) => LogRow[]][] = [
  ["lines `Key: value`", 2 ** 21, (number) => makeKeyedRows(number, seed, 2_000)],
  ["messages of all kinds", 2 ** 20, (number) => makeRows(number, seed)],
  [
    "system",
    2 ** 24,
    (number) => [...generateRows({ profile: "system", seed: seed + number, rows: 10_000 })],
  ],
  ["wide", 2 ** 25, (number) => [...generateRows({ profile: "wide", seed: seed + number, rows: 1_000 })]],
];

test.each(sets)(`of %s (SVC_SEED=${seed})`, (name, bytesMax, rowsOf) => {
  const random = new Random(seed, 7);
  const cache = new ColumnCache({ bytesMax, keepsRecent: false });
  // Rows of few repetitions are stored as plain text.
  const sets = Array.from({ length: 6 }, (_, number) => rowsOf(number))
    .map((rows) => ({ rows, source: encodeChunk(rows) }))
    .filter(
      ({ source: { header } }) => header.columns.get(header.columns.find("message"))?.encoding === "template",
    );
  const open = () => sets.map(({ rows, source }) => ({ rows, chunk: new ChunkColumns(source, 0) }));
  let opened = open();
  const seen = { stored: 0, inPart: 0, decoded: 0, hits: 0 };
  for (let i = 0; i < scaled(100, 2_000); i++) {
    // At first most searches find nothing in memory; later groups are searched so often that they are decoded.
    const isNew = i < 60 && random.oneIn(2);
    if (isNew) opened = open();
    const text = drawText(random.pick(sets).rows, random);
    if (!text.isWellFormed()) continue;
    // Only ASCII is folded by kernels.
    const ignoreCase = random.oneIn(4) && /^[\x20-\x7e]*$/.test(text);
    const fold = (other: string) =>
      ignoreCase ? other.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : other;
    for (const { rows, chunk } of opened) {
      const expected = rows.flatMap(({ message }, row) => (fold(message).includes(fold(text)) ? [row] : []));
      const where = JSON.stringify({ seed, text, ignoreCase });
      expect(search(chunk, cache, text, ignoreCase), where).toEqual(expected);
      if (isNew && /^[a-z0-9]{1,6}$/i.test(text)) expect(chunk.groups.size, where).toBe(0);
      seen.hits += expected.length;
      seen.stored += chunk.storedGroups.size;
      seen.inPart += chunk.searchedInPart.size;
      seen.decoded += chunk.groups.size;
    }
  }
  expect(seen.stored).toBeGreaterThan(0);
  // Elsewhere hardly any word is a long number or an id.
  if (name === "system") expect(seen.inPart).toBeGreaterThan(0);
  expect(seen.decoded).toBeGreaterThan(0);
  expect(seen.hits).toBeGreaterThan(1_000);
});

test("no variables are read for a phrase of letters, though some messages are a number as a whole", () => {
  const messages = Array.from({ length: 1_000 }, (_, row) =>
    row % 2 === 0 ? String(1_000 + row) : `disk ${row} is nearly full`,
  );
  const rows = messages.map(
    (message, i): LogRow => ({ timeNs: BigInt(i), level: "", message, attributes: {} }),
  );
  const chunk = new ChunkColumns(encodeChunk(rows), 0);
  const cache = new ColumnCache({ bytesMax: 2 ** 22, keepsRecent: false });
  const found = ["is nearly", "not there", "150"].map((text) => search(chunk, cache, text, false).length);
  expect(found).toEqual([500, 0, 6]);
  expect(chunk.groups.size).toBe(0);
});
