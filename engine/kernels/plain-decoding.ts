/** The decoding kernels in plain TypeScript, over vectors in any memory: the reference implementation. */
import { integerWidthMax } from "./byte-stream-split.ts";
import {
  type DecodingKernels,
  longLength,
  makeTruncatedFailure,
  SlotKind,
  type SlotStreams,
  sharedText,
  TextTarget,
  textPerRow,
} from "./decoding.ts";

type Any = ArrayBufferLike;

/** The byte that stands for a variable in a template. */
const slotByte = 0xff;

export const plainDecodingKernels: DecodingKernels<Any> = {
  joinIntegers(streams, width, base, values) {
    values.fill(base);
    addSplitIntegers(streams, width, values);
  },

  joinDeltas(streams, width, { first, step, unit }, values) {
    values.fill(0);
    addSplitIntegers(streams, width, values);
    let value = first - step;
    for (let row = 0; row < values.length; row++) {
      const delta = values[row]!;
      // A non-negative difference has an even code. The remainder operator takes ten times as long with float64.
      const half = Math.floor(delta * 0.5);
      value += step + (half * 2 === delta ? half : -half - 1) * unit;
      values[row] = value;
    }
  },

  joinCodes(streams, codes) {
    const rows = codes.length;
    for (let row = 0; row < rows; row++) {
      let code = 0;
      for (let stream = codes.BYTES_PER_ELEMENT - 1; stream >= 0; stream--)
        code = code * 256 + streams[stream * rows + row]!;
      codes[row] = code;
    }
  },

  countTemplateRows(codes, starts) {
    const templates = starts.length - 1;
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      if (code >= templates) return false;
      starts[code + 1] = starts[code + 1]! + 1;
    }
    for (let code = 0; code < templates; code++) starts[code + 1] = starts[code + 1]! + starts[code]!;
    return true;
  },

  orderRows(codes, starts, ordered, ranks) {
    const next = starts.slice();
    for (let row = 0; row < codes.length; row++) {
      const code = codes[row]!;
      const place = next[code]!;
      next[code] = place + 1;
      ordered[place] = row;
      ranks[row] = place - starts[code]!;
    }
  },

  findSlots({ bytes, offsets }, firstSlots, places) {
    const templates = offsets.length - 1;
    let slot = 0;
    for (let template = 0, at = 0; template < templates; template++) {
      firstSlots[template] = slot;
      for (; at < offsets[template + 1]!; at++) {
        if (bytes[at] !== slotByte) continue;
        if (slot < places.length) places[slot] = at;
        slot++;
      }
    }
    firstSlots[templates] = slot;
    return slot;
  },

  listGroupSlots(classes, groupOfClasses, starts, indexes, slots) {
    for (const [slot, combination] of classes.entries()) {
      const group = groupOfClasses[combination]!;
      indexes[slot] = starts[group + 1]!;
      starts[group + 1] = indexes[slot]! + 1;
    }
    for (let group = 0; group + 1 < starts.length; group++)
      starts[group + 1] = starts[group + 1]! + starts[group]!;
    for (const [slot, combination] of classes.entries())
      slots[starts[groupOfClasses[combination]!]! + indexes[slot]!] = slot;
  },

  decodeSlots(streams, { kinds, rowCounts }, { text, firstTexts, valuePlaces, codes }, appendAttribute) {
    const source = new SlotSource(streams);
    const target = new TextTarget(text);
    let codesEnd = 0;
    for (const [slot, kind] of kinds.entries()) {
      firstTexts[slot] = target.count;
      valuePlaces[slot] = textPerRow;
      const rows = rowCounts[slot]!;
      if (kind === SlotKind.constant) valuePlaces[slot] = sharedText;
      if (kind === SlotKind.dictionary) {
        const distinct = source.readByte() + 1;
        const slotCodes = source.readBytes(rows);
        if (codesEnd + rows > codes.length || slotCodes.some((code) => code >= distinct))
          throw makeTruncatedFailure();
        codes.set(slotCodes, codesEnd);
        valuePlaces[slot] = codesEnd;
        codesEnd += rows;
        source.copyTexts(distinct, target);
      } else if (kind === SlotKind.attribute) {
        appendAttribute(slot, source.readByte() | (source.readByte() << 8), target);
      } else if (kind === SlotKind.repeated) {
        valuePlaces[slot] = source.readByte() | (source.readByte() << 8);
      } else decodeTexts(kind, source, rows, target);
    }
    firstTexts[kinds.length] = target.count;
  },
};

function decodeTexts(kind: number, source: SlotSource, rows: number, target: TextTarget): void {
  if (kind === SlotKind.constant) source.copyTexts(1, target);
  else if (kind === SlotKind.text) source.copyTexts(rows, target);
  else if (kind === SlotKind.digits) decodeDigits(source, rows, target);
  else if (kind === SlotKind.integer) decodeInteger(source, rows, target);
  else if (kind === SlotKind.hex) decodeHex(source, rows, target);
  else throw makeTruncatedFailure();
}

