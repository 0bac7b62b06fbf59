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
import { type GroupSlots, openVariables, type VariableGroup } from "./variable-columns.ts";

/** What a search works with. Vectors on the scratch heap live as long as the view of the chunk. */
export interface SearchMemory {
  kernels: Kernels<ArrayBufferLike>;
  scratch: Heap;
}

/** Texts that hold a needle, a bit for each on the scratch heap, and how slots refer to them. */
export type FoundVariables = Pick<VariableGroup, "keys" | "firstTexts" | "valuePlaces" | "codes"> & {
  found: Bitmap;
};

/** Texts [from, to) of a slot that has the values of an attribute, one for each of its rows. */
export interface AttributeTexts {
  key: string;
  /** Index among the group's slots. */
  slot: number;
  from: number;
  to: number;
}

/** The attributes of a group's slots. */
export interface SlotAttributes {
  /**
   * Sets bit `at` + i of `found` where the i-th of the texts holds a needle. Returns false, and sets none, where the texts have to
   * be read for that.
   */
  markHolding(texts: AttributeTexts, needle: Needle, found: Bitmap, at: number): boolean;
  /** Reads texts onto a heap. */
  read(texts: AttributeTexts, heap: Heap): TextVector;
}

/** A half-open range of the texts of a group. */
export interface TextRange {
  from: number;
  to: number;
}

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
      data: heap.retain(data),
      lengths: heap.retain(lengths),
      longLengths: uint32Of(heap.retain(longLengths)),
      text: heap.retain(text),
    };
    const rowCounts = heap.uint32(slots.rowCounts.length);
    rowCounts.set(slots.rowCounts);
    this.#slots = { kinds: heap.place(slots.kinds), rowCounts };
    const count = slots.kinds.length;
    this.#references = { firstTexts: heap.uint32(count + 1), valuePlaces: heap.uint32(count) };
  }

  /** The texts that hold a needle; those outside of `range` may be left out. Throws Failure "damage". */
  find(
    needle: Needle,
    attributes: SlotAttributes,
    memory: SearchMemory,
    range: TextRange = { from: 0, to: this.#texts },
  ): FoundVariables {
    const found = memory.scratch.uint8(Math.ceil(this.#texts / 8));
    const into = { texts: this.#texts, ...range, found, ...this.#references };
    memory.kernels.slotTextsHolding(this.#streams, this.#slots, needle, into, (slot, key, first) => {
      const rows = this.#slots.rowCounts[slot]!;
      const from = Math.max(range.from - first, 0);
      const to = Math.min(range.to - first, rows);
      if (from >= to || first + rows > this.#texts) return rows;
      const texts = { key: this.#keys[key] ?? "", slot, from, to };
      if (!attributes.markHolding(texts, needle, found, first + from))
        forEachHolding(this.#read(texts, attributes, memory), needle, memory, (i) =>
          setBit(found, first + from + i),
        );
      return rows;
    });
    return { ...this.#references, found, keys: this.#keys, codes: this.#streams.data };
  }

  /** The texts of an attribute in a slot's rows. Where they are those of all its rows, the next search finds them in memory. */
  #read(texts: AttributeTexts, attributes: SlotAttributes, { scratch }: SearchMemory): TextVector {
    if (texts.to - texts.from < this.#slots.rowCounts[texts.slot]!) return attributes.read(texts, scratch);
    return getOrMake(this.#attributeTexts, texts.slot, () => attributes.read(texts, this.#heap));
  }
}

/** Calls back with the index of each text that holds a needle. */
function forEachHolding(
  texts: TextVector,
  needle: Needle,
  { kernels, scratch }: SearchMemory,
  mark: (index: number) => void,
): void {
  const count = textCount(texts);
  const holding = scratch.uint8(Math.ceil(count / 8));
  if (kernels.rowsHolding(texts, needle, holding) === 0) return;
  for (let i = 0; i < count; i++) if (hasBit(holding, i)) mark(i);
}

/** The most texts that slots can have: what a payload says is not trusted. */
function countTextsMax({ kinds, rowCounts }: GroupSlots): number {
  let texts = 0;
  for (let slot = 0; slot < kinds.length; slot++) {
    const kind = kinds[slot]!;
    if (kind === SlotKind.constant) texts++;
    else if (kind === SlotKind.dictionary) texts += dictionaryTextsMax;
    else if (kind !== SlotKind.repeated) texts += rowCounts[slot]!;
  }
  return texts;
}

/** A dictionary's number of texts less one is a byte. */
const dictionaryTextsMax = 256;
