/** Both implementations of the decoding kernels against loops over rows, and variables against their messages. */
import { describe, expect, test } from "vitest";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import type { ChunkSource } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { Failure } from "../../../engine/failure.ts";
import { SlotKind } from "../../../engine/kernels/decoding.ts";
import { plainColumns } from "../../../engine/kernels/heap.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";
import { generateBatches } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { expectSame, forEachCase, implementations, makeCodes, seed } from "./kernel-cases.ts";
import { damageVariables, encodeMessageChunk, makeMessageChunk } from "./message-chunk.ts";

/** The streams of whole numbers: first the lowest byte of each. */
function splitNumbers(numbers: readonly bigint[], width: number): Uint8Array {
  const streams = new Uint8Array(numbers.length * width);
  for (let stream = 0; stream < width; stream++) {
    for (const [row, number] of numbers.entries())
      streams[stream * numbers.length + row] = Number((number >> BigInt(8 * stream)) & 0xffn);
  }
  return streams;
}

function randomNumber(random: Random, width: number): bigint {
  let number = 0n;
  for (let i = 0; i < width; i++) number = (number << 8n) | BigInt(random.below(256));
  return number & ((1n << 53n) - 1n);
}

describe.each(implementations)(`$name kernels decode (SVC_SEED=${seed})`, ({ kernels, memory }) => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("numbers of %i bytes above a base, and differences", (width) => {
    forEachCase(memory, (rows, alignment, random) => {
      const numbers = Array.from({ length: rows }, () => randomNumber(random, width) >> 1n);
      const values = memory.doubles(new Float64Array(rows).fill(Number.NaN), alignment);
      kernels.joinIntegers(splitNumbers(numbers, width), width, 1_000, values);
      expectSame(
        values,
        numbers.map((number) => Number(number + 1_000n)),
      );

      // The sum of all differences must stay below 2^53.
      const small = numbers.map((number) => number & 0xffff_ffffn);
      const deltas = small.map((number) => (number % 2n === 0n ? number / 2n : -(number + 1n) / 2n));
      kernels.joinDeltas(splitNumbers(small, width), width, { first: 7e12, step: 3, unit: 10 }, values);
      let value = 7n * 10n ** 12n - 3n;
      expectSame(
        values,
        deltas.map((delta) => {
          value += 3n + delta * 10n;
          return Number(value);
        }),
      );
    });
  });

  test.each([1, 2, 4])("codes of %i bytes", (width) => {
    forEachCase(memory, (rows, alignment, random) => {
      const numbers = Array.from({ length: rows }, () => randomNumber(random, width));
      const codes = makeCodes(memory, width, new Array<number>(rows).fill(1), alignment);
      kernels.joinCodes(splitNumbers(numbers, width), codes);
      expectSame(codes, numbers.map(Number));
    });
  });

  test.each([1, 2, 4])("the order of rows by template, with codes of %i bytes", (width) => {
    forEachCase(memory, (rows, alignment, random) => {
      const templates = 1 + random.below(width === 1 ? 200 : 3_000);
      const values = Array.from({ length: rows }, () => random.below(templates));
      const codes = makeCodes(memory, width, values, alignment);
      const starts = memory.words(new Uint32Array(templates + 1), alignment);
      const [ordered, ranks] = [0, 1].map(() => memory.words(new Uint32Array(rows), alignment));
      expect(kernels.countTemplateRows(codes, starts)).toBe(true);
      kernels.orderRows(codes, starts, ordered!, ranks!);

      const order = values.map((_, row) => row).sort((a, b) => values[a]! - values[b]! || a - b);
      expectSame(ordered!, order);
      const counts = new Array<number>(templates).fill(0);
      expectSame(
        ranks!,
        values.map((value) => {
          counts[value] = counts[value]! + 1;
          return counts[value] - 1;
        }),
      );
      let sum = 0;
      expectSame(starts, [0, ...counts.map((count) => (sum += count))] as number[]);

      if (rows === 0) return;
      starts.fill(0);
      codes[random.below(rows)] = templates;
      expect(kernels.countTemplateRows(codes, starts)).toBe(false);
    });
  });

  test("the slots of templates", () => {
    forEachCase(memory, (count, alignment, random) => {
      const templates = Array.from({ length: count % 300 }, () =>
        Array.from({ length: random.below(40) }, () => (random.below(5) === 0 ? 0xff : random.below(0xff))),
      );
      const bytes = memory.bytes(templates.flat(), alignment);
      let end = 0;
      const offsets = memory.words([0, ...templates.map((template) => (end += template.length))], alignment);
      const places = [...bytes.keys()].filter((at) => bytes[at] === 0xff);
      for (const room of [places.length, Math.floor(places.length / 2)]) {
        const firstSlots = memory.words(new Uint32Array(templates.length + 1), alignment);
        const found = memory.words(new Uint32Array(room), alignment);
        expect(kernels.findSlots({ bytes, offsets }, firstSlots, found)).toBe(places.length);
        expectSame(found, places.slice(0, room));
        let slots = 0;
        const counts = templates.map((template) => template.filter((byte) => byte === 0xff).length);
        expectSame(firstSlots, [0, ...counts.map((own) => (slots += own))]);
      }
    });
  });

  test("the slots of groups", () => {
    forEachCase(memory, (count, alignment, random) => {
      const groups = 1 + random.below(6);
      const groupOfClasses = Uint8Array.from({ length: 256 }, () => random.below(groups));
      const classes = memory.bytes(
        Array.from({ length: count }, () => random.below(256)),
        alignment,
      );
      const starts = memory.words(new Uint32Array(groups + 1), alignment);
      const [indexes, slots] = [0, 1].map(() => memory.words(new Uint32Array(count), alignment));
      kernels.listGroupSlots(classes, groupOfClasses, starts, indexes!, slots!);

      const lists = Array.from({ length: groups }, (_, group) =>
        [...classes.keys()].filter((slot) => groupOfClasses[classes[slot]!] === group),
      );
      expectSame(slots!, lists.flat());
      expectSame(starts, [0, ...lists.map((_, group) => lists.slice(0, group + 1).flat().length)]);
      const indexOf = new Map(lists.flatMap((list) => list.map((slot, index) => [slot, index] as const)));
      expectSame(
        indexes!,
        [...classes.keys()].map((slot) => indexOf.get(slot)!),
      );
    });
  });
});