/** Adds to each value the number that `width` streams hold for it. */
function addSplitIntegers(bytes: Uint8Array, width: number, values: Float64Array): void {
  const count = values.length;
  let factor = 1;
  for (let stream = 0; stream < width; stream++, factor *= 256) {
    const from = stream * count;
    for (let row = 0; row < count; row++) values[row] = values[row]! + bytes[from + row]! * factor;
  }
}

/** Reads the streams that slots were written to, in the same order. Throws `makeTruncatedFailure` at their ends. */
export class SlotSource {
  readonly #streams: SlotStreams<Any>;
  #at = 0;
  #textCount = 0;
  #longAt = 0;
  #textAt = 0;

  constructor(streams: SlotStreams<Any>) {
    this.#streams = streams;
  }

  /** How many bytes of data were read. */
  get dataAt(): number {
    return this.#at;
  }

  readByte(): number {
    const byte = this.#streams.data[this.#at++];
    if (byte === undefined) throw makeTruncatedFailure();
    return byte;
  }

  readBytes(byteLength: number): Uint8Array {
    const from = this.#at;
    this.#at += byteLength;
    if (this.#at > this.#streams.data.byteLength) throw makeTruncatedFailure();
    return this.#streams.data.subarray(from, this.#at);
  }

  /** Reads `count` numbers: their base, their width, and their streams. */
  readNumbers(count: number): Float64Array {
    const head = this.readBytes(8);
    const base = new DataView(head.buffer, head.byteOffset, 8).getFloat64(0, true);
    const width = this.readByte();
    if (width > integerWidthMax) throw makeTruncatedFailure();
    const values = new Float64Array(count).fill(base);
    addSplitIntegers(this.readBytes(width * count), width, values);
    return values;
  }

  /** Appends the next `count` texts to `target`. */
  copyTexts(count: number, target: TextTarget): void {
    const { text } = this.#streams;
    const from = this.#textAt;
    for (let i = 0; i < count; i++) {
      this.#textAt += this.#readLength();
      target.endText(target.byteLength + this.#textAt - from);
    }
    if (this.#textAt > text.byteLength) throw makeTruncatedFailure();
    target.append(text.subarray(from, this.#textAt));
  }

  /** Calls back with the next `count` texts. */
  forEachText(count: number, onText: (text: Uint8Array) => void): void {
    const { text } = this.#streams;
    for (let i = 0; i < count; i++) {
      const from = this.#textAt;
      this.#textAt += this.#readLength();
      if (this.#textAt > text.byteLength) throw makeTruncatedFailure();
      onText(text.subarray(from, this.#textAt));
    }
  }

  /** The length of the next text. */
  #readLength(): number {
    const { lengths, longLengths } = this.#streams;
    let length = lengths[this.#textCount++];
    if (length === longLength) length = longLengths[this.#longAt++];
    if (length === undefined) throw makeTruncatedFailure();
    return length;
  }
}

/** Fills the digits of each number into the shape, from the right. */
function decodeDigits(source: SlotSource, count: number, target: TextTarget): void {
  const length = source.readByte();
  const shape = source.readBytes(length);
  const values = source.readNumbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    const from = target.byteLength;
    target.endText(from + length);
    writeShaped(values[row]!, shape, bytes, from);
    target.byteLength = from + length;
  }
}

/** Writes a shape at `from`, and in the place of its zeros the last digits of a number. */
export function writeShaped(number: number, shape: Uint8Array, bytes: Uint8Array, from: number): void {
  let left = number;
  for (let i = shape.length - 1; i >= 0; i--) {
    if (shape[i] !== 48) {
      bytes[from + i] = shape[i]!;
      continue;
    }
    const quotient = Math.floor(left / 10);
    bytes[from + i] = 48 + left - quotient * 10;
    left = quotient;
  }
}

function decodeInteger(source: SlotSource, count: number, target: TextTarget): void {
  source.readByte();
  const values = source.readNumbers(count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) {
    const number = values[row]!;
    const end = target.byteLength + countDigits(number);
    target.endText(end);
    writeDigits(number, bytes, target.byteLength, end);
    target.byteLength = end;
  }
}

/** Fills bytes[from, to) with the last digits of a number. */
export function writeDigits(number: number, bytes: Uint8Array, from: number, to: number): void {
  let left = number;
  for (let at = to - 1; at >= from; at--) {
    const quotient = Math.floor(left / 10);
    bytes[at] = 48 + left - quotient * 10;
    left = quotient;
  }
}

/** Damaged numbers may be as large as infinity; no text has more than 19 digits. */
export function countDigits(number: number): number {
  let digits = 1;
  for (let bound = 10; number >= bound && digits < 19; bound *= 10) digits++;
  return digits;
}

/** The lower-case hexadecimal digits as ASCII. */
export const hexDigits = Uint8Array.from({ length: 16 }, (_, value) =>
  value < 10 ? 48 + value : 87 + value,
);

function decodeHex(source: SlotSource, count: number, target: TextTarget): void {
  const width = source.readByte();
  const data = source.readBytes(width * count);
  const { bytes } = target;
  for (let row = 0; row < count; row++) target.endText(target.byteLength + (row + 1) * width * 2);
  for (const byte of data) {
    bytes[target.byteLength++] = hexDigits[byte >> 4]!;
    bytes[target.byteLength++] = hexDigits[byte & 15]!;
  }
}
