/** Searches of stored variables, in both implementations, against a loop over the decoded texts. */
import { describe, expect, test } from "vitest";
import { ChunkColumns } from "../../../engine/chunk/chunk-columns.ts";
import type { ChunkSource } from "../../../engine/chunk/chunk-header.ts";
import { ChunkView } from "../../../engine/chunk/chunk-view.ts";
import { columnText } from "../../../engine/column/column.ts";
import { openStoredGroup } from "../../../engine/column/encoding.ts";
import { Failure } from "../../../engine/failure.ts";
import { readPayload, uint32Of, writePayload } from "../../../engine/files/column-payload.ts";
import { SlotKind } from "../../../engine/kernels/decoding.ts";
import { plainColumns, plainHeap } from "../../../engine/kernels/heap.ts";
import { makeNeedle, type Needle } from "../../../engine/kernels/needle.ts";
import { plainKernels } from "../../../engine/kernels/plain.ts";
import { ColumnCache } from "../../../engine/scan/column-cache.ts";
import type { MessageColumn } from "../../../engine/template/message-column.ts";
import type {
  FoundVariables,
  SlotAttributes,
  TextRange,
} from "../../../engine/template/variables/stored-group.ts";
import { type VariableGroup, variableGroups } from "../../../engine/template/variables/variable-columns.ts";
import { toTextVector } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { scaled } from "../../durability/campaign.ts";
import { bitAt, expectSame, seed } from "./kernel-cases.ts";
import { damageVariables, encodeMessageChunk, makeMessageChunk } from "./message-chunk.ts";

const cache = new ColumnCache({ bytesMax: 256 * 1024 * 1024, keepsRecent: false });

type Search = (
  messages: MessageColumn,
  source: ChunkSource,
  group: number,
  needle: Needle,
  range?: TextRange,
) => FoundVariables | undefined;

const implementations: { name: string; openHeap: () => typeof plainColumns; search: Search }[] = [
  {
    name: "WebAssembly",
    openHeap: () => cache.lease(),
    search: (messages, _, group, needle, range) => messages.searchGroup(group, needle, range),
  },
  {
    name: "plain",
    openHeap: () => plainColumns,
    search(messages, source, group, needle, range) {
      const index = source.header.columns.find("variables", variableGroups[group]!);
      const stored = openStoredGroup(source.payload(index), messages, group, plainHeap);
      const view = new ChunkView(new ChunkColumns(source, 0), plainColumns);
      const memory = { kernels: plainKernels, scratch: plainHeap };
      const attributes: SlotAttributes = {
        markHolding: () => false,
        read: ({ key, slot, from, to }) => {
          const column = view.column({ kind: "attribute", key });
          const texts = Array.from(messages.rowsOfSlot(group, slot).subarray(from, to), (row) =>
            // Damaged slots name attributes that there are not.
            column.kind === "absent" ? "" : (columnText(column, row) ?? ""),
          );
          return toTextVector(texts);
        },
      };
      return stored.find(needle, attributes, memory, range);
    },
  },
];

function openMessages(source: ChunkSource, heap: typeof plainColumns): MessageColumn {
  const column = new ChunkView(new ChunkColumns(source, 0), heap).column({ kind: "message" });
  if (column.kind !== "message") throw new Error("the messages were not stored as templates");
  return column.messages;
}

function textsOf({ text }: VariableGroup): string[] {
  const texts = Array.from({ length: text.offsets.length - 1 }, (_, i) =>
    Buffer.from(text.bytes.subarray(text.offsets[i], text.offsets[i + 1])).toString("latin1"),
  );
  return texts;
}

/** A part of a text, or something that is like one and rarely occurs. */
function drawNeedle(texts: readonly string[], random: Random): string {
  const text = random.pick(texts);
  if (text === "" || random.below(8) === 0) return String(random.below(100_000));
  const from = random.below(text.length);
  const part = text.slice(from, from + 1 + random.below(text.length - from));
  return random.below(4) === 0 ? part.slice(0, -1) + String(random.below(10)) : part;
}

