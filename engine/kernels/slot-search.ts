/** Searches of the values of variables in the streams in which they are stored; FORMAT.md describes these. */
import type { SlotList, SlotStreams } from "./decoding.ts";
import type { Needle } from "./needle.ts";
import type { AnyBuffer, Bits } from "./vectors.ts";

/** The texts of a group of variables that hold a needle. They are those that decoding the group would make. */
interface FoundTexts<B extends AnyBuffer> {
  /** How many texts there are. */
  texts: number;
  /** Texts outside of [from, to) need not be searched. */
  from: number;
  to: number;
  /** A bit for each text. */
  found: Bits<B>;
  /** The index of the first text of each slot, then the number of all texts. */
  firstTexts: Uint32Array<B>;
  /** As in `SlotTexts`; where it is an index of codes, these begin there in the stream of data. */
  valuePlaces: Uint32Array<B>;
}

/**
 * Searches a slot whose values are those of an attribute, and sets the bits of its texts that hold the needle. `key` is the index
 * of the attribute among the group's keys, `first` the index of the slot's first text. Returns the number of the slot's texts.
 */
type SearchAttribute = (slot: number, key: number, first: number) => number;

/** Part of `Kernels`. */
export interface SlotSearchKernels<B extends AnyBuffer> {
  /**
   * Finds the texts that hold a needle. All bits of `found` must be 0 before; `firstTexts` and `valuePlaces` are written.
   * Throws Failure "damage" where the streams are cut short or hold more texts, and what `searchAttribute` throws.
   */
  slotTextsHolding(
    streams: SlotStreams<B>,
    slots: SlotList<B>,
    needle: Needle,
    texts: FoundTexts<B>,
    searchAttribute: SearchAttribute,
  ): void;
}
