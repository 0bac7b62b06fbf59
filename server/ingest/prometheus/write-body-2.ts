/**
 * Reads remote write 2.0 from the bytes of protobuf. The texts of a series' labels, its type and its unit are its alias:
 * where this thread has met it, only its samples are read. Other series are decoded by protobufjs.
 */

import type { SeriesAliases } from "../../../engine/index.ts";
import { BodyBuffer } from "../body-buffer.ts";
import { decodeOrRefuse, makeProtobufRefusal, ProtoScanner } from "../protobuf-scanner.ts";
import type { SampleSink } from "../row-sink.ts";
import { type Series2, series2 } from "./schema.ts";
import { addSeries, seriesOf, startOf, type WrittenCounts } from "./series-samples.ts";
import { readMillis, WireSamples } from "./wire-samples.ts";

const Tag = { symbol: 0x22, series: 0x2a } as const;
const SeriesTag = { labels: 0x0a, sample: 0x12, exemplar: 0x22, metadata: 0x2a, created: 0x30 } as const;
const MetadataTag = { type: 0x08, help: 0x18, unit: 0x20 } as const;

export class WriteBody2 {
  readonly #sink: SampleSink;
  readonly #buffer: BodyBuffer;
  readonly #scanner: ProtoScanner;
  readonly #samples: WireSamples;
  readonly #aliases: SeriesAliases;
  readonly #kind: number;
  /** Where each symbol lies, and a number for its text; -1 where it is not known yet. */
  readonly #symbolsFrom: number[] = [];
  readonly #symbolsTo: number[] = [];
  readonly #symbolNumbers: number[] = [];
  readonly #written: WrittenCounts = { samples: 0, histograms: 0 };
  /** When the counter that is read began, in milliseconds since the epoch; 0 where the series does not say it. */
  #createdMs = 0;

  constructor(body: Buffer, sink: SampleSink) {
    this.#sink = sink;
    this.#buffer = new BodyBuffer(body);
    this.#scanner = new ProtoScanner(this.#buffer);
    this.#samples = new WireSamples(this.#scanner, sink);
    this.#aliases = sink.builder.readAliases("remote write 2", body);
    this.#kind = this.#aliases.kindOf("");
  }

  /** Adds all samples. Throws Refusal 400 where the body is not valid protobuf. */
  read(): WrittenCounts {
    const { bodyEnd } = this.#buffer;
    this.#scanner.forEachField(0, bodyEnd, Tag.symbol, (from, to) => {
      this.#symbolsFrom.push(from);
      this.#symbolsTo.push(to);
      this.#symbolNumbers.push(-1);
    });
    this.#scanner.forEachField(0, bodyEnd, Tag.series, (from, to) => this.#readSeries(from, to));
    return this.#written;
  }

  #readSeries(from: number, to: number): void {
    this.#aliases.begin(this.#kind);
    if (!this.#scan(from, to) || !this.#samples.areUsual()) {
      this.#addDecoded(from, to);
      return;
    }
    const alias = this.#aliases.find();
    if (alias >= 0) {
      this.#written.samples += this.#samples.addTo(alias, this.#createdMs);
      return;
    }
    this.#sink.builder.forgetSeries();
    this.#addDecoded(from, to);
    this.#sink.builder.noteAlias();
  }

  /** Puts the alias of the series at [from, to) together, and finds its samples. Returns false where protobufjs has to read it. */
  #scan(from: number, to: number): boolean {
    const scanner = this.#scanner;
    this.#samples.clear();
    this.#createdMs = 0;
    let hasLabels = false;
    let hasMetadata = false;
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === SeriesTag.created) {
        const ms = readMillis(scanner, to);
        if (ms === undefined) return false;
        this.#createdMs = ms;
        continue;
      }
      if ((tag & 7) !== 2) return false;
      const end = scanner.readFieldEnd(to);
      if (tag === SeriesTag.sample) this.#samples.push(scanner.at, end);
      else if (tag === SeriesTag.labels && !hasLabels) {
        hasLabels = true;
        if (!this.#addLabels(end)) return false;
      } else if (tag === SeriesTag.metadata && hasLabels && !hasMetadata) {
        hasMetadata = true;
        if (!this.#addMetadata(end)) return false;
      } else if (tag !== SeriesTag.exemplar) return false;
      scanner.at = end;
    }
    return hasLabels;
  }

  /** Adds the symbols of the labels at [scanner.at, end) to the alias. Returns false where they are not pairs of symbols. */
  #addLabels(end: number): boolean {
    let count = 0;
    for (; this.#scanner.at < end; count++) {
      const symbol = this.#numberOfSymbol(this.#scanner.readVarint(end));
      if (symbol < 0) return false;
      this.#aliases.addNumber(symbol);
    }
    return count % 2 === 0;
  }

  /** Adds type and unit at [scanner.at, end) to the alias, after a number that no symbol has. */
  #addMetadata(end: number): boolean {
    const scanner = this.#scanner;
    let type = 0;
    let unit = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag !== MetadataTag.type && tag !== MetadataTag.help && tag !== MetadataTag.unit) return false;
      const number = scanner.readVarint(end);
      if (tag === MetadataTag.type) type = number;
      else if (tag === MetadataTag.unit) unit = number;
    }
    const symbol = this.#numberOfSymbol(unit);
    if (symbol < 0) return false;
    this.#aliases.addNumber(noSymbol);
    this.#aliases.addNumber(type);
    this.#aliases.addNumber(symbol);
    return true;
  }

  /** A number that stands for the text of a symbol; -1 where there is no such symbol. */
  #numberOfSymbol(index: number): number {
    const known = this.#symbolNumbers[index];
    if (known === undefined) return -1;
    if (known >= 0) return known;
    const number = this.#aliases.numberOf(this.#symbolsFrom[index]!, this.#symbolsTo[index]!);
    this.#symbolNumbers[index] = number;
    return number;
  }

  /** Adds the samples of the series at [from, to), decoded by protobufjs. */
  #addDecoded(from: number, to: number): void {
    const decoded = decodeOrRefuse(() => series2.decode(this.#buffer.bytes.subarray(from, to)));
    const { labelsRefs, samples, histograms, metadata, createdTimestamp } = decoded as unknown as Series2;
    if (labelsRefs.length % 2 !== 0) throw makeProtobufRefusal("a series has a label without a value");
    const labels: Record<string, string> = Object.create(null);
    for (let i = 0; i < labelsRefs.length; i += 2)
      labels[this.#textOf(labelsRefs[i]!)] = this.#textOf(labelsRefs[i + 1]!);
    const unit = metadata === null ? "" : this.#textOf(metadata.unitRef);
    const series = { ...seriesOf(labels, metadata?.type ?? 0, unit), ...startOf(createdTimestamp) };
    addSeries(this.#sink, series, samples, histograms, this.#written);
  }

  #textOf(symbol: number): string {
    const from = this.#symbolsFrom[symbol];
    const count = this.#symbolsFrom.length;
    if (from === undefined) throw makeProtobufRefusal(`symbol ${symbol} of ${count} is referred to`);
    return this.#buffer.bytes.toString("utf8", from, this.#symbolsTo[symbol]);
  }
}

const noSymbol = 0xffff_ffff;
