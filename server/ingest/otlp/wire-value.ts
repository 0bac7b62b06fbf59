/** Reads attribute values and bodies (AnyValue) from the bytes of protobuf. */

import type { BodyBuffer } from "../body-buffer.ts";
import type { ProtoScanner } from "../protobuf-scanner.ts";
import { makeProtobufRefusal } from "../protobuf-scanner.ts";

const Tag = {
  string: 0x0a,
  boolean: 0x10,
  integer: 0x18,
  double: 0x21,
  array: 0x2a,
  map: 0x32,
  bytes: 0x3a,
} as const;
/** Field tag of the elements, the same in ArrayValue and KeyValueList. */
const valuesTag = 0x0a;
export const PairTag = { key: 0x0a, value: 0x12 } as const;

/** Depth of nested values. A deeper body is refused, as protobuf's own parsers do. */
export const nestingMax = 100;

/** The largest integer that is written digit by digit; larger ones go through BigInt. */
const exactMax = Number.MAX_SAFE_INTEGER;

export class WireValue {
  /** True where the value is a map: then [from, to) is the KeyValueList. Otherwise [from, to) is the value's text. */
  isMap = false;
  from = 0;
  to = 0;
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;
  readonly #trueFrom: number;
  readonly #trueTo: number;
  readonly #falseTo: number;

  /** Writes constants to the buffer, which must not be overwritten. */
  constructor(buffer: BodyBuffer, scanner: ProtoScanner) {
    this.#buffer = buffer;
    this.#scanner = scanner;
    this.#trueFrom = buffer.at;
    buffer.write("true");
    this.#trueTo = buffer.at;
    buffer.write("false");
    this.#falseTo = buffer.at;
  }

