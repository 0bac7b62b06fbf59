/** Reads a point of a gauge or a sum (NumberDataPoint) from the bytes of protobuf. */

import type { ProtoScanner } from "../protobuf-scanner.ts";
import { WireTime } from "./wire-time.ts";

const Tag = {
  start: 0x11,
  time: 0x19,
  double: 0x21,
  exemplar: 0x2a,
  integer: 0x31,
  attributes: 0x3a,
  flags: 0x40,
} as const;
/** Bit of `flags`: the series has no value at this time (metrics.proto, "DataPointFlags"). */
const noRecordedValue = 1;
const two32 = 2 ** 32;
/** Bits of the fields that a point has at most once. */
const Seen = { start: 1, time: 2, value: 4, flags: 8 } as const;

export class WirePoint {
  readonly #scanner: ProtoScanner;
  readonly time = new WireTime();
  readonly start = new WireTime();
  hasStart = false;
  value = 0;
  /** Where the attributes lie, one after the other, with their tags. */
  attributesFrom = 0;
  attributesTo = 0;
  #seen = 0;

  constructor(scanner: ProtoScanner) {
    this.#scanner = scanner;
  }

  /**
   * Reads the point at [from, to). Returns false where it is not of the usual form: with a time, one value, and its
   * attributes one after the other. Throws Refusal 400 where it is not valid protobuf.
   */
  read(from: number, to: number): boolean {
    const scanner = this.#scanner;
    let hasTime = false;
    let flags = 0;
    this.#seen = 0;
    this.hasStart = false;
    this.attributesFrom = from;
    this.attributesTo = from;
    scanner.at = from;
    while (scanner.at < to) {
      const { at } = scanner;
      const tag = scanner.readVarint(to);
      if (tag === Tag.attributes) {
        if (this.attributesTo === this.attributesFrom) this.attributesFrom = at;
        else if (this.attributesTo !== at) return false;
        scanner.at = scanner.readFieldEnd(to);
        this.attributesTo = scanner.at;
      } else if (tag === Tag.exemplar) scanner.at = scanner.readFieldEnd(to);
      else if (tag === Tag.time && this.#isFirst(Seen.time)) hasTime = this.time.read(scanner, to);
      else if (tag === Tag.start && this.#isFirst(Seen.start)) this.hasStart = this.start.read(scanner, to);
      else if (tag === Tag.double && this.#isFirst(Seen.value)) this.value = scanner.readDouble(to);
      else if (tag === Tag.integer && this.#isFirst(Seen.value)) {
        scanner.readEightBytes(to);
        this.value = toInteger(scanner);
      } else if (tag === Tag.flags && this.#isFirst(Seen.flags)) flags = scanner.readVarint(to);
      else return false;
    }
    if ((flags & noRecordedValue) !== 0) this.value = Number.NaN;
    else if ((this.#seen & Seen.value) === 0) return false;
    return hasTime;
  }

  #isFirst(field: number): boolean {
    const isFirst = (this.#seen & field) === 0;
    this.#seen |= field;
    return isFirst;
  }
}

/** The signed integer that was read last, rounded as a BigInt is. */
function toInteger({ low, high }: ProtoScanner): number {
  const isExact = high >= -(2 ** 20) && high < 2 ** 20;
  return isExact ? high * two32 + (low >>> 0) : Number((BigInt(high) << 32n) | BigInt(low >>> 0));
}
