/** The search of stored variables in WebAssembly, over the vectors of one arena. */
import { makeTruncatedFailure } from "./decoding.ts";
import { plainKernels } from "./plain.ts";
import type { SlotSearchKernels } from "./slot-search.ts";
import { cutShort, openSlotState, SlotField, writeStreams } from "./wasm-decoding.ts";
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
      const { texts, found, firstTexts, valuePlaces } = into;
      const { data } = streams;
      writeStreams(state, streams);
      state[SlotField.textsMax] = texts;
      state[SlotField.firstTexts] = firstTexts.byteOffset;
      state[SlotField.valuePlaces] = valuePlaces.byteOffset;
      state[SlotField.codes] = data.byteOffset;
      const { kinds, rowCounts } = slots;
      for (let slot = 0; slot < kinds.length; slot++) {
        const from = slot;
        slot =
          exports.searchSlots(
            kinds.byteOffset,
            rowCounts.byteOffset,
            from,
            kinds.length,
            found.byteOffset,
          ) >>> 0;
        if (slot === cutShort) throw makeTruncatedFailure();
        if (slot === kinds.length) break;
        const at = state[SlotField.data]! - data.byteOffset;
        if (at + 2 > data.byteLength) throw makeTruncatedFailure();
        // The search of an attribute uses these kernels meanwhile, and the same memory.
        const kept = state.slice();
        const count = searchAttribute(slot, data[at]! | (data[at + 1]! << 8), kept[SlotField.texts]!);
        needlePlace.place(needle);
        state.set(kept);
        state[SlotField.data] = kept[SlotField.data]! + 2;
        state[SlotField.texts] = kept[SlotField.texts]! + count;
        if (state[SlotField.texts]! > texts) throw makeTruncatedFailure();
      }
      firstTexts[kinds.length] = state[SlotField.texts]!;
    },
  };
}
