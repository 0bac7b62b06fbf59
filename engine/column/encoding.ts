/** Column encodings: from values to bytes, chosen by what the values are, and back. FORMAT.md lays out the bytes. */
import { Failure } from "../failure.ts";
import {
  bytesOf,
  float64Of,
  type Payload,
  readPayload,
  uint32Of,
  writePayload,
} from "../files/column-payload.ts";
import { integerWidthMax, splitByteStreams, splitIntegers } from "../kernels/byte-stream-split.ts";
import { type Heap, plainHeap, unfilledCodes } from "../kernels/heap.ts";
import { decodeMessages, type MessageColumn } from "../template/message-column.ts";
import { encodeMessages } from "../template/message-encoding.ts";
import { buildPlainTextFilter } from "../template/plain-text-filter.ts";
import { encodeSplit, isSplit, type SplitMessages, toTexts } from "../template/split-messages.ts";
import type { RepeatableAttribute } from "../template/variables/repeatable-attribute.ts";
import { SingleValues } from "../template/variables/single-values.ts";
import { StoredGroup } from "../template/variables/stored-group.ts";
import {
  decodeVariables,
  type ReadAttribute,
  type ReadAttributeTexts,
  type VariableGroup,
} from "../template/variables/variable-columns.ts";
import { type Bitmap, emptyBitmap, setBit } from "../vector/bitmap.ts";
import type { Codes } from "../vector/codes.ts";
import { gatherIds, type PackedIds } from "../vector/id-table.ts";
import { parseIntegerBytes, parseRoundTripBytes } from "../vector/number.ts";
import { decodeText, gatherText, type TextVector, textCount } from "../vector/text.ts";
import type { Column } from "./column.ts";
import { packHex } from "./packed-hex.ts";
import { decodeValues, encodeValues } from "./sample-values.ts";

/** Part of the format: these numbers are stored in every column's payload. */
const Encoding = {
  constant: 1,
  dictionary: 2,
  integer: 3,
  float: 4,
  hex: 5,
  text: 6,
  delta: 7,
  template: 8,
  variables: 9,
  samples: 10,
} as const;

/** The names are stored in chunk headers. */
export type EncodingName = keyof typeof Encoding;

/** The values of one attribute over the rows of a chunk. Every value occurs in some row. */
export interface AttributeVector {
  values: TextVector;
  /** The MurmurHash3 (`hashBytes`) of each value, where it is known already. */
  hashes?: Uint32Array;
  /** The values as bytes, where they are known to be lower-case hexadecimal digits of one width. */
  ids?: PackedIds;
  /** The values as numbers, where each text is known to be what JavaScript prints for its number. */
  numbers?: Float64Array;
  /** For each row the index of its value, or -1 where the row lacks the attribute. */
  codes: Int32Array;
}

export interface EncodedColumn {
  encoding: EncodingName;
  payload: Uint8Array;
}

/**
 * Encodes an attribute: constant where there is one value, dictionary where values repeat twice on average, else the
 * first of hexadecimal, integer and float that fits all values, else text. `present`: the number of rows that have a value.
 */
export function encodeAttribute(vector: AttributeVector, present: number): EncodedColumn {
  const valueCount = textCount(vector.values);
  if (valueCount > 1 && valueCount * 2 <= present) return encodeDictionary(vector);
  const validity = present < vector.codes.length ? [makeValidity(vector.codes)] : [];
  if (valueCount === 1) return encodeConstant(vector, validity);
  return encodeHex(vector, validity) ?? encodeNumber(vector, validity) ?? encodeSparseText(vector, validity);
}

/** Encodes a text for each row. */
export function encodeText(text: TextVector): EncodedColumn {
  const rows = text.offsets.length - 1;
  const buffers = [bytesOf(text.offsets), text.bytes];
  return makeColumn("text", { encoding: Encoding.text, width: 4, hasValidity: false, rows, buffers });
}

/**
 * Encodes the samples of some series. With `packed` (for disk), each series is encoded by the kind of its values;
 * otherwise all values are float64. `offsets`: the index of each series' first value, then the number of all values.
 */
export function encodeSamples(
  values: Float64Array,
  offsets: Uint32Array,
  { packed }: { packed: boolean },
): EncodedColumn {
  if (packed) return makeColumn("samples", { ...encodeValues(values, offsets), encoding: Encoding.samples });
  return makeColumn("float", makePayload(Encoding.float, 8, values.length, [], [bytesOf(values)]));
}

