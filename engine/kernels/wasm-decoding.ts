/** The decoding kernels in WebAssembly, over the vectors of one arena. */
import {
  type AppendAttribute,
  type DecodingKernels,
  makeTruncatedFailure,
  type SlotStreams,
  type SlotTexts,
  TextTarget,
} from "./decoding.ts";
import type { Global } from "./webassembly.ts";

type Shared = SharedArrayBuffer;

/** What `assembly/streams.ts` and `assembly/messages/` export for decoding; parameters as in `wasm-kernels.ts`. */
export interface DecodingExports {
  operandAt: Global;
  slotDecodingAt: Global;
  joinIntegers(
    streams: number,
    stride: number,
    width: number,
    rows: number,
    base: number,
    values: number,
  ): void;
  joinDeltas(
    streams: number,
    stride: number,
    width: number,
    rows: number,
    last: number,
    step: number,
    unit: number,
    values: number,
  ): number;
  joinCodes(streams: number, stride: number, width: number, rows: number, codes: number): void;
  countTemplateRows(codes: number, width: number, rows: number, templates: number, starts: number): number;
  orderRows(
    codes: number,
    width: number,
    rows: number,
    templates: number,
    starts: number,
    ordered: number,
    ranks: number,
  ): void;
  findSlots(
    bytes: number,
    offsets: number,
    templates: number,
    firstSlots: number,
    places: number,
    placesMax: number,
  ): number;
  listGroupSlots(
    classes: number,
    count: number,
    groupOfClasses: number,
    groups: number,
    starts: number,
    indexes: number,
    slots: number,
  ): void;
  decodeSlots(kinds: number, counts: number, from: number, to: number): number;
}

/** Rows whose streams are copied to the kernels' memory at a time: seven streams fit there. */
const rowsAtATime = 8_192;
/** What `decodeSlots` and `searchSlots` return where the streams are cut short. */
export const cutShort = 0xffffffff;

/** The fields of `SlotDecoding` in `assembly/messages/slotstreams.ts`, by their index. */
export const SlotField = {
  data: 0,
  dataEnd: 1,
  lengths: 2,
  lengthsEnd: 3,
  longLengths: 4,
  longLengthsEnd: 5,
  text: 6,
  textEnd: 7,
  offsets: 8,
  textsMax: 9,
  texts: 10,
  bytes: 11,
  bytesMax: 12,
  byteLength: 13,
  firstTexts: 14,
  valuePlaces: 15,
  codes: 16,
  codesMax: 17,
  codesLength: 18,
  searchFrom: 19,
  searchTo: 20,
} as const;
const fieldCount = Object.keys(SlotField).length;

/** `scratch` is the part of the memory that the arena leaves to the kernels. */
export function makeDecodingKernels(exports: DecodingExports, scratch: Uint8Array): DecodingKernels<Shared> {
  const operandAt = exports.operandAt.value;
  /** Calls `join` for some rows at a time, whose streams then lie at `operandAt`, `rowsAtATime` apart. */
  const forEachPart = (
    streams: Uint8Array,
    width: number,
    rows: number,
    join: (from: number, count: number) => void,
  ): void => {
    for (let from = 0; from < rows; from += rowsAtATime) {
      const count = Math.min(rowsAtATime, rows - from);
      for (let stream = 0; stream < width; stream++) {
        const begin = stream * rows + from;
        scratch.set(streams.subarray(begin, begin + count), operandAt + stream * rowsAtATime);
      }
      join(from, count);
    }
  };
  return {
    joinIntegers(streams, width, base, values) {
      forEachPart(streams, width, values.length, (from, count) => {
        const target = values.byteOffset + from * 8;
        exports.joinIntegers(operandAt, rowsAtATime, width, count, base, target);
      });
    },
    joinDeltas(streams, width, { first, step, unit }, values) {
      let last = first - step;
      forEachPart(streams, width, values.length, (from, count) => {
        const target = values.byteOffset + from * 8;
        last = exports.joinDeltas(operandAt, rowsAtATime, width, count, last, step, unit, target);
      });
    },
    joinCodes(streams, codes) {
      const width = codes.BYTES_PER_ELEMENT;
      if (width === 1) return codes.set(streams);
      forEachPart(streams, width, codes.length, (from, count) => {
        exports.joinCodes(operandAt, rowsAtATime, width, count, codes.byteOffset + from * width);
      });
    },
    countTemplateRows(codes, starts) {
      const { byteOffset, BYTES_PER_ELEMENT: width, length: rows } = codes;
      return exports.countTemplateRows(byteOffset, width, rows, starts.length - 1, starts.byteOffset) !== 0;
    },
    orderRows(codes, starts, ordered, ranks) {
      const { byteOffset, BYTES_PER_ELEMENT: width, length: rows } = codes;
      const [startsAt, orderedAt, ranksAt] = [starts, ordered, ranks].map((vector) => vector.byteOffset);
      const templates = starts.length - 1;
      exports.orderRows(byteOffset, width, rows, templates, startsAt!, orderedAt!, ranksAt!);
    },
    findSlots({ bytes, offsets }, firstSlots, places) {
      const { byteOffset: placesAt, length: placesMax } = places;
      const templates = offsets.length - 1;
      const firstSlotsAt = firstSlots.byteOffset;
      return (
        exports.findSlots(
          bytes.byteOffset,
          offsets.byteOffset,
          templates,
          firstSlotsAt,
          placesAt,
          placesMax,
        ) >>> 0
      );
    },
    listGroupSlots(classes, groupOfClasses, starts, indexes, slots) {
      const { byteOffset, length } = classes;
      scratch.set(groupOfClasses, operandAt);
      const [startsAt, indexesAt, slotsAt] = [starts, indexes, slots].map((vector) => vector.byteOffset);
      const groups = starts.length - 1;
      exports.listGroupSlots(byteOffset, length, operandAt, groups, startsAt!, indexesAt!, slotsAt!);
    },
    decodeSlots: makeSlotDecoder(exports, scratch),
  };
}

