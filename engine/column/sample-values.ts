/** How the values of some series become bytes, and back bit for bit. FORMAT.md draws it. */
import { Failure } from "../failure.ts";
import { bytesOf, float64Of, type Payload, uint32Of } from "../files/payload.ts";
import { splitByteStreams } from "../kernels/byte-stream-split.ts";
import type { Heap } from "../kernels/heap.ts";
import { toWords } from "../vector/float-words.ts";
import { describeValues, ValueKind } from "./sample-value-kind.ts";

/** Bytes of a whole number; 2^53 needs seven. */
const planesMax = 7;
const two32 = 2 ** 32;

interface Gathered {
  kinds: Uint8Array;
  widths: Uint8Array;
  numbers: number[];
  words: number[];
  raw: Float64Array[];
  dictionaries: Float64Array[];
  planes: Uint8Array[][];
}

/** `offsets`: of each series the first value, and the number of all. */
export function encodeValues(values: Float64Array, offsets: Uint32Array): Omit<Payload, "encoding"> {
  const series = offsets.length - 1;
  const gathered: Gathered = {
    kinds: new Uint8Array(series),
    widths: new Uint8Array(series),
    numbers: [],
    words: [],
    raw: [],
    dictionaries: [],
    planes: Array.from({ length: planesMax }, () => []),
  };
  for (const [i, described] of describeValues(values, offsets).entries()) {
    const { kind, numbers, words, wholes, dictionary } = described;
    gathered.kinds[i] = kind;
    gathered.numbers.push(...numbers);
    gathered.words.push(...words);
    if (kind === ValueKind.raw) gathered.raw.push(values.subarray(offsets[i]!, offsets[i + 1]!));
    if (dictionary !== undefined) gathered.dictionaries.push(dictionary);
    if (wholes !== undefined) gathered.widths[i] = addPlanes(gathered.planes, wholes);
  }
  const buffers = [
    gathered.kinds,
    gathered.widths,
    bytesOf(Float64Array.from(gathered.numbers)),
    bytesOf(Uint32Array.from(gathered.words)),
    valuePlanes(gathered.raw),
    valuePlanes(gathered.dictionaries),
    ...gathered.planes.map((plane) => Buffer.concat(plane)),
  ];
  return { width: 8, hasValidity: false, rows: values.length, buffers };
}

/** As many planes as the greatest needs; each goes to those of other series, so that alike bytes lie together. */
function addPlanes(planes: Uint8Array[][], wholes: Float64Array): number {
  const greatest = wholes.reduce((most, whole) => (whole > most ? whole : most), 0);
  let width = 0;
  for (let bound = 1; bound <= greatest; bound *= 256) {
    const plane = new Uint8Array(wholes.length);
    for (let i = 0; i < plane.length; i++) plane[i] = Math.floor(wholes[i]! / bound);
    planes[width++]!.push(plane);
  }
  return width;
}

function valuePlanes(parts: readonly Float64Array[]): Uint8Array {
  const bytes = Buffer.concat(parts.map(bytesOf));
  return splitByteStreams(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength), 8);
}

/** The values of all series of a block. Throws Failure "damage". */
export function decodeValues(payload: Payload, offsets: ArrayLike<number>, heap: Heap): Float64Array {
  const values = heap.float64(payload.rows);
  const reader = new ValueReader(payload, values);
  const first = offsets[0]!;
  for (let series = 0; series + 1 < offsets.length; series++) {
    reader.read(series, offsets[series]! - first, offsets[series + 1]! - first);
  }
  return values;
}

/** Reads the series of a block in their order. */
class ValueReader {
  readonly #values: Float64Array;
  readonly #words: Uint32Array;
  readonly #kinds: Uint8Array;
  readonly #widths: Uint8Array;
  readonly #numbers: Float64Array;
  readonly #parameters: Uint32Array;
  readonly #raw: Uint8Array;
  readonly #dictionaries: Uint8Array;
  readonly #planes: Uint8Array[];
  readonly #firsts: number[] = [];
  readonly #planeAt = new Uint32Array(planesMax);
  #numberAt = 0;
  #wordAt = 0;
  #rawAt = 0;
  #dictionaryAt = 0;

  constructor({ buffers }: Payload, values: Float64Array) {
    if (buffers.length !== 6 + planesMax) throw new Failure("damage", "values: buffers are missing");
    this.#values = values;
    this.#words = toWords(values);
    this.#kinds = buffers[0]!;
    this.#widths = buffers[1]!;
    this.#numbers = float64Of(buffers[2]!);
    this.#parameters = uint32Of(buffers[3]!);
    this.#raw = buffers[4]!;
    this.#dictionaries = buffers[5]!;
    this.#planes = buffers.slice(6);
  }

