/** The search of stored variables in plain TypeScript, over vectors in any memory: the reference implementation. */
import { setBit } from "../vector/bitmap.ts";
import { makeTruncatedFailure, SlotKind, sharedText, textPerRow } from "./decoding.ts";
import type { Needle } from "./needle.ts";
import { countDigits, hexDigits, SlotSource, writeDigits, writeShaped } from "./plain-decoding.ts";
import type { SlotSearchKernels } from "./slot-search.ts";

/** Returns whether a text holds a needle. */
type Holds = (text: Uint8Array, needle: Needle) => boolean;

/** `countDigits` returns at most this. */
const digitsMax = 19;

export function makePlainSlotSearch(holds: Holds): SlotSearchKernels<ArrayBufferLike> {
  return {
    slotTextsHolding(streams, { kinds, rowCounts }, needle, into, searchAttribute) {
      const { texts, from, to, found, firstTexts, valuePlaces } = into;
      const source = new SlotSource(streams);
      let count = 0;
      const onText = (text: Uint8Array): void => {
        if (count === texts) throw makeTruncatedFailure();
        if (count >= from && count < to && holds(text, needle)) setBit(found, count);
        count++;
      };
      for (const [slot, kind] of kinds.entries()) {
        firstTexts[slot] = count;
        valuePlaces[slot] = textPerRow;
        if (kind === SlotKind.repeated) valuePlaces[slot] = source.readByte() | (source.readByte() << 8);
        else if (kind === SlotKind.attribute)
          count += searchAttribute(slot, source.readByte() | (source.readByte() << 8), count);
        else if (kind === SlotKind.dictionary) {
          const distinct = source.readByte() + 1;
          valuePlaces[slot] = source.dataAt;
          source.readBytes(rowCounts[slot]!);
          source.forEachText(distinct, onText);
        } else {
          if (kind === SlotKind.constant) valuePlaces[slot] = sharedText;
          forEachText(kind, source, rowCounts[slot]!, onText);
        }
      }
      if (count > texts) throw makeTruncatedFailure();
      firstTexts[kinds.length] = count;
    },
  };
}

function forEachText(
  kind: number,
  source: SlotSource,
  rows: number,
  onText: (text: Uint8Array) => void,
): void {
  if (kind === SlotKind.constant) source.forEachText(1, onText);
  else if (kind === SlotKind.text) source.forEachText(rows, onText);
  else if (kind === SlotKind.digits) {
    const length = source.readByte();
    const shape = source.readBytes(length);
    const text = new Uint8Array(length);
    for (const number of source.readNumbers(rows)) {
      writeShaped(number, shape, text, 0);
      onText(text);
    }
  } else if (kind === SlotKind.integer) {
    source.readByte();
    const text = new Uint8Array(digitsMax);
    for (const number of source.readNumbers(rows)) {
      const length = countDigits(number);
      writeDigits(number, text, 0, length);
      onText(text.subarray(0, length));
    }
  } else if (kind === SlotKind.hex) {
    const width = source.readByte();
    const text = new Uint8Array(2 * width);
    for (let row = 0; row < rows; row++) {
      for (const [i, byte] of source.readBytes(width).entries()) {
        text[2 * i] = hexDigits[byte >> 4]!;
        text[2 * i + 1] = hexDigits[byte & 15]!;
      }
      onText(text);
    }
  } else throw makeTruncatedFailure();
}
