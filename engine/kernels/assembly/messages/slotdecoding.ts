/** Decodes the values of variables into texts, slot by slot. */
import { joinIntegers } from "../streams.ts";
import {
  attributeKind,
  constantKind,
  countDigits,
  cutShort,
  dictionaryKind,
  digitsKind,
  hexDigit,
  hexKind,
  integerKind,
  numbersAt,
  numbersAtOnce,
  repeatedKind,
  sharedText,
  SlotDecoding,
  slotDecodingAt,
  takeData,
  takeLengths,
  takeNumbers,
  textKind,
  textPerRow,
  writeDigits,
  writeShape,
} from "./slotstreams.ts";

export { slotDecodingAt };

/**
 * Decodes the slots [from, to). `kinds` and `counts` have the kind of each slot and the number of its rows. Returns
 * `to`, or the number of a slot that repeats an attribute, which the caller decodes, or `cutShort`.
 */
export function decodeSlots(kinds: usize, counts: usize, from: u32, to: u32): u32 {
  const into = changetype<SlotDecoding>(slotDecodingAt);
  for (let slot: usize = from; slot < to; slot++) {
    store<u32>(<usize>into.firstTexts + (slot << 2), into.texts);
    store<u32>(<usize>into.valuePlaces + (slot << 2), textPerRow);
    const kind = load<u8>(kinds + slot);
    if (kind == attributeKind) return <u32>slot;
    if (!decodeSlot(into, kind, slot, load<u32>(counts + (slot << 2)))) return cutShort;
  }
  return to;
}

function decodeSlot(into: SlotDecoding, kind: u8, slot: usize, rows: u32): bool {
  if (kind == constantKind) {
    store<u32>(<usize>into.valuePlaces + (slot << 2), sharedText);
    return copyTexts(into, 1);
  }
  if (kind == dictionaryKind) {
    store<u32>(<usize>into.valuePlaces + (slot << 2), into.codesLength);
    return copyDictionary(into, rows);
  }
  if (kind == repeatedKind) {
    if (!takeData(into, 2)) return false;
    store<u32>(<usize>into.valuePlaces + (slot << 2), load<u16>(into.data - 2));
    return true;
  }
  if (kind == digitsKind) return decodeDigits(into, rows);
  if (kind == integerKind) return decodeIntegers(into, rows);
  if (kind == hexKind) return decodeHex(into, rows);
  return kind == textKind && copyTexts(into, rows);
}

/** Whether there is room for so many more texts of so many bytes together. */
@inline
function hasRoom(into: SlotDecoding, texts: u32, byteLength: u64): bool {
  return texts <= into.textsMax - into.texts && byteLength <= <u64>(into.bytesMax - into.byteLength);
}

@inline
function endText(into: SlotDecoding): void {
  store<u32>(<usize>into.offsets + (<usize>++into.texts << 2), into.byteLength);
}

function copyTexts(into: SlotDecoding, count: u32): bool {
  if (!hasRoom(into, count, 0)) return false;
  const room = min(into.bytesMax - into.byteLength, into.textEnd - into.text);
  const ends = <usize>into.offsets + (<usize>(into.texts + 1) << 2);
  const sum = takeLengths(into, count, ends, into.byteLength, room);
  if (sum < 0) return false;
  memory.copy(<usize>into.bytes + into.byteLength, into.text, <usize>sum);
  into.text += <u32>sum;
  into.byteLength += <u32>sum;
  into.texts += count;
  return true;
}

function copyDictionary(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, <u64>rows + 1) || rows > into.codesMax - into.codesLength) return false;
  const from = <usize>(into.data - rows);
  const last = load<u8>(from - 1);
  for (let row: usize = 0; row < rows; row++) if (load<u8>(from + row) > last) return false;
  memory.copy(<usize>into.codes + into.codesLength, from, rows);
  into.codesLength += rows;
  return copyTexts(into, <u32>last + 1);
}

function decodeHex(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const width = <u32>load<u8>(<usize>into.data - 1);
  const bytes = <u64>width * <u64>rows;
  if (!takeData(into, bytes) || !hasRoom(into, rows, bytes * 2)) return false;
  let from = <usize>into.data - <usize>bytes;
  let target = <usize>into.bytes + into.byteLength;
  for (let row: u32 = 0; row < rows; row++) {
    for (const end = from + width; from < end; from++, target += 2) {
      const byte = <u32>load<u8>(from);
      store<u16>(target, <u16>(hexDigit(byte >> 4) | (hexDigit(byte & 15) << 8)));
    }
    into.byteLength += width * 2;
    endText(into);
  }
  return true;
}

function decodeDigits(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const length = <u32>load<u8>(<usize>into.data - 1);
  if (!takeData(into, length)) return false;
  const shape = <usize>into.data - length;
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasRoom(into, rows, <u64>length * <u64>rows)) return false;
  const streams = <usize>into.data - <usize>width * rows;
  const base = load<f64>(streams - 9);
  for (let done: u32 = 0; done < rows; done += numbersAtOnce) {
    const some = min(rows - done, numbersAtOnce);
    joinIntegers(streams + done, rows, width, some, base, numbersAt);
    for (let row: usize = 0; row < some; row++) {
      const target = <usize>into.bytes + into.byteLength;
      writeShape(shape, length, <u64>load<f64>(numbersAt + (row << 3)), target);
      into.byteLength += length;
      endText(into);
    }
  }
  return true;
}

function decodeIntegers(into: SlotDecoding, rows: u32): bool {
  if (!takeData(into, 1)) return false;
  const width = takeNumbers(into, rows);
  if (width < 0 || !hasRoom(into, rows, 0)) return false;
  const streams = <usize>into.data - <usize>width * rows;
  const base = load<f64>(streams - 9);
  for (let done: u32 = 0; done < rows; done += numbersAtOnce) {
    const some = min(rows - done, numbersAtOnce);
    joinIntegers(streams + done, rows, width, some, base, numbersAt);
    for (let row: usize = 0; row < some; row++) {
      const number = <u64>load<f64>(numbersAt + (row << 3));
      const length = countDigits(number);
      if (<u64>length > <u64>(into.bytesMax - into.byteLength)) return false;
      into.byteLength += length;
      writeDigits(number, length, <usize>into.bytes + into.byteLength);
      endText(into);
    }
  }
  return true;
}