function makeSlotDecoder(
  exports: DecodingExports,
  scratch: Uint8Array,
): DecodingKernels<Shared>["decodeSlots"] {
  const state = openSlotState(exports, scratch);
  return (streams, slots, texts, appendAttribute) => {
    writeState(state, streams, texts);
    const { kinds, rowCounts } = slots;
    for (let slot = 0; slot < kinds.length; slot++) {
      slot = exports.decodeSlots(kinds.byteOffset, rowCounts.byteOffset, slot, kinds.length) >>> 0;
      if (slot === cutShort) throw makeTruncatedFailure();
      if (slot < kinds.length) appendAttributeSlot(state, slot, streams, texts, appendAttribute);
    }
    texts.firstTexts[kinds.length] = state[SlotField.texts]!;
  };
}

/** The fields of `SlotDecoding`, where the kernels read and write them. */
export function openSlotState(
  { slotDecodingAt }: Pick<DecodingExports, "slotDecodingAt">,
  scratch: Uint8Array,
): Uint32Array {
  return new Uint32Array(scratch.buffer, scratch.byteOffset + slotDecodingAt.value, fieldCount);
}

/** Sets the streams that are read; all other fields become 0. */
export function writeStreams(
  state: Uint32Array,
  { data, lengths, longLengths, text }: SlotStreams<Shared>,
): void {
  state.fill(0);
  for (const [field, vector] of [
    [SlotField.data, data],
    [SlotField.lengths, lengths],
    [SlotField.longLengths, longLengths],
    [SlotField.text, text],
  ] as const) {
    state[field] = vector.byteOffset;
    state[field + 1] = vector.byteOffset + vector.byteLength;
  }
}

function writeState(state: Uint32Array, streams: SlotStreams<Shared>, texts: SlotTexts<Shared>): void {
  writeStreams(state, streams);
  state[SlotField.offsets] = texts.text.offsets.byteOffset;
  state[SlotField.textsMax] = texts.text.offsets.length - 1;
  state[SlotField.bytes] = texts.text.bytes.byteOffset;
  state[SlotField.bytesMax] = texts.text.bytes.byteLength;
  state[SlotField.firstTexts] = texts.firstTexts.byteOffset;
  state[SlotField.valuePlaces] = texts.valuePlaces.byteOffset;
  state[SlotField.codes] = texts.codes.byteOffset;
  state[SlotField.codesMax] = texts.codes.length;
}

/**
 * Reads the index of a slot's attribute among the group's keys, and calls `act` with it. `act` may use these kernels, which
 * write to the same fields. Throws Failure "damage" where the index is missing.
 */
export function takeAttribute(
  state: Uint32Array,
  { data }: SlotStreams<Shared>,
  act: (key: number) => void,
): void {
  const at = state[SlotField.data]! - data.byteOffset;
  if (at + 2 > data.byteLength) throw makeTruncatedFailure();
  const kept = state.slice();
  act(data[at]! | (data[at + 1]! << 8));
  state.set(kept);
  state[SlotField.data] = kept[SlotField.data]! + 2;
}

/** Reads the index of the attribute and appends its texts. Throws Failure "damage" where the index is missing. */
function appendAttributeSlot(
  state: Uint32Array,
  slot: number,
  streams: SlotStreams<Shared>,
  { text }: SlotTexts<Shared>,
  appendAttribute: AppendAttribute,
): void {
  const target = new TextTarget(text, state[SlotField.texts]!, state[SlotField.byteLength]!);
  takeAttribute(state, streams, (key) => appendAttribute(slot, key, target));
  state[SlotField.texts] = target.count;
  state[SlotField.byteLength] = target.byteLength;
}