/** `offsets`: each series' first value in the chunk, then the end of the last one. Throws Failure "damage". */
export function decodeSamples(stored: Uint8Array, offsets: ArrayLike<number>, heap: Heap): Float64Array {
  const payload = readPayload(stored);
  if (payload.rows !== offsets[offsets.length - 1]! - offsets[0]!) {
    throw new Failure("damage", "values: not as many as the samples");
  }
  if (payload.encoding === Encoding.float) return float64Of(heap.retain(bufferAt(payload, 0)));
  if (payload.encoding !== Encoding.samples) throw new Failure("damage", "column: no values of samples");
  return decodeValues(payload, offsets, heap);
}

/** Encodes ids of `width` bytes that lie one after the other. */
export function encodeBytes(bytes: Uint8Array, width: number): EncodedColumn {
  return makeColumn("hex", makePayload(Encoding.hex, width, bytes.byteLength / width, [], [bytes]));
}

/** A group of variables, which is a column of its own. */
export interface EncodedVariableGroup extends EncodedColumn {
  /** Name of the group, stored as the column's key. */
  group: string;
  /** The group's n-gram filter, for groups that have one, followed by its token filter. */
  filter: Uint8Array;
}

/** Encodes messages as templates and variables where templates repeat, else as plain text (then without `filter`). */
export function encodeMessage(
  messages: TextVector | SplitMessages,
  attributes: readonly RepeatableAttribute[],
): { message: EncodedColumn; filter: Uint8Array | undefined; variables: EncodedVariableGroup[] } {
  const encoded = isSplit(messages)
    ? encodeSplit(messages, attributes)
    : encodeMessages(messages, attributes);
  if (encoded === undefined) {
    const text = isSplit(messages) ? toTexts(messages) : messages;
    return { message: encodeText(text), filter: buildPlainTextFilter(text), variables: [] };
  }
  return {
    message: makeColumn("template", { ...encoded.templates, encoding: Encoding.template }),
    filter: encoded.filter,
    variables: encoded.groups.map(({ name, payload, filter }) => ({
      ...makeColumn("variables", { ...payload, encoding: Encoding.variables }),
      group: name,
      filter,
    })),
  };
}

/** Clocks tick in seconds, milliseconds or microseconds; these are their ticks in nanoseconds. */
const timeUnits = [1e9, 1e6, 1e3];

/**
 * Encodes whole numbers below 2^53 that change little from row to row. Stores the difference between neighbours less
 * `step`, zigzag-encoded. Where all these differences are multiples of a unit of time, they are counted in that unit.
 */
export function encodeDelta(values: Float64Array, step: number): EncodedColumn {
  const deltas = new Float64Array(values.length);
  for (let row = 1; row < values.length; row++) deltas[row] = values[row]! - values[row - 1]! - step;
  const unit = timeUnits.find((each) => areMultiples(deltas, each)) ?? 1;
  for (let row = 1; row < values.length; row++) {
    const delta = deltas[row]! / unit;
    deltas[row] = delta >= 0 ? delta * 2 : -delta * 2 - 1;
  }
  const { width, bytes } = splitIntegers(deltas);
  const buffers = [bytesOf(Float64Array.of(values[0] ?? 0, step, unit)), bytes];
  return makeColumn("delta", makePayload(Encoding.delta, width, values.length, [], buffers));
}

/** Exact, because all values are whole and below 2^53. The remainder operator takes ten times as long with float64. */
function areMultiples(values: Float64Array, unit: number): boolean {
  for (let i = 0; i < values.length; i++)
    if (Math.floor(values[i]! / unit) * unit !== values[i]) return false;
  return true;
}

/** Throws Failure "damage" where the payload is of another encoding. */
export function decodeDelta(stored: Uint8Array, heap: Heap = plainHeap): Float64Array {
  const payload = readPayload(stored);
  if (payload.encoding !== Encoding.delta) throw new Failure("damage", "column: not a delta encoding");
  const [first, step, unit] = float64Of(bufferAt(payload, 0));
  if (unit === undefined) throw new Failure("damage", "column: differences without a unit");
  const values = float64Of(heap.unfilled(payload.rows * 8));
  heap.kernels.joinDeltas(streamsAt(payload, 1), payload.width, { first: first!, step: step!, unit }, values);
  return values;
}

/** The streams of the payload's numbers in one of its buffers. Throws Failure "damage" where they do not fit. */
function streamsAt(payload: Payload, buffer: number): Uint8Array {
  const streams = bufferAt(payload, buffer);
  if (payload.width > integerWidthMax || streams.byteLength !== payload.rows * payload.width)
    throw new Failure("damage", "column: numbers cut short");
  return streams;
}

