/** Values of attributes and bodies (AnyValue), from their bytes. */

import type { Tape } from "../json/tape.ts";
import type { ProtoScanner } from "../protobuf-scanner.ts";
import { malformed } from "../protobuf-scanner.ts";

const Tag = {
  string: 0x0a,
  boolean: 0x10,
  integer: 0x18,
  double: 0x21,
  array: 0x2a,
  map: 0x32,
  bytes: 0x3a,
} as const;
/** Of ArrayValue and KeyValueList alike. */
const valuesTag = 0x0a;
export const PairTag = { key: 0x0a, value: 0x12 } as const;

/** Values inside values; beyond it a body is refused, as protobuf's own parsers do. */
export const nestingMax = 100;

/** The largest whole number that is written by its digits alone. */
const exactMax = Number.MAX_SAFE_INTEGER;

export class WireValue {
  /** The value is a map; then [from, to) is the KeyValueList, else the text that stands for the value. */
  isMap = false;
  from = 0;
  to = 0;
  readonly #tape: Tape;
  readonly #scanner: ProtoScanner;
  readonly #trueFrom: number;
  readonly #trueTo: number;
  readonly #falseTo: number;

  /** Writes constants to the tape, which are to stay there. */
  constructor(tape: Tape, scanner: ProtoScanner) {
    this.#tape = tape;
    this.#scanner = scanner;
    this.#trueFrom = tape.at;
    tape.write("true");
    this.#trueTo = tape.at;
    tape.write("false");
    this.#falseTo = tape.at;
  }

  /** Reads the AnyValue at [scanner.at, end); false where there is none in it. Of several the last counts. */
  read(end: number): boolean {
    const scanner = this.#scanner;
    let isThere = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.string) this.#readString(end);
      else if (!this.#readOther(tag, end)) continue;
      isThere = true;
    }
    return isThere;
  }

  /** As a text: a map as JSON. */
  readText(end: number): boolean {
    if (!this.read(end)) return false;
    if (this.isMap) this.toJson();
    return true;
  }

  /** Makes the map that was read its JSON text. */
  toJson(): void {
    const { from, to } = this;
    this.#written(this.#objectJson(from, to, 1));
  }

  /** JSON text of the attributes of a message at [from, to) that has them as fields with this tag. */
  attributesJson(from: number, to: number, tag: number): string {
    return this.#objectJson(from, to, 1, tag);
  }

  /** Sets the range to that of a text at [from, to), with U+FFFD for what is no UTF-8. */
  setText(from: number, to: number): void {
    this.isMap = false;
    if (this.#tape.isText(from, to)) {
      this.from = from;
      this.to = to;
    } else this.#written(this.#tape.bytes.toString("utf8", from, to));
  }

  #readString(end: number): void {
    const to = this.#scanner.readEnd(end);
    this.setText(this.#scanner.at, to);
    this.#scanner.at = to;
  }

  /** False where the field is none that is known. */
  #readOther(tag: number, end: number): boolean {
    const scanner = this.#scanner;
    const { at } = this.#tape;
    this.isMap = tag === Tag.map;
    switch (tag) {
      case Tag.boolean:
        this.#readBoolean(end);
        return true;
      case Tag.integer:
        this.#readInteger(end);
        break;
      case Tag.double:
        this.#tape.write(String(scanner.readDouble(end)));
        break;
      case Tag.array:
      case Tag.bytes: {
        const to = scanner.readEnd(end);
        const { at: from } = scanner;
        this.#tape.write(
          tag === Tag.array ? this.#arrayJson(from, to, 1) : this.#tape.bytes.toString("base64", from, to),
        );
        scanner.at = to;
        break;
      }
      case Tag.map:
        this.to = scanner.readEnd(end);
        this.from = scanner.at;
        scanner.at = this.to;
        return true;
      default:
        scanner.skip(tag, end);
        return false;
    }
    this.from = at;
    this.to = this.#tape.at;
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
    const value = scanner.signed();
    if (value >= 0 && value <= exactMax) this.#tape.writeInteger(value);
    else this.#tape.write(scanner.signedText());
  }

  #written(text: string): void {
    this.isMap = false;
    this.from = this.#tape.at;
    this.#tape.write(text);
    this.to = this.#tape.at;
  }

  // JSON text of what lies at [from, to); the scanner stands behind it afterwards.

  #json(from: number, to: number, depth: number): string {
    if (depth > nestingMax) throw malformed(`values are nested more than ${nestingMax} deep`);
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
          json = scanner.signedText();
          break;
        case Tag.double:
          json = doubleJson(scanner.readDouble(to));
          break;
        case Tag.string:
        case Tag.bytes:
        case Tag.array:
        case Tag.map:
          json = this.#rangeJson(tag, scanner.readEnd(to), depth);
          break;
        default:
          scanner.skip(tag, to);
      }
    }
    return json;
  }

  #rangeJson(tag: number, to: number, depth: number): string {
    const from = this.#scanner.at;
    this.#scanner.at = to;
    const { bytes } = this.#tape;
    if (tag === Tag.array) return this.#arrayJson(from, to, depth);
    if (tag === Tag.map) return this.#objectJson(from, to, depth);
    return JSON.stringify(bytes.toString(tag === Tag.bytes ? "base64" : "utf8", from, to));
  }

  #arrayJson(from: number, to: number, depth: number): string {
    const values: string[] = [];
    this.#scanner.eachField(from, to, valuesTag, (valueFrom, valueTo) =>
      values.push(this.#json(valueFrom, valueTo, depth + 1)),
    );
    return `[${values.join(",")}]`;
  }

  #objectJson(from: number, to: number, depth: number, membersTag: number = valuesTag): string {
    const members = new Map<string, string>();
    this.#scanner.eachField(from, to, membersTag, (pairFrom, pairTo) =>
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
      const end = scanner.readEnd(to);
      if (tag === PairTag.key) key = this.#tape.bytes.toString("utf8", scanner.at, end);
      else json = this.#json(scanner.at, end, depth + 1);
      scanner.at = end;
    }
    members.set(key, json);
  }
}

/** JSON has no numbers for what is not finite: those are texts, as in protobuf's JSON. */
export function doubleJson(value: number): string {
  return Number.isFinite(value) ? String(value) : JSON.stringify(String(value));
}
