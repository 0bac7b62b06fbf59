/** Merging: chunks that are merged are, byte for byte, what one chunk of all their rows would have been. */

import { expect, test } from "vitest";
import { createChunkBuilder, getAttributeBuilder } from "../../../engine/chunk/chunk-builder.ts";
import { decodeChunks } from "../../../engine/chunk/chunk-decoder.ts";
import { encodeChunks } from "../../../engine/chunk/chunk-encoder.ts";
import type { ChunkSource, EncodedChunk } from "../../../engine/chunk/chunk-header.ts";
import { openPart, serializePart, writePart } from "../../../engine/chunk/part.ts";
import { compact } from "../../../engine/maintenance/compact-parts.ts";
import { generateBatches } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

interface Row {
  timeNs: number;
  arrival: number;
  level: string;
  message: Uint8Array;
  attributes: Record<string, string>;
}

function encode(rows: readonly Row[], sealed: boolean): EncodedChunk[] {
  const builder = createChunkBuilder();
  for (const [row, { timeNs, arrival, level, message, attributes }] of rows.entries()) {
    builder.timeNs.push(timeNs);
    builder.arrival.push(arrival);
    builder.level.pushText(row, level);
    builder.message.pushBytes(message);
    for (const [key, value] of Object.entries(attributes))
      getAttributeBuilder(builder, key).pushText(row, value);
  }
  builder.rows = rows.length;
  return encodeChunks(builder, { sealed });
}

function open(chunk: EncodedChunk): ChunkSource {
  const part = serializePart(chunk);
  const bytes = new Uint8Array(part.byteLength);
  writePart(part, bytes, 0);
  return openPart(bytes, 0);
}

/** Everything that is stored of some chunks. */
function toPlain(chunks: readonly EncodedChunk[]) {
  const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString("latin1");
  return chunks.map(({ header, payloads, filters }) => ({
    header,
    payloads: payloads.map(text),
    filters: filters.map(text),
  }));
}

/** Merges runs of rows as sealed chunks and, for comparison, as parts, whose messages are texts that have to be split. */
function check(runs: readonly (readonly Row[])[]): { isSplit: boolean } {
  const sealed = runs.flatMap((rows) => encode(rows, true).map(open));
  const parts = runs.flatMap((rows) => encode(rows, false).map(open));
  expect(parts.length).toBe(sealed.length);
  const merged = compact("logs", sealed, { sealed: true });
  expect(toPlain(merged)).toEqual(toPlain(compact("logs", parts, { sealed: true })));
  expect(toPlain(compact("logs", sealed, { sealed: false }))).toEqual(
    toPlain(compact("logs", parts, { sealed: false })),
  );
  return { isSplit: decodeChunks(sealed).split !== undefined };
}

const toBytes = (text: string) => Buffer.from(text);

test.each(["system", "company"] as const)("of generated rows of %s, which overlap in time", (profile) => {
  const rows = [...generateBatches({ profile, seed, rows: 40_000 }, 40_000)].flat();
  const runs: Row[][] = [[], [], [], []];
  for (const [arrival, { timeNs, level, message, attributes }] of rows.entries()) {
    const row = {
      timeNs: Number(timeNs % 86_400_000_000_000n),
      arrival,
      level,
      message: toBytes(message),
      attributes,
    };
    runs[(Math.floor(arrival / 2_000) + (arrival % 7 === 0 ? 1 : 0)) % 4]!.push(row);
  }
  expect(check(runs).isSplit).toBe(true);
});

const words = ["order", "paid by user", "refused:", "größer als", "took"];

/** A message of one of a few templates, with variables of all kinds. */
function drawMessage(random: Random): Uint8Array {
  if (random.below(300) === 0) return Buffer.from([0xff, 0x37, 0x20, 0x61]);
  const variables = [
    () => String(random.below(10 ** (1 + random.below(12)))),
    () => random.hex(1 + random.below(40)),
    () => `pod-${random.below(9)}-${random.hex(5)}`,
    () => "v1.2.3",
    () => `é${random.below(100)}`,
    () => `id${random.hex(8).toUpperCase()}7`,
  ];
  const template = random.below(6);
  const pieces = Array.from(
    { length: template % 4 },
    (_, i) => `${words[i]} ${variables[(template + i) % 6]!()}`,
  );
  return toBytes(template === 5 ? "" : `${words[template % 5]} ${pieces.join(", ")}`);
}

