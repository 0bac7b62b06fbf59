/** MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md): reads values from bytes, and skips them. */

import { isUtf8 } from "node:buffer";
import { stringifyExact } from "../json/exact-json.ts";
import { checkFlatName, RowProblem } from "../json/json-row.ts";

/** Depth to which values are read. Attributes are flattened to half of it. */
const depthMax = 64;

/** What stands before the content of a value. */
interface Head {
  kind: "value" | "bytes" | "text" | "array" | "map" | "extension";
  /** Bytes of the head. */
  headBytes: number;
  /** Bytes of the content, elements of an array, or pairs of a map. */
  length: number;
}

/** Heads by their first byte, from 0xc0: kind, bytes of the length's number, and the length where it is fixed. */
const headForms: readonly (readonly [kind: Head["kind"], numberBytes: number, length: number])[] = [
  ...[0, 0, 0, 0].map((length) => ["value", 0, length] as const),
  ...[1, 2, 4].map((bytes) => ["bytes", bytes, 0] as const),
  ...[1, 2, 4].map((bytes) => ["extension", bytes, 0] as const),
  ...[4, 8, 1, 2, 4, 8, 1, 2, 4, 8].map((length) => ["value", 0, length] as const),
  ...[1, 2, 4, 8, 16].map((length) => ["extension", 0, length] as const),
  ...[1, 2, 4].map((bytes) => ["text", bytes, 0] as const),
  ...[2, 4].map((bytes) => ["array", bytes, 0] as const),
  ...[2, 4].map((bytes) => ["map", bytes, 0] as const),
];
const neverUsed = 0xc1;

/** The head of the value at `at`; undefined where its bytes have not all come. Throws RowProblem. */
export function readHead(bytes: Buffer, at: number): Head | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first <= 0x7f || first >= 0xe0) return { kind: "value", headBytes: 1, length: 0 };
  if (first <= 0x8f) return { kind: "map", headBytes: 1, length: first & 15 };
  if (first <= 0x9f) return { kind: "array", headBytes: 1, length: first & 15 };
  if (first <= 0xbf) return { kind: "text", headBytes: 1, length: first & 31 };
  if (first === neverUsed) throw new RowProblem("json", "not MessagePack: a value begins with the byte 0xc1");
  const [kind, numberBytes, fixed] = headForms[first - 0xc0]!;
  const typeBytes = kind === "extension" ? 1 : 0;
  const headBytes = 1 + numberBytes + typeBytes;
  if (at + headBytes > bytes.length) return undefined;
  return { kind, headBytes, length: numberBytes === 0 ? fixed : bytes.readUIntBE(at + 1, numberBytes) };
}

/** Finds the end of a value as its bytes come. It never looks at a byte twice. */
export class ValueSkipper {
  /** Where the next value begins, or its content goes on. */
  at: number;
  /** Values that are still to be skipped. */
  #values = 1;

  constructor(from: number) {
    this.at = from;
  }

  /** Returns whether the value has ended before `bytes` do: then `at` is its end. Throws RowProblem. */
  skip(bytes: Buffer): boolean {
    while (this.#values > 0) {
      const head = readHead(bytes, this.at);
      if (head === undefined) return false;
      const { kind, headBytes, length } = head;
      this.#values--;
      this.at += headBytes;
      if (kind === "array") this.#values += length;
      else if (kind === "map") this.#values += 2 * length;
      else this.at += length;
    }
    return this.at <= bytes.length;
  }
}

/** An extension type with its content. Fluent's times are such. A class, since a map may have the same fields. */
export class Extension {
  readonly type: number;
  readonly content: Buffer;

  constructor(type: number, content: Buffer) {
    this.type = type;
    this.content = content;
  }
}

