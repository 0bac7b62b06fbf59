/**
 * A group of variables as it is stored. Its values are searched in their streams: these take some two thirds of the memory of
 * decoded texts, and nothing is decoded before the search.
 */
import { type Payload, uint32Of } from "../../files/column-payload.ts";
import type { Kernels } from "../../kernels/contract.ts";
import { makeTruncatedFailure, SlotKind, type SlotList, type SlotStreams } from "../../kernels/decoding.ts";
import type { Heap } from "../../kernels/heap.ts";
import type { Needle } from "../../kernels/needle.ts";
import { type Bitmap, hasBit, setBit } from "../../vector/bitmap.ts";
import { getOrMake } from "../../vector/map-entry.ts";
import { type TextVector, textCount } from "../../vector/text.ts";
import {
  type GroupSlots,
  openVariables,
  type ReadAttribute,
  type VariableGroup,
} from "./variable-columns.ts";

/** What a search works with. Vectors on the scratch heap live as long as the view of the chunk. */
export interface SearchMemory {
  kernels: Kernels<ArrayBufferLike>;
  scratch: Heap;
}

/** Texts that hold a needle, a bit for each on the scratch heap, and how slots refer to them. */
export type FoundVariables = Pick<VariableGroup, "keys" | "firstTexts" | "valuePlaces" | "codes"> & {
  found: Bitmap;
};

/**
 * Reads the texts of a slot that repeats an attribute, one for each of its rows, onto a heap. `slot`: index among the group's
 * slots.
 */
export type ReadSlotTexts = (key: string, slot: number, heap: Heap) => TextVector;

export class StoredGroup {
  /** About how many bytes the group takes when it is decoded, with what decoding needs. */
  readonly decodedBytes: number;
  readonly #heap: Heap;
  readonly #streams: SlotStreams<ArrayBufferLike>;
  readonly #slots: SlotList<ArrayBufferLike>;
  readonly #keys: readonly string[];
  readonly #texts: number;
  /** Written by each search, with the same values. */
  readonly #references: Pick<FoundVariables, "firstTexts" | "valuePlaces">;
  /** The texts of slots that repeat an attribute, once they were searched. */
  readonly #attributeTexts = new Map<number, TextVector>();

  /** `heap` also gets what later searches keep. Throws Failure "damage" where the payload does not fit its slots. */
  constructor(payload: Payload, slots: GroupSlots, heap: Heap) {
    const { sizes, streams, keys } = openVariables(payload, slots);
    const [texts, textBytes, codes] = sizes as unknown as [number, number, number];
    if (texts > countTextsMax(slots)) throw makeTruncatedFailure();
    this.#heap = heap;
    this.#keys = keys;
    this.#texts = texts;
    const { data, lengths, longLengths, text } = streams;
    const streamBytes = [data, lengths, longLengths, text].reduce(
      (sum, { byteLength }) => sum + byteLength,
      0,
    );
    this.decodedBytes = 4 * texts + textBytes + codes + 8 * slots.kinds.length + streamBytes;
    this.#streams = {
      data: heap.place(data),
      lengths: heap.place(lengths),
      longLengths: uint32Of(heap.place(longLengths)),
      text: heap.place(text),
    };
    const rowCounts = heap.uint32(slots.rowCounts.length);
    rowCounts.set(slots.rowCounts);
    this.#slots = { kinds: heap.place(slots.kinds), rowCounts };
    const count = slots.kinds.length;
    this.#references = { firstTexts: heap.uint32(count + 1), valuePlaces: heap.uint32(count) };
  }

  /** The texts that hold a needle. Throws Failure "damage". */
  find(needle: Needle, readSlotTexts: ReadSlotTexts, { kernels, scratch }: SearchMemory): FoundVariables {
    const found = scratch.uint8(Math.ceil(this.#texts / 8));
    const into = { texts: this.#texts, found, ...this.#references };
    kernels.slotTextsHolding(this.#streams, this.#slots, needle, into, (slot, key, first) => {
      const texts = getOrMake(this.#attributeTexts, slot, () =>
        readSlotTexts(this.#keys[key] ?? "", slot, this.#heap),
      );
      const count = textCount(texts);
      if (first + count > this.#texts) return count;
      const holding = scratch.uint8(Math.ceil(count / 8));
      if (kernels.rowsHolding(texts, needle, holding) > 0)
        for (let i = 0; i < count; i++) if (hasBit(holding, i)) setBit(found, first + i);
      return count;
    });
    return { ...this.#references, found, keys: this.#keys, codes: this.#streams.data };
  }
}

/** The most texts that slots can have: what a payload says is not trusted. */
function countTextsMax({ kinds, rowCounts }: GroupSlots): number {
  let texts = 0;
  for (const [slot, kind] of kinds.entries()) {
    if (kind === SlotKind.constant) texts++;
    else if (kind === SlotKind.dictionary) texts += dictionaryTextsMax;
    else if (kind !== SlotKind.repeated) texts += rowCounts[slot]!;
  }
  return texts;
}

/** The values of rows as texts on a heap. */
export function toTexts(rows: Uint32Array, read: ReturnType<ReadAttribute>, heap: Heap): TextVector {
  const offsets = heap.uint32(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + read(row).byteLength;
  const bytes = heap.unfilled(offsets[rows.length]!);
  for (const [i, row] of rows.entries()) bytes.set(read(row), offsets[i]!);
  return { offsets, bytes };
}

/** A dictionary's number of texts less one is a byte. */
const dictionaryTextsMax = 256;