/** Decodes any column except template-encoded messages, variables, times and samples. Throws Failure "damage". */
export function decodeColumn(stored: Uint8Array, heap: Heap = plainHeap): Column {
  const payload = readPayload(stored);
  const { rows } = payload;
  const valid: Bitmap | null = payload.hasValidity ? heap.retain(bufferAt(payload, 0)) : null;
  const first = payload.hasValidity ? 1 : 0;
  switch (payload.encoding) {
    case Encoding.constant: {
      const value = bufferAt(payload, first);
      return { kind: "constant", rows, value: decodeText(value, 0, value.byteLength), valid };
    }
    case Encoding.dictionary:
      return decodeDictionary(payload, heap);
    case Encoding.integer:
      return { kind: "number", rows, values: decodeInteger(payload, first, heap), valid };
    case Encoding.float:
      return { kind: "number", rows, values: float64Of(heap.retain(bufferAt(payload, first))), valid };
    case Encoding.hex:
      return { kind: "hex", rows, width: payload.width, bytes: heap.retain(bufferAt(payload, first)), valid };
    case Encoding.text: {
      const offsets = uint32Of(heap.retain(bufferAt(payload, first)));
      const bytes = heap.retain(bufferAt(payload, first + 1));
      return { kind: "text", rows, text: { offsets, bytes }, valid };
    }
    default:
      throw new Failure("damage", `column: unknown encoding ${payload.encoding}`);
  }
}

/** Decodes the message column: templates, whose variables are read later, or plain text. Throws Failure "damage". */
export function decodeMessage(stored: Uint8Array, heap: Heap): Column {
  const payload = readPayload(stored);
  if (payload.encoding !== Encoding.template) return decodeColumn(stored, heap);
  return { kind: "message", rows: payload.rows, messages: decodeMessages(payload, heap) };
}

/** Decodes one group of a message column's variables. Throws Failure "damage". */
export function decodeGroup(
  stored: Uint8Array,
  messages: MessageColumn,
  group: number,
  heap: Heap,
  readTexts: ReadAttributeTexts,
): VariableGroup {
  return decodeVariables(readVariables(stored), messages.slotsOfGroup(group), heap, readTexts);
}

/** Opens such a group for a few of its values. `stored` stays in use. Throws Failure "damage". */
export function openSingleValues(
  stored: Uint8Array,
  messages: MessageColumn,
  group: number,
  readAttribute: ReadAttribute,
): SingleValues {
  return new SingleValues(readVariables(stored), messages.slotsOfGroup(group), readAttribute);
}

/** Opens such a group to search its values. Throws Failure "damage". */
export function openStoredGroup(
  stored: Uint8Array,
  messages: MessageColumn,
  group: number,
  heap: Heap,
): StoredGroup {
  return new StoredGroup(readVariables(stored), messages.slotsOfGroup(group), heap);
}

function readVariables(stored: Uint8Array): Payload {
  const payload = readPayload(stored);
  if (payload.encoding !== Encoding.variables) throw new Failure("damage", "message: no variables");
  return payload;
}

function encodeConstant({ values, codes }: AttributeVector, validity: Bitmap[]): EncodedColumn {
  const buffers = [...validity, values.bytes];
  return makeColumn("constant", makePayload(Encoding.constant, 0, codes.length, validity, buffers));
}

function encodeDictionary({ values, codes }: AttributeVector): EncodedColumn {
  const stored = toStoredCodes(codes, textCount(values));
  const width = stored.BYTES_PER_ELEMENT;
  const buffers = [bytesOf(values.offsets), values.bytes, splitByteStreams(bytesOf(stored), width)];
  return makeColumn("dictionary", makePayload(Encoding.dictionary, width, codes.length, [], buffers));
}

function decodeDictionary(payload: Payload, heap: Heap): Column {
  const [offsets, texts] = [0, 1].map((i) => heap.retain(bufferAt(payload, i)));
  const values = { offsets: uint32Of(offsets!), bytes: texts! };
  const codes = unfilledCodes(heap, payload.width, payload.rows);
  heap.kernels.joinCodes(streamsAt(payload, 2), codes);
  return { kind: "dictionary", rows: payload.rows, values, valueCount: values.offsets.length - 1, codes };
}