/** Reads whole values. */
export class MessagePackReader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length;
  }

  /** The kind of the next value. Throws RowProblem. */
  get kind(): Head["kind"] {
    return this.#head().kind;
  }

  /** Reads the head of an array and returns its length. Throws RowProblem where the next value is none. */
  readArrayLength(what: string): number {
    const { kind, headBytes, length } = this.#head();
    if (kind !== "array") throw new RowProblem("json", `${what} must be an array`);
    this.at += headBytes;
    return length;
  }

  /** Reads the bytes of binary data or of a text. Throws RowProblem where the next value is none. */
  readBytes(what: string): Buffer {
    const { kind, headBytes, length } = this.#head();
    if (kind !== "bytes" && kind !== "text") throw new RowProblem("json", `${what} must be binary data`);
    return this.#take(headBytes, length);
  }

  /**
   * Reads a value of any kind. Binary data becomes a text: its own where it is UTF-8, else Base64. Integers beyond 2^53
   * become bigints, and maps objects. Throws RowProblem.
   */
  readValue(depth = 0): unknown {
    if (depth > depthMax) throw new RowProblem("json", `nested more than ${depthMax} deep`);
    const { kind, headBytes, length } = this.#head();
    switch (kind) {
      case "array":
        this.at += headBytes;
        return this.#readList(length, depth);
      case "map":
        this.at += headBytes;
        return this.#readMap(length, depth);
      case "text":
        return this.#take(headBytes, length).toString("utf8");
      case "bytes":
        return toText(this.#take(headBytes, length));
      case "extension": {
        const type = this.#bytes.readInt8(this.at + headBytes - 1);
        const content = this.#take(headBytes, length);
        return depth === 0 ? new Extension(type, content) : toText(content);
      }
      default:
        return this.#readScalar();
    }
  }

  /** Moves past the next value. Throws RowProblem where it is cut short. */
  skipValue(): void {
    const skipper = new ValueSkipper(this.at);
    if (!skipper.skip(this.#bytes)) throw cutShort;
    this.at = skipper.at;
  }

  #head(): Head {
    const head = readHead(this.#bytes, this.at);
    if (head === undefined) throw cutShort;
    return head;
  }

  #take(headBytes: number, length: number): Buffer {
    const from = this.at + headBytes;
    if (from + length > this.#bytes.length) throw cutShort;
    this.at = from + length;
    return this.#bytes.subarray(from, from + length);
  }

  #readList(length: number, depth: number): unknown[] {
    const list: unknown[] = [];
    for (let i = 0; i < length; i++) list.push(this.readValue(depth + 1));
    return list;
  }

  #readMap(pairs: number, depth: number): Record<string, unknown> {
    const map: Record<string, unknown> = Object.create(null);
    for (let i = 0; i < pairs; i++) {
      const key = toKey(this.readValue(depth + 1));
      map[key] = this.readValue(depth + 1);
    }
    return map;
  }

  #readScalar(): unknown {
    const bytes = this.#bytes;
    const first = bytes[this.at]!;
    const { length } = this.#head();
    const from = this.#take(1, length).byteOffset - bytes.byteOffset;
    if (first <= 0x7f) return first;
    if (first >= 0xe0) return first - 0x100;
    switch (first) {
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return toShortest(bytes.readFloatBE(from));
      case 0xcb:
        return bytes.readDoubleBE(from);
      case 0xcf:
        return toInteger(bytes.readBigUInt64BE(from));
      case 0xd3:
        return toInteger(bytes.readBigInt64BE(from));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return bytes.readUIntBE(from, length);
      case 0xd0:
      case 0xd1:
      case 0xd2:
        return bytes.readIntBE(from, length);
      default:
        return null;
    }
  }
}

const cutShort = new RowProblem("json", "not MessagePack: a value is cut short");

/** The number of the fewest digits that is this number in 32 bits. */
function toShortest(float: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const shorter = Number(float.toPrecision(digits));
    if (Math.fround(shorter) === float) return shorter;
  }
  return Number(float.toPrecision(9));
}

function toInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * The text of a map's key; JSON for a list or a map. The text of a map in a key in a key doubles with each of them, so
 * each has a bound. Throws RowProblem.
 */
function toKey(key: unknown): string {
  if (typeof key !== "object") return String(key);
  const text = stringifyExact(key, () => undefined);
  checkFlatName(text);
  return text;
}

function toText(bytes: Buffer): string {
  return bytes.toString(isUtf8(bytes) ? "utf8" : "base64");
}
