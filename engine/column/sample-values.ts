/** The values of series as bytes, and back bit for bit. FORMAT.md lays out the buffers. */
import { Failure } from "../failure.ts";
import { bytesOf, float64Of, type Payload, uint32Of } from "../files/column-payload.ts";
import { splitByteStreams } from "../kernels/byte-stream-split.ts";
import type { Heap } from "../kernels/heap.ts";
import { toBitWords } from "../vector/float-bits.ts";
import { describeSeries, ValueKind } from "./sample-value-kind.ts";

/** Maximum number of bytes that a whole number takes: 2^53 needs seven. */
const integerBytesMax = 7;
const two32 = 2 ** 32;

/** The buffers of the payload as they are collected, series after series. */
interface EncodedStreams {
  kinds: Uint8Array;
  widths: Uint8Array;
  numbers: number[];
  words: number[];
  raw: Float64Array[];
  dictionaries: Float64Array[];
  integerStreams: Uint8Array[][];
}

/**
 * Encodes the values of some series. `offsets` has the index of each series' first value, and the number of all values.
 */
export function encodeValues(values: Float64Array, offsets: Uint32Array): Omit<Payload, "encoding"> {
  const series = offsets.length - 1;
  const streams: EncodedStreams = {
    kinds: new Uint8Array(series),
    widths: new Uint8Array(series),
    numbers: [],
    words: [],
    raw: [],
    dictionaries: [],
    integerStreams: Array.from({ length: integerBytesMax }, () => []),
  };
  for (const [i, encoding] of describeSeries(values, offsets).entries()) {
    const { kind, numbers, words, integers, dictionary } = encoding;
    streams.kinds[i] = kind;
    streams.numbers.push(...numbers);
    streams.words.push(...words);
    if (kind === ValueKind.raw) streams.raw.push(values.subarray(offsets[i]!, offsets[i + 1]!));
    if (dictionary !== undefined) streams.dictionaries.push(dictionary);
    if (integers !== undefined) streams.widths[i] = appendIntegers(streams.integerStreams, integers);
  }
  const buffers = [
    streams.kinds,
    streams.widths,
    bytesOf(Float64Array.from(streams.numbers)),
    bytesOf(Uint32Array.from(streams.words)),
    splitValues(streams.raw),
    splitValues(streams.dictionaries),
    ...streams.integerStreams.map((stream) => Buffer.concat(stream)),
  ];
  return { width: 8, hasValidity: false, rows: values.length, buffers };
}

/**
 * Splits whole numbers into as few byte streams as the greatest needs, and returns how many. Each stream goes after
 * those of the same byte of earlier series, so that similar bytes lie together.
 */
function appendIntegers(streams: Uint8Array[][], integers: Float64Array): number {
  const greatest = integers.reduce((most, integer) => (integer > most ? integer : most), 0);
  let width = 0;
  for (let bound = 1; bound <= greatest; bound *= 256) {
    const stream = new Uint8Array(integers.length);
    for (let i = 0; i < stream.length; i++) stream[i] = Math.floor(integers[i]! / bound);
    streams[width++]!.push(stream);
  }
  return width;
}

/** Float64 values in eight byte streams over all of them. */
function splitValues(parts: readonly Float64Array[]): Uint8Array {
  const bytes = Buffer.concat(parts.map(bytesOf));
  return splitByteStreams(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength), 8);
}

/** The values of all series of a block. Throws Failure "damage". */
export function decodeValues(payload: Payload, offsets: ArrayLike<number>, heap: Heap): Float64Array {
  const values = heap.float64(payload.rows);
  const reader = new SeriesReader(payload, values);
  const first = offsets[0]!;
  for (let series = 0; series + 1 < offsets.length; series++) {
    reader.read(series, offsets[series]! - first, offsets[series + 1]! - first);
  }
  return values;
}

/** Decodes the series of a block in their order, each into its range of the values. */
class SeriesReader {
  readonly #values: Float64Array;
  readonly #words: Uint32Array;
  readonly #kinds: Uint8Array;
  readonly #widths: Uint8Array;
  readonly #numbers: Float64Array;
  readonly #parameters: Uint32Array;
  readonly #raw: Uint8Array;
  readonly #dictionaries: Uint8Array;
  readonly #integerStreams: Uint8Array[];
  /** Index of each series' first value, for series that refer to an earlier one. */
  readonly #firstSamples: number[] = [];
  /** How much of each integer stream has been read. */
  readonly #streamAt = new Uint32Array(integerBytesMax);
  #numberAt = 0;
  #wordAt = 0;
  #rawAt = 0;
  #dictionaryAt = 0;

  constructor({ buffers }: Payload, values: Float64Array) {
    if (buffers.length !== 6 + integerBytesMax) throw new Failure("damage", "values: buffers are missing");
    this.#values = values;
    this.#words = toBitWords(values);
    this.#kinds = buffers[0]!;
    this.#widths = buffers[1]!;
    this.#numbers = float64Of(buffers[2]!);
    this.#parameters = uint32Of(buffers[3]!);
    this.#raw = buffers[4]!;
    this.#dictionaries = buffers[5]!;
    this.#integerStreams = buffers.slice(6);
  }

