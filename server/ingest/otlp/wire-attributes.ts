/** Reads lists of KeyValue from protobuf into attributes of a row, nested names joined with dots. */

import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import type { BodyBuffer } from "../body-buffer.ts";
import { makeLongNameProblem, RowProblem } from "../json/json-row.ts";
import { flatDepthMax, flatKeysMax, flatNameLengthMax, ingestKeysMax } from "../limits.ts";
import type { ProtoScanner } from "../protobuf-scanner.ts";
import { PairTag, WireValue } from "./wire-value.ts";

export class WireAttributes {
  readonly value: WireValue;
  readonly #buffer: BodyBuffer;
  readonly #builder: BatchBuilder;
  readonly #scanner: ProtoScanner;
  /** Keys with numbers below this are the signal's own: an attribute with such a name becomes `attributes.<name>`. */
  readonly reservedKeys: number;
  #row: RowRanges = new RowRanges();
  #rowNumber = 0;
  /** For each key, the number of the last row that had it. */
  #lastRows: number[] = [];
  /** For each key, the index of its attribute in the last row that had it. */
  #positions: number[] = [];
  /** The key that the i-th attribute of a row had last. Most rows have the same keys in the same order. */
  readonly #previousKeys: number[] = [];
  #listedCount = 0;

  constructor(buffer: BodyBuffer, builder: BatchBuilder, scanner: ProtoScanner) {
    this.#buffer = buffer;
    this.#builder = builder;
    this.#scanner = scanner;
    this.reservedKeys = builder.keyCount;
    this.value = new WireValue(buffer, scanner);
  }

  /** Starts a row: everything read from now on is added to it. */
  begin(row: RowRanges): void {
    this.#row = row;
    this.#rowNumber++;
    this.#listedCount = 0;
    row.clear();
  }

  /** Reads the KeyValue at [scanner.at, end). Throws RowProblem where the row or the body has too many keys. */
  read(end: number): void {
    this.#readPair(end, 0, 0, 1);
  }

  /** Sets an attribute to the text at [from, to). Of two values of one key the later one wins. */
  put(key: number, from: number, to: number): void {
    const row = this.#row;
    if (this.#lastRows[key] === this.#rowNumber) {
      const position = this.#positions[key]!;
      row.from[position] = from;
      row.to[position] = to;
      return;
    }
    if (row.attributes >= flatKeysMax) throw new RowProblem("field", `more than ${flatKeysMax} attributes`);
    this.#lastRows[key] = this.#rowNumber;
    this.#positions[key] = row.attributes;
    row.addAttribute(key, from, to);
  }

  /** Puts a text of the body, unless it is empty. */
  putRange(key: number, from: number, to: number): void {
    this.value.setText(from, to);
    if (this.value.to > this.value.from) this.put(key, this.value.from, this.value.to);
  }

  putText(key: number, text: string): void {
    const { at } = this.#buffer;
    this.#buffer.write(text);
    this.put(key, at, this.#buffer.at);
  }

  /** Puts bytes of the body in hexadecimal digits. */
  putHex(key: number, from: number, to: number): void {
    const { at } = this.#buffer;
    this.#buffer.writeHex(from, to);
    this.put(key, at, this.#buffer.at);
  }

  putAll({ attributes, keys, from, to }: RowRanges): void {
    for (let i = 0; i < attributes; i++) this.put(keys[i]!, from[i]!, to[i]!);
  }

  /** Adds those attributes of a shared set that the row does not have itself. `sharedSet` is the set's number. */
  putMissing({ attributes, keys, from, to }: RowRanges, sharedSet: number): void {
    const row = this.#row;
    row.sharedFrom = row.attributes;
    row.sharedSet = sharedSet;
    for (let i = 0; i < attributes; i++) {
      const key = keys[i]!;
      if (this.#lastRows[key] !== this.#rowNumber) row.addAttribute(key, from[i]!, to[i]!);
    }
  }

  /** The text of an attribute of the row, undefined where it has none. */
  textOf(key: string): string | undefined {
    const number = this.#builder.findKeyText(key);
    if (number < 0 || this.#lastRows[number] !== this.#rowNumber) return undefined;
    const position = this.#positions[number]!;
    return this.#buffer.bytes.toString("utf8", this.#row.from[position], this.#row.to[position]);
  }

  #readPair(end: number, prefixFrom: number, prefixTo: number, depth: number): void {
    const scanner = this.#scanner;
    let keyFrom = 0;
    let keyTo = 0;
    let hasValue = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === PairTag.key) {
        keyTo = scanner.readFieldEnd(end);
        keyFrom = scanner.at;
        scanner.at = keyTo;
      } else if (tag === PairTag.value) {
        hasValue = this.value.read(scanner.readFieldEnd(end));
      } else scanner.skip(tag, end);
    }
    if (!hasValue) return;
    if (prefixTo > prefixFrom) {
      const { at } = this.#buffer;
      this.#buffer.writeRange(prefixFrom, prefixTo);
      this.#buffer.write(".");
      this.#buffer.writeRange(keyFrom, keyTo);
      keyFrom = at;
      keyTo = this.#buffer.at;
    }
    if (!this.value.isMap) this.put(this.#findOrAddKey(keyFrom, keyTo), this.value.from, this.value.to);
    else if (depth < flatDepthMax) this.#flatten(keyFrom, keyTo, depth);
    else {
      this.value.toJson();
      scanner.at = end;
      this.put(this.#findOrAddKey(keyFrom, keyTo), this.value.from, this.value.to);
    }
  }

  /** Adds the members of the map that was read last. */
  #flatten(prefixFrom: number, prefixTo: number, depth: number): void {
    if (prefixTo - prefixFrom > flatNameLengthMax) {
      const start = this.#buffer.bytes.toString("utf8", prefixFrom, prefixFrom + 40);
      throw makeLongNameProblem(start);
    }
    const scanner = this.#scanner;
    const { at: next } = scanner;
    const { from, to } = this.value;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === PairTag.key) this.#readPair(scanner.readFieldEnd(to), prefixFrom, prefixTo, depth + 1);
      else scanner.skip(tag, to);
    }
    scanner.at = next;
  }

  #findOrAddKey(keyFrom: number, keyTo: number): number {
    const position = this.#listedCount++;
    const previousKey = this.#previousKeys[position];
    if (previousKey !== undefined && this.#builder.isKey(previousKey, keyFrom, keyTo)) return previousKey;
    const key = this.#lookUpKey(keyFrom, keyTo);
    // A reserved name is stored under another name, so its key must not be expected again.
    if (this.#builder.isKey(key, keyFrom, keyTo)) this.#previousKeys[position] = key;
    return key;
  }

  #lookUpKey(keyFrom: number, keyTo: number): number {
    const known = this.#builder.findKey(keyFrom, keyTo);
    if (known >= this.reservedKeys) return known;
    if (this.#builder.keyCount >= ingestKeysMax) {
      throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
    }
    if (known < 0 && this.#buffer.isText(keyFrom, keyTo)) return this.#builder.addKey(keyFrom, keyTo);
    const text = this.#buffer.bytes.toString("utf8", keyFrom, keyTo);
    return this.#builder.addKeyText(known < 0 ? text : `attributes.${text}`);
  }
}
