/** Lists of KeyValue become attributes of a row, nested maps flattened with dots. */

import { type BatchBuilder, RowRanges } from "../../../engine/index.ts";
import { RowProblem } from "../json/json-row.ts";
import type { Tape } from "../json/tape.ts";
import { flatDepthMax, flatKeysMax, ingestKeysMax } from "../limits.ts";
import type { ProtoScanner } from "../protobuf-scanner.ts";
import { PairTag, WireValue } from "./wire-value.ts";

export class WireAttributes {
  readonly value: WireValue;
  readonly #tape: Tape;
  readonly #draft: BatchBuilder;
  readonly #scanner: ProtoScanner;
  /** Keys with numbers below this belong to the signal: an attribute that is named so becomes `attributes.<name>`. */
  readonly #ownKeys: number;
  #row: RowRanges = new RowRanges();
  #serial = 0;
  /** For each key the serial number of the last row that had it, and its place in that row. */
  #serials: number[] = [];
  #places: number[] = [];
  /** For each attribute that the row before listed the number of its key: mostly the next row lists the same. */
  readonly #foreseen: number[] = [];
  #listed = 0;

  constructor(tape: Tape, draft: BatchBuilder, scanner: ProtoScanner) {
    this.#tape = tape;
    this.#draft = draft;
    this.#scanner = scanner;
    this.#ownKeys = draft.keyCount;
    this.value = new WireValue(tape, scanner);
  }

  /** What is read from now on goes to this row. */
  begin(row: RowRanges): void {
    this.#row = row;
    this.#serial++;
    this.#listed = 0;
    row.clear();
  }

  /** Reads the KeyValue at [scanner.at, end). Throws RowProblem where there are too many. */
  read(end: number): void {
    this.#readPair(end, 0, 0, 1);
  }

  /** Sets an attribute to the text at [from, to); of two values of one key the later one stays. */
  put(key: number, from: number, to: number): void {
    const row = this.#row;
    if (this.#serials[key] === this.#serial) {
      const place = this.#places[key]!;
      row.from[place] = from;
      row.to[place] = to;
      return;
    }
    if (row.attributes >= flatKeysMax) throw new RowProblem("field", `more than ${flatKeysMax} attributes`);
    this.#serials[key] = this.#serial;
    this.#places[key] = row.attributes;
    row.addAttribute(key, from, to);
  }

  putAll({ attributes, keys, from, to }: RowRanges): void {
    for (let i = 0; i < attributes; i++) this.put(keys[i]!, from[i]!, to[i]!);
  }

  /** Adds the attributes of another row that this one lacks; `shared` is the number of that row, which is read for many. */
  putMissing({ attributes, keys, from, to }: RowRanges, shared: number): void {
    const row = this.#row;
    row.sharedFrom = row.attributes;
    row.sharedSet = shared;
    for (let i = 0; i < attributes; i++) {
      const key = keys[i]!;
      if (this.#serials[key] !== this.#serial) row.addAttribute(key, from[i]!, to[i]!);
    }
  }

  /** The text of an attribute of the row, or undefined where it has none. */
  textOf(key: string): string | undefined {
    const number = this.#draft.findKeyText(key);
    if (number < 0 || this.#serials[number] !== this.#serial) return undefined;
    const place = this.#places[number]!;
    return this.#tape.bytes.toString("utf8", this.#row.from[place], this.#row.to[place]);
  }

  #readPair(end: number, prefixFrom: number, prefixTo: number, depth: number): void {
    const scanner = this.#scanner;
    let keyFrom = 0;
    let keyTo = 0;
    let isThere = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === PairTag.key) {
        keyTo = scanner.readEnd(end);
        keyFrom = scanner.at;
        scanner.at = keyTo;
      } else if (tag === PairTag.value) {
        isThere = this.value.read(scanner.readEnd(end));
      } else scanner.skip(tag, end);
    }
    if (!isThere) return;
    if (prefixTo > prefixFrom) {
      const { at } = this.#tape;
      this.#tape.writeRange(prefixFrom, prefixTo);
      this.#tape.write(".");
      this.#tape.writeRange(keyFrom, keyTo);
      keyFrom = at;
      keyTo = this.#tape.at;
    }
    if (!this.value.isMap) this.put(this.#numberOf(keyFrom, keyTo), this.value.from, this.value.to);
    else if (depth < flatDepthMax) this.#flatten(keyFrom, keyTo, depth);
    else {
      this.value.toJson();
      scanner.at = end;
      this.put(this.#numberOf(keyFrom, keyTo), this.value.from, this.value.to);
    }
  }

  /** Reads the members of the map that was read last. */
  #flatten(prefixFrom: number, prefixTo: number, depth: number): void {
    const scanner = this.#scanner;
    const { at: behind } = scanner;
    const { from, to } = this.value;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === PairTag.key) this.#readPair(scanner.readEnd(to), prefixFrom, prefixTo, depth + 1);
      else scanner.skip(tag, to);
    }
    scanner.at = behind;
  }

  #numberOf(keyFrom: number, keyTo: number): number {
    const place = this.#listed++;
    const foreseen = this.#foreseen[place];
    if (foreseen !== undefined && this.#draft.isKey(foreseen, keyFrom, keyTo)) return foreseen;
    const key = this.#findNumber(keyFrom, keyTo);
    // One of the signal's own is stored under another name.
    if (this.#draft.isKey(key, keyFrom, keyTo)) this.#foreseen[place] = key;
    return key;
  }

  #findNumber(keyFrom: number, keyTo: number): number {
    const known = this.#draft.findKey(keyFrom, keyTo);
    if (known >= this.#ownKeys) return known;
    if (this.#draft.keyCount >= ingestKeysMax) {
      throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
    }
    if (known < 0 && this.#tape.isText(keyFrom, keyTo)) return this.#draft.addKey(keyFrom, keyTo);
    const text = this.#tape.bytes.toString("utf8", keyFrom, keyTo);
    return this.#draft.addKeyText(known < 0 ? text : `attributes.${text}`);
  }
}
