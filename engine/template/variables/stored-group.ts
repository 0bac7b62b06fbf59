/**
 * A group of variables as it is stored. Its values are searched in their streams: these take half the memory of decoded
 * texts or less, and nothing is decoded before the search.
 */
import { type Payload, uint32Of } from "../../files/column-payload.ts";
import type { Kernels } from "../../kernels/contract.ts";
import type { SlotList, SlotStreams } from "../../kernels/decoding.ts";
import type { Heap } from "../../kernels/heap.ts";
import type { Needle } from "../../kernels/needle.ts";
import type { FoundTexts } from "../../kernels/slot-search.ts";
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

/** Texts that hold a needle, a bit for each, and how slots refer to them. */
export type FoundVariables = Pick<VariableGroup, "keys" | "firstTexts" | "valuePlaces" | "codes"> & {
  found: Bitmap;
};

/** The texts of a slot that repeats an attribute, one for each of its rows. `slot`: index among the group's slots. */
export type ReadSlotTexts = (key: string, slot: number) => TextVector;

export class StoredGroup {
  readonly #streams: SlotStreams<ArrayBufferLike>;
  readonly #slots: SlotList<ArrayBufferLike>;
  readonly #keys: readonly string[];
  readonly #texts: number;
  /** The texts of slots that repeat an attribute, once they were searched. */
  readonly #attributeTexts = new Map<number, TextVector>();

  /** Throws Failure "damage" where the payload does not fit its slots. */
  constructor(payload: Payload, slots: GroupSlots, heap: Heap) {
    const { sizes, streams, keys } = openVariables(payload, slots);
    this.#keys = keys;
    this.#texts = sizes[0]!;
    this.#streams = {
      data: heap.place(streams.data),
      lengths: heap.place(streams.lengths),
      longLengths: uint32Of(heap.place(streams.longLengths)),
      text: heap.place(streams.text),
    };
    const rowCounts = heap.uint32(slots.rowCounts.length);
    rowCounts.set(slots.rowCounts);
    this.#slots = { kinds: heap.place(slots.kinds), rowCounts };
  }

  /** The texts that hold a needle, on the scratch heap. Throws Failure "damage". */
  find(needle: Needle, readSlotTexts: ReadSlotTexts, { kernels, scratch }: SearchMemory): FoundVariables {
    const slots = this.#slots.kinds.length;
    const into: FoundTexts<ArrayBufferLike> = {
      texts: this.#texts,
      found: scratch.uint8((this.#texts + 7) >> 3),
      firstTexts: scratch.uint32(slots + 1),
      valuePlaces: scratch.uint32(slots),
    };
    kernels.slotTextsHolding(this.#streams, this.#slots, needle, into, (slot, key, first) => {
      const texts = getOrMake(this.#attributeTexts, slot, () => readSlotTexts(this.#keys[key] ?? "", slot));
      const count = textCount(texts);
      if (first + count > this.#texts) return count;
      const holding = scratch.uint8((count + 7) >> 3);
      if (kernels.rowsHolding(texts, needle, holding) > 0)
        for (let i = 0; i < count; i++) if (hasBit(holding, i)) setBit(into.found, first + i);
      return count;
    });
    return { ...into, keys: this.#keys, codes: this.#streams.data };
  }
}

/** The values of rows as texts on a heap. */
export function toTexts(rows: Uint32Array, read: ReturnType<ReadAttribute>, heap: Heap): TextVector {
  const offsets = heap.uint32(rows.length + 1);
  for (const [i, row] of rows.entries()) offsets[i + 1] = offsets[i]! + read(row).byteLength;
  const bytes = heap.unfilled(offsets[rows.length]!);
  for (const [i, row] of rows.entries()) bytes.set(read(row), offsets[i]!);
  return { offsets, bytes };
}
