/**
 * Reads the samples of a series of remote write from the bytes of protobuf, where the series was met before. What is
 * unusual is left to protobufjs.
 */

import type { SampleBatchBuilder } from "../../../engine/index.ts";
import type { ProtoScanner } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";

/** Tags of a Sample, the same in both versions. */
const Tag = { value: 0x09, timestamp: 0x10, start: 0x18 } as const;
/** Milliseconds are exact as numbers below this. */
const exactHighMax = 2 ** 20;

/** Where the samples of the series that is read lie, one after the other: from, to, from, to … */
export class WireSamples {
  readonly #scanner: ProtoScanner;
  readonly #sink: SampleSink;
  readonly #builder: SampleBatchBuilder;
  readonly #ranges: number[] = [];
  #count = 0;
  #value = 0;
  /** Milliseconds since the epoch. */
  #timeMs = 0;
  #startMs = 0;

  constructor(scanner: ProtoScanner, sink: SampleSink) {
    this.#scanner = scanner;
    this.#sink = sink;
    this.#builder = sink.builder;
  }

  /** Number of samples. */
  get count(): number {
    return this.#count >> 1;
  }

  clear(): void {
    this.#count = 0;
  }

  /** Notes a sample at [from, to). */
  push(from: number, to: number): void {
    this.#ranges[this.#count++] = from;
    this.#ranges[this.#count++] = to;
  }

  /** Whether all samples are of the form that is read here. Throws Refusal 400 where the body is not valid protobuf. */
  areUsual(): boolean {
    for (let i = 0; i < this.#count; i += 2)
      if (!this.#read(this.#ranges[i]!, this.#ranges[i + 1]!)) return false;
    return true;
  }

  /**
   * Adds all samples, which are of the usual form, to the series of an alias. `startMs` is when its counter began, 0 where
   * only its samples say that. Returns how many are stored.
   */
  addTo(alias: number, startMs: number): number {
    let stored = 0;
    for (let i = 0; i < this.#count; i += 2) {
      this.#read(this.#ranges[i]!, this.#ranges[i + 1]!);
      const begunMs = this.#startMs > 0 ? this.#startMs : startMs;
      const start = begunMs > 0 ? toInstant(begunMs) : undefined;
      const { seconds, nanos } = this.#timeMs < 0 ? { seconds: -1, nanos: 0 } : toInstant(this.#timeMs);
      const reason = this.#builder.addByAlias(alias, seconds, nanos, this.#value, start);
      if (this.#sink.countRow(reason) === undefined) stored++;
    }
    return stored;
  }

  /** Reads the sample at [from, to). Returns false where protobufjs has to read it. */
  #read(from: number, to: number): boolean {
    const scanner = this.#scanner;
    scanner.at = from;
    this.#value = 0;
    this.#timeMs = 0;
    this.#startMs = 0;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === Tag.value) this.#value = scanner.readDouble(to);
      else if (tag === Tag.timestamp || tag === Tag.start) {
        const ms = readMillis(scanner, to);
        if (ms === undefined) return false;
        if (tag === Tag.start) this.#startMs = ms;
        else this.#timeMs = ms;
      } else return false;
    }
    return true;
  }
}

/** Reads an int64; undefined where it is not exact as a number. */
export function readMillis(scanner: ProtoScanner, end: number): number | undefined {
  scanner.readVarint64(end);
  return scanner.high >= -exactHighMax && scanner.high < exactHighMax ? scanner.toSigned() : undefined;
}

function toInstant(ms: number): { seconds: number; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: (ms - seconds * 1000) * 1e6 };
}