  read(series: number, from: number, to: number): void {
    this.#firsts[series] = from;
    switch (this.#kinds[series]) {
      case ValueKind.constant:
        this.#constant(from, to);
        break;
      case ValueKind.offset:
        this.#offsets(series, from, to);
        break;
      case ValueKind.difference:
        this.#differences(series, from, to);
        break;
      case ValueKind.dictionary:
        this.#dictionary(series, from, to);
        break;
      case ValueKind.raw:
        this.#join(this.#raw, this.#rawAt, to - from, this.#values, from);
        this.#rawAt += to - from;
        break;
      case ValueKind.likeness:
        this.#likeness(series, from, to);
        break;
      default:
        throw new Failure("damage", `values: unknown kind ${this.#kinds[series]}`);
    }
  }

  #constant(from: number, to: number): void {
    const low = this.#word();
    const high = this.#word();
    const words = this.#words;
    for (let i = from; i < to; i++) {
      words[i * 2] = low;
      words[i * 2 + 1] = high;
    }
  }

  #offsets(series: number, from: number, to: number): void {
    const divisor = this.#number();
    const least = this.#number();
    const values = this.#values;
    this.#wholes(series, from, to);
    if (divisor === 1) for (let i = from; i < to; i++) values[i] = least + values[i]!;
    else for (let i = from; i < to; i++) values[i] = (least + values[i]!) / divisor;
  }

  #differences(series: number, from: number, to: number): void {
    const divisor = this.#number();
    let whole = this.#number();
    const values = this.#values;
    this.#wholes(series, from, to);
    for (let i = from; i < to; i++) {
      whole += unzigzag(values[i]!);
      values[i] = whole / divisor;
    }
  }

  #dictionary(series: number, from: number, to: number): void {
    const size = this.#word();
    const dictionary = new Float64Array(size);
    this.#join(this.#dictionaries, this.#dictionaryAt, size, dictionary, 0);
    this.#dictionaryAt += size;
    this.#wholes(series, from, to);
    const bits = toWords(dictionary);
    const words = this.#words;
    const values = this.#values;
    for (let i = from; i < to; i++) {
      const code = values[i]!;
      if (code >= size) throw new Failure("damage", "values: a code without a value");
      words[i * 2] = bits[code * 2]!;
      words[i * 2 + 1] = bits[code * 2 + 1]!;
    }
  }

  #likeness(series: number, from: number, to: number): void {
    const factor = this.#number();
    const like = this.#firsts[series - this.#word()];
    if (like === undefined) throw new Failure("damage", "values: like a series that is not there");
    const values = this.#values;
    const words = this.#words;
    this.#wholes(series, from, to);
    for (let i = from, j = like; i < to; i++, j++) {
      const steps = unzigzag(values[i]!);
      values[i] = values[j]! * factor;
      if (steps !== 0) step(words, i * 2, steps);
    }
  }

  /** The whole numbers of a series, where its values belong. */
  #wholes(series: number, from: number, to: number): void {
    const values = this.#values;
    values.fill(0, from, to);
    const width = this.#widths[series]!;
    for (let plane = 0, factor = 1; plane < width; plane++, factor *= 256) {
      const bytes = this.#planes[plane]!;
      const at = this.#planeAt[plane]!;
      if (at + to - from > bytes.byteLength) throw new Failure("damage", "values: numbers cut short");
      for (let i = from, j = at; i < to; i++, j++) values[i] = values[i]! + bytes[j]! * factor;
      this.#planeAt[plane] = at + to - from;
    }
  }

  /** Values whose bytes lie in eight planes. */
  #join(planes: Uint8Array, at: number, count: number, target: Float64Array, from: number): void {
    const all = planes.byteLength / 8;
    if (at + count > all) throw new Failure("damage", "values: cut short");
    const words = toWords(target);
    for (let half = 0; half < 2; half++) {
      const [a, b, c, d] = [0, 1, 2, 3].map((plane) => (half * 4 + plane) * all + at) as [
        number,
        number,
        number,
        number,
      ];
      for (let i = 0, to = from * 2 + half; i < count; i++, to += 2) {
        words[to] = planes[a + i]! | (planes[b + i]! << 8) | (planes[c + i]! << 16) | (planes[d + i]! << 24);
      }
    }
  }

  #number(): number {
    return this.#numbers[this.#numberAt++]!;
  }

  #word(): number {
    return this.#parameters[this.#wordAt++]!;
  }
}

/** Moves the bits of the value at a place by so many floating-point numbers. */
function step(words: Uint32Array, at: number, steps: number): void {
  const low = words[at]! + steps;
  const carry = Math.floor(low / two32);
  words[at] = low - carry * two32;
  words[at + 1] = words[at + 1]! + carry;
}

function unzigzag(whole: number): number {
  // The remainder of a division of doubles takes ten times as long.
  const half = Math.floor(whole * 0.5);
  return half * 2 === whole ? half : -half - 1;
}