  /**
   * Reads the AnyValue at [scanner.at, end); returns false where it is empty. Of several values the last one counts.
   */
  read(end: number): boolean {
    const scanner = this.#scanner;
    let hasValue = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.string) this.#readString(end);
      else if (!this.#readField(tag, end)) continue;
      hasValue = true;
    }
    return hasValue;
  }

  /** Like `read`, but a map becomes its JSON text. */
  readText(end: number): boolean {
    if (!this.read(end)) return false;
    if (this.isMap) this.toJson();
    return true;
  }

  /** Replaces the map that was read by its JSON text. */
  toJson(): void {
    const { from, to } = this;
    this.#setWritten(this.#objectJson(from, to, 1));
  }

  /** The JSON text of the attributes of the message at [from, to), where `tag` is the tag of their field. */
  attributesJson(from: number, to: number, tag: number): string {
    return this.#objectJson(from, to, 1, tag);
  }

  /** Sets the range to the text at [from, to). Invalid UTF-8 is copied with U+FFFD in its place. */
  setText(from: number, to: number): void {
    this.isMap = false;
    if (this.#buffer.isText(from, to)) {
      this.from = from;
      this.to = to;
    } else this.#setWritten(this.#buffer.bytes.toString("utf8", from, to));
  }

  #readString(end: number): void {
    const to = this.#scanner.readFieldEnd(end);
    this.setText(this.#scanner.at, to);
    this.#scanner.at = to;
  }

  /** Reads a field of any type but string. Returns false where the field is unknown, and skips it. */
  #readField(tag: number, end: number): boolean {
    const scanner = this.#scanner;
    const { at } = this.#buffer;
    this.isMap = tag === Tag.map;
    switch (tag) {
      case Tag.boolean:
        this.#readBoolean(end);
        return true;
      case Tag.integer:
        this.#readInteger(end);
        break;
      case Tag.double:
        this.#buffer.write(String(scanner.readDouble(end)));
        break;
      case Tag.array:
      case Tag.bytes: {
        const to = scanner.readFieldEnd(end);
        const { at: from } = scanner;
        this.#buffer.write(
          tag === Tag.array ? this.#arrayJson(from, to, 1) : this.#buffer.bytes.toString("base64", from, to),
        );
        scanner.at = to;
        break;
      }
      case Tag.map:
        this.to = scanner.readFieldEnd(end);
        this.from = scanner.at;
        scanner.at = this.to;
        return true;
      default:
        scanner.skip(tag, end);
        return false;
    }
    this.from = at;
    this.to = this.#buffer.at;
    return true;
  }

  #readBoolean(end: number): void {
    this.#scanner.readVarint64(end);
    const isTrue = (this.#scanner.low | this.#scanner.high) !== 0;
    this.from = isTrue ? this.#trueFrom : this.#trueTo;
    this.to = isTrue ? this.#trueTo : this.#falseTo;
  }

  #readInteger(end: number): void {
    const scanner = this.#scanner;
    scanner.readVarint64(end);
    const value = scanner.toSigned();
    if (value >= 0 && value <= exactMax) this.#buffer.writeInteger(value);
    else this.#buffer.write(scanner.toSignedText());
  }

  #setWritten(text: string): void {
    this.isMap = false;
    this.from = this.#buffer.at;
    this.#buffer.write(text);
    this.to = this.#buffer.at;
  }

  /** Returns the JSON text of the AnyValue at [from, to). Leaves the scanner after it. */
  #valueJson(from: number, to: number, depth: number): string {
    if (depth > nestingMax) throw makeProtobufRefusal(`values are nested more than ${nestingMax} deep`);
    const scanner = this.#scanner;
    scanner.at = from;
    let json = "null";
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      switch (tag) {
        case Tag.boolean:
          scanner.readVarint64(to);
          json = (scanner.low | scanner.high) === 0 ? "false" : "true";
          break;
        case Tag.integer:
          scanner.readVarint64(to);
          json = scanner.toSignedText();
          break;
        case Tag.double:
          json = doubleJson(scanner.readDouble(to));
          break;
        case Tag.string:
        case Tag.bytes:
        case Tag.array:
        case Tag.map:
          json = this.#rangeJson(tag, scanner.readFieldEnd(to), depth);
          break;
        default:
          scanner.skip(tag, to);
      }
    }
    return json;
  }

  /** Returns the JSON text of the field with this tag whose bytes end at `to`. Leaves the scanner after it. */
  #rangeJson(tag: number, to: number, depth: number): string {
    const from = this.#scanner.at;
    this.#scanner.at = to;
    const { bytes } = this.#buffer;
    if (tag === Tag.array) return this.#arrayJson(from, to, depth);
    if (tag === Tag.map) return this.#objectJson(from, to, depth);
    return JSON.stringify(bytes.toString(tag === Tag.bytes ? "base64" : "utf8", from, to));
  }

  #arrayJson(from: number, to: number, depth: number): string {
    const values: string[] = [];
    this.#scanner.forEachField(from, to, valuesTag, (valueFrom, valueTo) =>
      values.push(this.#valueJson(valueFrom, valueTo, depth + 1)),
    );
    return `[${values.join(",")}]`;
  }

  #objectJson(from: number, to: number, depth: number, membersTag: number = valuesTag): string {
    const members = new Map<string, string>();
    this.#scanner.forEachField(from, to, membersTag, (pairFrom, pairTo) =>
      this.#addMember(members, pairFrom, pairTo, depth),
    );
    return `{${Array.from(members, ([key, json]) => `${JSON.stringify(key)}:${json}`).join(",")}}`;
  }

  #addMember(members: Map<string, string>, from: number, to: number, depth: number): void {
    const scanner = this.#scanner;
    scanner.at = from;
    let key = "";
    let json = "null";
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag !== PairTag.key && tag !== PairTag.value) {
        scanner.skip(tag, to);
        continue;
      }
      const end = scanner.readFieldEnd(to);
      if (tag === PairTag.key) key = this.#buffer.bytes.toString("utf8", scanner.at, end);
      else json = this.#valueJson(scanner.at, end, depth + 1);
      scanner.at = end;
    }
    members.set(key, json);
  }
}

/** JSON has no NaN or infinite numbers: they become texts, as in protobuf's JSON. */
export function doubleJson(value: number): string {
  return Number.isFinite(value) ? String(value) : JSON.stringify(String(value));
}