describe.each(implementations)(`$name (SVC_SEED=${seed})`, ({ openHeap, search }) => {
  test("finds the texts that hold a needle, and how slots refer to them", () => {
    const seen = { kinds: new Set<number>(), hits: 0, searches: 0 };
    for (let round = 0; round < 12; round++) {
      const random = new Random(seed, round);
      const { source } = makeMessageChunk(random);
      const decoded = openMessages(source, plainColumns);
      for (const [group, slots] of decoded.slotsOf.entries()) {
        if (slots.length === 0) continue;
        const variables = decoded.readGroup(group);
        const texts = textsOf(variables);
        if (texts.length === 0) continue;
        const { kinds, rowCounts } = decoded.slotsOfGroup(group);
        for (const kind of kinds) seen.kinds.add(kind);
        for (let i = 0; i < scaled(20, 40); i++) {
          const ignoreCase = random.below(3) === 0;
          const drawn = drawNeedle(texts, random);
          const text = ignoreCase ? drawn.toLowerCase() : drawn;
          if (text === "") continue;
          const heap = openHeap();
          const needle = makeNeedle(Buffer.from(text, "latin1"), ignoreCase);
          const found = search(openMessages(source, heap), source, group, needle)!;
          for (const [j, value] of texts.entries()) {
            const holds = (ignoreCase ? value.toLowerCase() : value).includes(text);
            if (bitAt(found.found, j) !== holds) throw new Error(`${text} in ${value}: ${!holds}`);
            if (holds) seen.hits++;
          }
          expectSame(found.firstTexts, variables.firstTexts);
          for (const [slot, at] of variables.valuePlaces.entries()) {
            const place = found.valuePlaces[slot]!;
            if (kinds[slot] !== SlotKind.dictionary) expect(place).toBe(at);
            else {
              const codes = (list: Uint8Array, from: number) => list.subarray(from, from + rowCounts[slot]!);
              expectSame(codes(found.codes, place), codes(variables.codes, at));
            }
          }
          const from = random.below(texts.length);
          const range = { from, to: from + 1 + random.below(texts.length) };
          const inRange = search(openMessages(source, heap), source, group, needle, range)!;
          expectSame(inRange.firstTexts, variables.firstTexts);
          for (let j = 0; j < texts.length; j++) {
            // A bit outside of the range may be set where the text holds the needle.
            const isIn = j >= range.from && j < range.to;
            if (
              isIn
                ? bitAt(inRange.found, j) !== bitAt(found.found, j)
                : bitAt(inRange.found, j) && !bitAt(found.found, j)
            )
              throw new Error(`${text} in ${texts[j]}, range ${JSON.stringify(range)}`);
          }
          seen.searches++;
          heap.end();
        }
      }
    }
    expect([...seen.kinds].sort()).toEqual(Object.values(SlotKind));
    expect(seen.hits).toBeGreaterThan(seen.searches);
  });

  test("finds digits, letters of either case and long numbers in slots of thousands of rows", () => {
    const random = new Random(seed, 3);
    const edges = [
      0,
      1,
      9,
      10,
      90,
      99,
      100,
      101,
      900,
      1_000,
      10_010,
      999_999,
      1e6,
      100_200_300,
      1e14,
      1e15 - 1,
    ];
    const values = Array.from({ length: 5_000 }, (_, row) => ({
      integer: String(edges[row] ?? Math.floor((random.next() / 2 ** 32) * 10 ** random.below(16))),
      shape: `Zone-${String(random.below(10_000)).padStart(4, "0")}.AB_${random.below(10)}`,
      fixed: String(random.below(1e9)).padStart(12, "0"),
      hex: Array.from({ length: 40 }, () => random.below(256).toString(16).padStart(2, "0")).join(""),
    }));
    const messages = values.map(
      ({ integer, shape, fixed, hex }) => `took ${integer} in ${shape} of ${fixed} at ${hex}`,
    );
    const source = encodeMessageChunk(
      messages,
      messages.map(() => ""),
    );
    const decoded = openMessages(source, plainColumns);
    const needles = [
      "0",
      "00",
      "000",
      "1",
      "10",
      "01",
      "001",
      "99",
      "9999999",
      "100200300",
      "1234567890123456",
    ];
    needles.push(
      "-0",
      "zone-0",
      "Zone-1",
      "0.ab_",
      "0.AB_1",
      ".AB_",
      "_",
      "ab_7",
      "f",
      "ff0",
      "0a0b",
      "a".repeat(81),
    );
    for (let i = 0; i < scaled(25, 60); i++)
      needles.push(drawNeedle(Object.values(random.pick(values)), random));
    let hits = 0;
    for (const [group, slots] of decoded.slotsOf.entries()) {
      if (slots.length === 0) continue;
      const texts = textsOf(decoded.readGroup(group));
      for (const text of needles) {
        for (const ignoreCase of /[A-Z]/.test(text) ? [false] : [false, true]) {
          if (text === "") continue;
          const heap = openHeap();
          const needle = makeNeedle(Buffer.from(text), ignoreCase);
          const { found } = search(openMessages(source, heap), source, group, needle)!;
          for (const [i, value] of texts.entries()) {
            const holds = (ignoreCase ? value.toLowerCase() : value).includes(text);
            if (bitAt(found, i) !== holds) throw new Error(`${text} (${ignoreCase}) in ${value}: ${!holds}`);
            if (holds) hits++;
          }
          heap.end();
        }
      }
    }
    expect(hits).toBeGreaterThan(10_000);
  });

  test("refuses a group that says it has more texts than its slots can have", () => {
    const { source } = makeMessageChunk(new Random(seed, 98));
    for (const texts of [0xffffffff, 0xfffffff8, 0x7fffffff, 0x7ffffff9, 2_000_000]) {
      const damaged: ChunkSource = {
        ...source,
        payload(column) {
          const stored = source.payload(column);
          if (source.header.columns.get(column)!.role !== "variables") return stored;
          const payload = readPayload(stored.slice());
          uint32Of(payload.buffers[0]!)[0] = texts;
          return writePayload(payload);
        },
      };
      const heap = openHeap();
      const messages = openMessages(damaged, heap);
      const group = messages.slotsOf.findIndex((slots) => slots.length > 0);
      const needle = makeNeedle(Buffer.from("12"), false);
      expect(() => search(messages, damaged, group, needle)).toThrow(/variables cut short/);
      heap.end();
    }
  });

  test("where bytes are wrong or missing, ends in a Failure or finds other texts", () => {
    const random = new Random(seed, 99);
    const { source } = makeMessageChunk(random);
    const outcomes = { failed: 0, searched: 0 };
    for (let round = 0; round < 400; round++) {
      const damaged: ChunkSource = {
        ...source,
        payload(column) {
          const stored = source.payload(column);
          return source.header.columns.get(column)!.role === "variables"
            ? damageVariables(stored, random)
            : stored;
        },
      };
      const heap = openHeap();
      try {
        const messages = openMessages(damaged, heap);
        for (const [group, slots] of messages.slotsOf.entries())
          if (slots.length > 0) search(messages, damaged, group, makeNeedle(Buffer.from("12"), false));
        outcomes.searched++;
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== "damage") throw error;
        outcomes.failed++;
      } finally {
        heap.end();
      }
    }
    expect(outcomes.failed).toBeGreaterThan(20);
    expect(outcomes.searched).toBeGreaterThan(20);
  });
});