  read(series: number, from: number, to: number): void {
    this.#firstSamples[series] = from;
    switch (this.#kinds[series]) {
      case ValueKind.constant:
        this.#readConstant(from, to);
        break;
      case ValueKind.offset:
        this.#readOffsets(series, from, to);
        break;
      case ValueKind.difference:
        this.#readDifferences(series, from, to);
        break;
      case ValueKind.dictionary:
        this.#readDictionary(series, from, to);
        break;
      case ValueKind.raw:
        this.#readSplitValues(this.#raw, this.#rawAt, to - from, this.#values, from);
        this.#rawAt += to - from;
        break;
      case ValueKind.likeness:
        this.#readLikeness(series, from, to);
        break;
      default:
        throw new Failure("damage", `values: unknown kind ${this.#kinds[series]}`);
    }
  }

  #readConstant(from: number, to: number): void {
    const low = this.#nextWord();
    const high = this.#nextWord();
    const words = this.#words;
    for (let i = from; i < to; i++) {
      words[i * 2] = low;
      words[i * 2 + 1] = high;
    }
  }

  #readOffsets(series: number, from: number, to: number): void {
    const divisor = this.#nextNumber();
    const least = this.#nextNumber();
    const values = this.#values;
    this.#readIntegers(series, from, to);
    if (divisor === 1) for (let i = from; i < to; i++) values[i] = least + values[i]!;
    else for (let i = from; i < to; i++) values[i] = (least + values[i]!) / divisor;
  }

  #readDifferences(series: number, from: number, to: number): void {
    const divisor = this.#nextNumber();
    let integer = this.#nextNumber();
    const values = this.#values;
    this.#readIntegers(series, from, to);
    for (let i = from; i < to; i++) {
      integer += unzigzag(values[i]!);
      values[i] = integer / divisor;
    }
  }

  #readDictionary(series: number, from: number, to: number): void {
    const size = this.#nextWord();
    const dictionary = new Float64Array(size);
    this.#readSplitValues(this.#dictionaries, this.#dictionaryAt, size, dictionary, 0);
    this.#dictionaryAt += size;
    this.#readIntegers(series, from, to);
    const bits = toBitWords(dictionary);
    const words = this.#words;
    const values = this.#values;
    for (let i = from; i < to; i++) {
      const code = values[i]!;
      if (code >= size) throw new Failure("damage", "values: a code without a value");
      words[i * 2] = bits[code * 2]!;
      words[i * 2 + 1] = bits[code * 2 + 1]!;
    }
  }

  #readLikeness(series: number, from: number, to: number): void {
    const factor = this.#nextNumber();
    const reference = this.#firstSamples[series - this.#nextWord()];
    if (reference === undefined) throw new Failure("damage", "values: like a series that is not there");
    const values = this.#values;
    const words = this.#words;
    this.#readIntegers(series, from, to);
    for (let i = from, j = reference; i < to; i++, j++) {
      const ulps = unzigzag(values[i]!);
      values[i] = values[j]! * factor;
      if (ulps !== 0) addUlps(words, i * 2, ulps);
    }
  }

  /** Reads the whole numbers of a series into the places of its values. */
  #readIntegers(series: number, from: number, to: number): void {
    const values = this.#values;
    values.fill(0, from, to);
    const width = this.#widths[series]!;
    for (let byteIndex = 0, factor = 1; byteIndex < width; byteIndex++, factor *= 256) {
      const bytes = this.#integerStreams[byteIndex]!;
      const at = this.#streamAt[byteIndex]!;
      if (at + to - from > bytes.byteLength) throw new Failure("damage", "values: numbers cut short");
      for (let i = from, j = at; i < to; i++, j++) values[i] = values[i]! + bytes[j]! * factor;
      this.#streamAt[byteIndex] = at + to - from;
    }
  }

  /** Reads float64 values from eight byte streams. */
  #readSplitValues(streams: Uint8Array, at: number, count: number, target: Float64Array, from: number): void {
    const streamLength = streams.byteLength / 8;
    if (at + count > streamLength) throw new Failure("damage", "values: cut short");
    const words = toBitWords(target);
    for (let half = 0; half < 2; half++) {
      const [a, b, c, d] = [0, 1, 2, 3].map((byteIndex) => (half * 4 + byteIndex) * streamLength + at) as [
        number,
        number,
        number,
        number,
      ];
      for (let i = 0, to = from * 2 + half; i < count; i++, to += 2) {
        words[to] =
          streams[a + i]! | (streams[b + i]! << 8) | (streams[c + i]! << 16) | (streams[d + i]! << 24);
      }
    }
  }

  #nextNumber(): number {
    return this.#numbers[this.#numberAt++]!;
  }

  #nextWord(): number {
    return this.#parameters[this.#wordAt++]!;
  }
}

/** Adds `ulps` to the bits of the value at word `at`. This moves the value by `ulps` adjacent float64 numbers. */
function addUlps(words: Uint32Array, at: number, ulps: number): void {
  const low = words[at]! + ulps;
  const carry = Math.floor(low / two32);
  words[at] = low - carry * two32;
  words[at + 1] = words[at + 1]! + carry;
}

function unzigzag(zigzagged: number): number {
  // Is the number even? The remainder operator takes ten times as long with float64.
  const half = Math.floor(zigzagged * 0.5);
  return half * 2 === zigzagged ? half : -half - 1;
}