const cache = new ColumnCache({ bytesMax: 256 * 1024 * 1024, keepsRecent: false });
const heaps = [
  { name: "a column cache", openHeap: () => cache.lease() },
  { name: "the JavaScript heap", openHeap: () => plainColumns },
];

describe.each(heaps)(`variables decoded on $name (SVC_SEED=${seed})`, ({ openHeap }) => {
  const kinds = new Set<number>();

  /** The messages of a chunk, row by row. The kinds of its slots are added to `kinds`. */
  function readMessages(source: ChunkSource): string[] {
    const heap = openHeap();
    try {
      const view = new ChunkView(new ChunkColumns(source, 0), heap);
      const column = view.column({ kind: "message" });
      if (column.kind !== "message") throw new Error("the messages were not stored as templates");
      for (const kind of column.messages.kinds) kinds.add(kind);
      return Array.from({ length: view.rows }, (_, row) =>
        Buffer.from(column.messages.messageAt(row)).toString(),
      );
    } finally {
      heap.end();
    }
  }

  test("are the messages that were encoded", () => {
    for (let round = 0; round < 20; round++) {
      const { messages, source } = makeMessageChunk(new Random(seed, round));
      expectSame(readMessages(source) as never, messages as never);
    }
    expect([...kinds].sort()).toEqual(Object.values(SlotKind));
  });

  test.each(["system", "company"] as const)("are the messages of %s", (profile) => {
    const rows = [...generateBatches({ profile, seed, rows: 20_000 }, 20_000)].flat();
    const messages = rows.map(({ message }) => message);
    const ids = rows.map(({ attributes }) => attributes.trace_id ?? "");
    expectSame(readMessages(encodeMessageChunk(messages, ids)) as never, messages as never);
  });

  test("where bytes are wrong or missing, end in a Failure or in other texts", () => {
    const random = new Random(seed, 99);
    const { source } = makeMessageChunk(random);
    const outcomes = { failed: 0, read: 0 };
    for (let round = 0; round < 400; round++) {
      const damaged: ChunkSource = {
        ...source,
        payload(column) {
          const stored = source.payload(column);
          const { role } = source.header.columns.get(column)!;
          return role === "variables" && random.below(2) === 0 ? damageVariables(stored, random) : stored;
        },
      };
      try {
        readMessages(damaged);
        outcomes.read++;
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "damage") throw error;
        outcomes.failed++;
      }
    }
    expect(outcomes.failed).toBeGreaterThan(20);
    expect(outcomes.read).toBeGreaterThan(20);
  });
});