/** Codes as narrow as the number of values allows. The code `valueCount` means that the row lacks the field. */
function toStoredCodes(codes: Int32Array, valueCount: number): Codes {
  const stored =
    valueCount < 0xff
      ? new Uint8Array(codes.length)
      : valueCount < 0xffff
        ? new Uint16Array(codes.length)
        : new Uint32Array(codes.length);
  // -1 becomes `valueCount`, other codes stay, without a branch.
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    stored[row] = code + ((code >> 31) & (valueCount + 1));
  }
  return stored;
}

/** Returns undefined where the values are not lower-case hexadecimal, all of the same even length. */
function encodeHex({ values, ids, codes }: AttributeVector, validity: Bitmap[]): EncodedColumn | undefined {
  const packed = ids ?? packHex(values);
  if (packed === undefined) return undefined;
  const { width, bytes } = areRowNumbers(codes) ? packed : gatherIds(packed, codes);
  return makeColumn("hex", makePayload(Encoding.hex, width, codes.length, validity, [...validity, bytes]));
}

/** Returns whether row i has value i, as in a column where no value repeats and no row lacks one. */
function areRowNumbers(codes: Int32Array): boolean {
  for (let row = 0; row < codes.length; row++) if (codes[row] !== row) return false;
  return true;
}

/** Returns undefined where some value is not written as JavaScript prints its number. */
function encodeNumber(
  { values, codes, ...known }: AttributeVector,
  validity: Bitmap[],
): EncodedColumn | undefined {
  const numbers = known.numbers ?? parseNumbers(values);
  if (numbers === undefined) return undefined;
  const rows = new Float64Array(codes.length);
  if (numbers.every(Number.isSafeInteger)) {
    const base = numbers.reduce((least, number) => Math.min(least, number), Number.MAX_SAFE_INTEGER);
    for (let row = 0; row < codes.length; row++)
      rows[row] = codes[row]! < 0 ? 0 : numbers[codes[row]!]! - base;
    // Differences from 2^53 on would be rounded; such columns are stored as floats.
    if (rows.every(Number.isSafeInteger)) {
      const { width, bytes } = splitIntegers(rows);
      const buffers = [...validity, bytesOf(Float64Array.of(base)), bytes];
      return makeColumn("integer", makePayload(Encoding.integer, width, codes.length, validity, buffers));
    }
  }
  for (let row = 0; row < codes.length; row++) rows[row] = codes[row]! < 0 ? 0 : numbers[codes[row]!]!;
  const buffers = [...validity, bytesOf(rows)];
  return makeColumn("float", makePayload(Encoding.float, 8, codes.length, validity, buffers));
}

/** Parses the values as numbers; undefined where one is not written as JavaScript prints its number. */
function parseNumbers(values: TextVector): Float64Array | undefined {
  const { offsets, bytes } = values;
  const numbers = new Float64Array(textCount(values));
  for (let code = 0; code < numbers.length; code++) {
    const number =
      parseIntegerBytes(bytes, offsets[code]!, offsets[code + 1]!) ??
      parseRoundTripBytes(bytes, offsets[code]!, offsets[code + 1]!);
    if (number === undefined) return undefined;
    numbers[code] = number;
  }
  return numbers;
}

function decodeInteger(payload: Payload, first: number, heap: Heap): Float64Array {
  const base = float64Of(bufferAt(payload, first))[0]!;
  const values = float64Of(heap.unfilled(payload.rows * 8));
  heap.kernels.joinIntegers(streamsAt(payload, first + 1), payload.width, base, values);
  return values;
}

function encodeSparseText({ values, codes }: AttributeVector, validity: Bitmap[]): EncodedColumn {
  const text = gatherText(values, codes);
  const buffers = [...validity, bytesOf(text.offsets), text.bytes];
  return makeColumn("text", makePayload(Encoding.text, 4, codes.length, validity, buffers));
}

/** The rows that have a value. */
function makeValidity(codes: Int32Array): Bitmap {
  const valid = emptyBitmap(codes.length);
  for (let row = 0; row < codes.length; row++) if (codes[row]! >= 0) setBit(valid, row);
  return valid;
}

function makeColumn(encoding: EncodingName, payload: Payload): EncodedColumn {
  return { encoding, payload: writePayload(payload) };
}

function makePayload(
  encoding: number,
  width: number,
  rows: number,
  validity: Bitmap[],
  buffers: Uint8Array[],
): Payload {
  return { encoding, width, hasValidity: validity.length > 0, rows, buffers };
}

function bufferAt(payload: Payload, index: number): Uint8Array {
  const buffer = payload.buffers[index];
  if (buffer === undefined) throw new Failure("damage", `column: buffer ${index} is missing`);
  return buffer;
}
