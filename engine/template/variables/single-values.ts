/**
 * Single values of a group of variables, read from the streams in which they are stored. A list of a hundred rows needs some
 * hundred values of a group. To decode the group would be to make texts of all its values, often hundreds of thousands.
 */
import { type Payload, uint32Of } from "../../files/column-payload.ts";
import { integerWidthMax } from "../../kernels/byte-stream-split.ts";
import { longLength, makeTruncatedFailure, SlotKind, type SlotStreams } from "../../kernels/decoding.ts";
import { countDigits, hexDigits, writeDigits, writeShaped } from "../../kernels/plain-decoding.ts";
import { type GroupSlots, openVariables, type ReadAttribute } from "./variable-columns.ts";

/** Where the values of each slot begin. */
interface SlotStarts {
  data: Uint32Array;
  /** Index of its first text, in the stream of lengths. */
  texts: Uint32Array;
  longLengths: Uint32Array;
  textBytes: Uint32Array;
}

/** Bytes of the base and the width of a slot's numbers, before their streams. */
const numberHeadBytes = 9;

export class SingleValues {
  readonly #streams: SlotStreams<ArrayBufferLike>;
  readonly #data: DataView;
  readonly #slots: GroupSlots;
  readonly #starts: SlotStarts;
  readonly #keys: readonly string[];
  readonly #readAttribute: ReadAttribute;
  /** By the index of their key. */
  readonly #attributes: ReturnType<ReadAttribute>[] = [];
  /** Holds the value that was read last, where it is not stored as text. */
  readonly #value = new Uint8Array(2 * longLength);

  /** `payload` stays in use. Throws Failure "damage" where it does not fit its slots. */
  constructor(payload: Payload, slots: GroupSlots, readAttribute: ReadAttribute) {
    const { streams, keys } = openVariables(payload, slots);
    this.#streams = { ...streams, longLengths: uint32Of(streams.longLengths) };
    this.#data = new DataView(streams.data.buffer, streams.data.byteOffset, streams.data.byteLength);
    this.#slots = slots;
    this.#keys = keys;
    this.#readAttribute = readAttribute;
    this.#starts = this.#findStarts();
  }

  /**
   * The value of a row, valid until the next call. `slot`: index among the group's slots; `rank`: index of the row among
   * those of the slot's template. Throws Failure "damage".
   */
  read(slot: number, rank: number, row: number): Uint8Array {
    const { data } = this.#streams;
    const at = this.#starts.data[slot]!;
    switch (this.#slots.kinds[slot]) {
      case SlotKind.constant:
        return this.#text(slot, 0);
      case SlotKind.text:
        return this.#text(slot, rank);
      case SlotKind.dictionary: {
        const code = data[at + 1 + rank]!;
        if (code > data[at]!) throw makeTruncatedFailure();
        return this.#text(slot, code);
      }
      case SlotKind.digits: {
        const length = data[at]!;
        const shape = data.subarray(at + 1, at + 1 + length);
        writeShaped(this.#number(slot, at + 1 + length, rank), shape, this.#value, 0);
        return this.#value.subarray(0, length);
      }
      case SlotKind.integer: {
        const number = this.#number(slot, at + 1, rank);
        const length = countDigits(number);
        writeDigits(number, this.#value, 0, length);
        return this.#value.subarray(0, length);
      }
      case SlotKind.hex:
        return this.#hex(at, rank);
      default:
        return this.#attribute(this.#data.getUint16(at, true))(row);
    }
  }

  /** Throws where a slot's values pass the end of a stream. */
  #findStarts(): SlotStarts {
    const { kinds, rowCounts } = this.#slots;
    const { data, lengths, longLengths, text } = this.#streams;
    const list = () => new Uint32Array(kinds.length);
    const starts = { data: list(), texts: list(), longLengths: list(), textBytes: list() };
    const at = { data: 0, texts: 0, longLengths: 0, textBytes: 0 };
    for (let slot = 0; slot < kinds.length; slot++) {
      starts.data[slot] = at.data;
      starts.texts[slot] = at.texts;
      starts.longLengths[slot] = at.longLengths;
      starts.textBytes[slot] = at.textBytes;
      const { dataBytes, texts } = this.#measure(kinds[slot]!, at.data, rowCounts[slot]!);
      at.data += dataBytes;
      for (const end = at.texts + texts; at.texts < end; at.texts++) {
        const length = lengths[at.texts];
        at.textBytes += length === longLength ? longLengths[at.longLengths++]! : length!;
      }
    }
    const isWithin = at.data <= data.length && at.texts <= lengths.length && at.textBytes <= text.length;
    if (!isWithin) throw makeTruncatedFailure();
    return starts;
  }

  /** How many bytes of data and how many texts a slot has, whose data begins at `at`. */
  #measure(kind: number, at: number, rows: number): { dataBytes: number; texts: number } {
    const { data } = this.#streams;
    switch (kind) {
      case SlotKind.constant:
        return { dataBytes: 0, texts: 1 };
      case SlotKind.text:
        return { dataBytes: 0, texts: rows };
      case SlotKind.dictionary:
        return { dataBytes: 1 + rows, texts: data[at]! + 1 };
      case SlotKind.digits:
        return { dataBytes: 1 + data[at]! + this.#numberBytes(at + 1 + data[at]!, rows), texts: 0 };
      case SlotKind.integer:
        return { dataBytes: 1 + this.#numberBytes(at + 1, rows), texts: 0 };
      case SlotKind.hex:
        return { dataBytes: 1 + data[at]! * rows, texts: 0 };
      case SlotKind.attribute:
      case SlotKind.repeated:
        return { dataBytes: 2, texts: 0 };
      default:
        throw makeTruncatedFailure();
    }
  }

  #numberBytes(at: number, rows: number): number {
    const width = this.#streams.data[at + numberHeadBytes - 1];
    if (width === undefined || width > integerWidthMax) throw makeTruncatedFailure();
    return numberHeadBytes + width * rows;
  }

  #number(slot: number, at: number, rank: number): number {
    const rows = this.#slots.rowCounts[slot]!;
    const { data } = this.#streams;
    let number = this.#data.getFloat64(at, true);
    let factor = 1;
    for (let stream = 0; stream < data[at + numberHeadBytes - 1]!; stream++, factor *= 256)
      number += data[at + numberHeadBytes + stream * rows + rank]! * factor;
    return number;
  }

  #hex(at: number, rank: number): Uint8Array {
    const { data } = this.#streams;
    const width = data[at]!;
    const from = at + 1 + rank * width;
    for (let i = 0; i < width; i++) {
      const byte = data[from + i]!;
      this.#value[2 * i] = hexDigits[byte >> 4]!;
      this.#value[2 * i + 1] = hexDigits[byte & 15]!;
    }
    return this.#value.subarray(0, 2 * width);
  }

  /** The `index`-th text of a slot. */
  #text(slot: number, index: number): Uint8Array {
    const { lengths, longLengths, text } = this.#streams;
    const first = this.#starts.texts[slot]!;
    let long = this.#starts.longLengths[slot]!;
    let from = this.#starts.textBytes[slot]!;
    for (let i = first; ; i++) {
      const length = lengths[i] === longLength ? longLengths[long++]! : lengths[i]!;
      if (i === first + index) return text.subarray(from, from + length);
      from += length;
    }
  }

  #attribute(key: number): ReturnType<ReadAttribute> {
    this.#attributes[key] ??= this.#readAttribute(this.#keys[key] ?? "");
    return this.#attributes[key];
  }
}
