/** The search of stored variables in WebAssembly, over the vectors of one arena. */
import { makeTruncatedFailure } from "./decoding.ts";
import { plainKernels } from "./plain.ts";
import type { SlotSearchKernels } from "./slot-search.ts";
import { cutShort, openSlotState, SlotField, takeAttribute, writeStreams } from "./wasm-decoding.ts";
import type { NeedlePlace } from "./wasm-text.ts";
import type { Global } from "./webassembly.ts";

/** What `assembly/messages/slotsearch.ts` exports; parameters as in `wasm-kernels.ts`. */
export interface SlotSearchExports {
  slotDecodingAt: Global;
  searchSlots(kinds: number, counts: number, from: number, to: number, found: number): number;
}

/** `scratch` is the part of the memory that the arena leaves to the kernels. */
export function makeSlotSearchKernels(
  exports: SlotSearchExports,
  scratch: Uint8Array,
  needlePlace: NeedlePlace,
): SlotSearchKernels<SharedArrayBuffer> {
  const state = openSlotState(exports, scratch);
  return {
    slotTextsHolding(streams, slots, needle, into, searchAttribute) {
      if (!needlePlace.place(needle))
        return plainKernels.slotTextsHolding(streams, slots, needle, into, searchAttribute);
      const { texts, from, to, found, firstTexts, valuePlaces } = into;
      writeStreams(state, streams);
      state[SlotField.textsMax] = texts;
      state[SlotField.firstTexts] = firstTexts.byteOffset;
      state[SlotField.valuePlaces] = valuePlaces.byteOffset;
      state[SlotField.searchFrom] = from;
      state[SlotField.searchTo] = to;
      state[SlotField.codes] = streams.data.byteOffset;
      const { kinds, rowCounts } = slots;
      const [kindsAt, countsAt, foundAt] = [kinds.byteOffset, rowCounts.byteOffset, found.byteOffset];
      for (let slot = 0; slot < kinds.length; slot++) {
        slot = exports.searchSlots(kindsAt, countsAt, slot, kinds.length, foundAt) >>> 0;
        if (slot === cutShort) throw makeTruncatedFailure();
        if (slot === kinds.length) break;
        const first = state[SlotField.texts]!;
        let count = 0;
        takeAttribute(state, streams, (key) => {
          count = searchAttribute(slot, key, first);
        });
        needlePlace.place(needle);
        state[SlotField.texts] = first + count;
        if (first + count > texts) throw makeTruncatedFailure();
      }
      firstTexts[kinds.length] = state[SlotField.texts]!;
    },
  };
}
