/** Reads an entry of Loki's push request from the bytes of protobuf. */

import type { PushScanner } from "./push-scanner.ts";
import type { StreamEntry, Texts } from "./stream.ts";

/** Tags of the fields, with the types of their values. */
const EntryTag = { timestamp: 0x0a, line: 0x12, metadata: 0x1a } as const;
const TimeTag = { seconds: 0x08, nanos: 0x10 } as const;
const PairTag = { name: 0x0a, value: 0x12 } as const;

const billion = 1_000_000_000;

/** One object is filled anew for each entry. Texts are ranges of the body. */
export class WireEntry {
  lineFrom = 0;
  lineTo = 0;
  /** Number of pairs of structured metadata. */
  pairs = 0;
  /** Four numbers for each pair: where its name begins and ends, and where its value begins and ends. */
  readonly ranges: number[] = [];
  readonly #scanner: PushScanner;
  #seconds = 0;
  #nanos = 0;

  constructor(scanner: PushScanner) {
    this.#scanner = scanner;
  }

  /** Whole seconds since the epoch. Of seconds beyond 2^53 the last digits are lost. */
  get seconds(): number {
    return this.#seconds + Math.floor(this.#nanos / billion);
  }

  /** Nanoseconds of the second. */
  get nanos(): number {
    return this.#nanos - Math.floor(this.#nanos / billion) * billion;
  }

  /** Reads the entry at [scanner.at, end). Throws Refusal. */
  read(end: number): void {
    const scanner = this.#scanner;
    this.#seconds = 0;
    this.#nanos = 0;
    this.lineFrom = 0;
    this.lineTo = 0;
    this.pairs = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === EntryTag.line) {
        scanner.readText(end);
        this.lineFrom = scanner.from;
        this.lineTo = scanner.to;
      } else if (tag === EntryTag.timestamp) this.#readTime(scanner.readFieldEnd(end));
      else if (tag === EntryTag.metadata) this.#readPair(scanner.readFieldEnd(end));
      else scanner.skip(tag, end);
    }
  }

  /** The entry as texts. Of two values of one name the later one wins. */
  toTexts(): StreamEntry {
    const { bytes } = this.#scanner.buffer;
    const metadata: Texts = Object.create(null);
    for (let i = 0; i < this.pairs * 4; i += 4) {
      const [nameFrom, nameTo, from, to] = this.ranges.slice(i, i + 4);
      metadata[bytes.toString("utf8", nameFrom, nameTo)] = bytes.toString("utf8", from, to);
    }
    const timeNs = BigInt(this.#seconds) * BigInt(billion) + BigInt(this.#nanos);
    return { timeNs, line: bytes.toString("utf8", this.lineFrom, this.lineTo), metadata };
  }

  #readTime(end: number): void {
    const scanner = this.#scanner;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === TimeTag.seconds) {
        scanner.readVarint64(end);
        this.#seconds = scanner.toSigned();
      } else if (tag === TimeTag.nanos) {
        scanner.readVarint64(end);
        this.#nanos = scanner.low | 0;
      } else scanner.skip(tag, end);
    }
  }

  #readPair(end: number): void {
    const { ranges } = this;
    const at = this.pairs++ * 4;
    ranges[at] = ranges[at + 1] = ranges[at + 2] = ranges[at + 3] = 0;
    const scanner = this.#scanner;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag !== PairTag.name && tag !== PairTag.value) {
        scanner.skip(tag, end);
        continue;
      }
      scanner.readText(end);
      const field = tag === PairTag.name ? at : at + 2;
      ranges[field] = scanner.from;
      ranges[field + 1] = scanner.to;
    }
  }
}