test("of random rows, in runs of any length", () => {
  const random = new Random(seed);
  let split = 0;
  for (let round = 0; round < 40; round++) {
    let arrival = 0;
    const runs = Array.from({ length: 1 + random.below(6) }, () =>
      Array.from({ length: 1 + random.below(round % 8 === 0 ? 3_000 : 200) }, (): Row => {
        const id = random.hex(12);
        const message = random.below(4) === 0 ? toBytes(`request 9 of ${id}0`) : drawMessage(random);
        const attributes: Record<string, string> = { id: `${id}0` };
        if (random.below(3) > 0) attributes.pod = `pod-${random.below(5)}`;
        return { timeNs: random.below(1_000) * 1e6, arrival: arrival++, level: "info", message, attributes };
      }),
    );
    if (check(runs).isSplit) split++;
  }
  expect(split).toBeGreaterThan(5);
});

test("of ids of one width or of several, and numbers, that repeat or not, beside texts or not", () => {
  const random = new Random(seed + 2);
  const drawIds = [
    () => random.hex(16),
    () => random.hex(32),
    () => random.hex(10),
    () => random.hex(random.below(2) === 0 ? 16 : 32),
    () => (random.below(20) === 0 ? "none" : random.hex(16)),
    () => random.hex(16).toUpperCase(),
    () => `${random.below(90) + 10}`.repeat(8),
    () => String(random.below(10 ** (1 + random.below(15)))),
    () => String(random.below(1e6) / 2 ** random.below(20) - 100),
    () => (random.below(20) === 0 ? random.hex(16) : String(random.below(1e9))),
    () => String(2 ** 53 - random.below(3) * 2 ** random.below(52)),
  ];
  const encodings = new Map<string, number>();
  for (let round = 0; round < 110; round++) {
    const drawId = drawIds[round % drawIds.length]!;
    const known: string[] = [];
    const repeats = random.below(3);
    let arrival = 0;
    const runs = Array.from({ length: 1 + random.below(5) }, () =>
      Array.from({ length: 1 + random.below(300) }, (): Row => {
        const id =
          random.below(4) < repeats && known.length > 0 ? known[random.below(known.length)]! : drawId();
        known.push(id);
        const attributes: Record<string, string> = random.below(10) === 0 ? {} : { id };
        const message = toBytes(`paid by ${id}`);
        return { timeNs: random.below(1_000) * 1e6, arrival: arrival++, level: "info", message, attributes };
      }).sort((a, b) => a.timeNs - b.timeNs || a.arrival - b.arrival),
    );
    // Values are numbered in the order of rows: within a part that of time.
    const parts = runs.flatMap((rows) => encode(rows, false).map(open));
    const merged = compact("logs", parts, { sealed: true });
    for (const { encoding, key } of merged.flatMap(({ header }) => header.columns))
      if (key === "id") encodings.set(encoding, (encodings.get(encoding) ?? 0) + 1);
    expect(toPlain(merged)).toEqual(toPlain(encode(runs.flat(), true)));
  }
  for (const encoding of ["hex", "integer", "float", "text", "dictionary"])
    expect(encodings.get(encoding), encoding).toBeGreaterThan(2);
});

test("of chunks whose messages are long, so that the merged rows need several chunks", () => {
  const random = new Random(seed + 1);
  let arrival = 0;
  const filler = "static text ".repeat(40_000);
  const runs = Array.from({ length: 3 }, () =>
    Array.from({ length: 50 }, (): Row => {
      const message = toBytes(`${filler} ${random.below(1e9)}`);
      return { timeNs: random.below(1e9), arrival: arrival++, level: "", message, attributes: {} };
    }),
  );
  expect(check(runs).isSplit).toBe(true);
});
