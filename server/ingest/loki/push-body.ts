/**
 * Reads Loki's push request from the bytes of protobuf. The labels of a stream are parsed once, and shared by its entries;
 * lines and structured metadata are ranges of the body.
 */

import { RowRanges } from "../../../engine/index.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { BodyBuffer } from "../body-buffer.ts";
import { refuseBodyOnProblem } from "../json/json-row.ts";
import { ingestKeysMax, sharedAttributesMax } from "../limits.ts";
import { levelNumberRank, levelOfAttributes, levelRanks } from "../loggers/level.ts";
import type { RowSink } from "../row-sink.ts";
import { parseLabels } from "./labels.ts";
import { PushScanner } from "./push-scanner.ts";
import { addEntry, addServiceName, type StreamLabels } from "./stream.ts";
import { WireEntry } from "./wire-entry.ts";

const streamTag = 0x0a;
const StreamTag = { labels: 0x0a, entry: 0x12 } as const;

export class PushBody {
  readonly #sink: RowSink;
  readonly #buffer: BodyBuffer;
  readonly #scanner: PushScanner;
  readonly #entry: WireEntry;
  readonly #row = new RowRanges();
  /** The labels of the stream, and the level that they name. */
  readonly #shared = new RowRanges();
  /** Number of the shared set, from 1. */
  #sharedSet = 0;
  /** For each key, the number of the last row with structured metadata that had it, and the index of its attribute. */
  readonly #lastRows: number[] = [];
  readonly #places: number[] = [];
  #rowNumber = 0;
  /** For each key, the rank of its name among those of levels. */
  readonly #ranks: (number | undefined)[] = [];

  constructor(body: Uint8Array, sink: RowSink) {
    this.#sink = sink;
    this.#buffer = new BodyBuffer(body, sink.builder);
    this.#scanner = new PushScanner(this.#buffer);
    this.#entry = new WireEntry(this.#scanner);
  }

  /** Reads every entry into the sink. Throws Refusal. */
  read(): void {
    try {
      this.#forEachStream((from, to) => this.#readStream(from, to));
    } catch (problem) {
      // What is wrong with the bytes is said before what is wrong with a stream.
      if (problem instanceof Refusal) this.#forEachStream((from, to) => this.#checkStream(from, to));
      throw problem;
    }
  }

  #forEachStream(visit: (from: number, to: number) => void): void {
    this.#scanner.forEachField(0, this.#buffer.bodyEnd, streamTag, visit);
  }

  /** Throws Refusal 400 where the stream is not valid protobuf. */
  #checkStream(from: number, to: number): void {
    this.#findLabels(from, to);
    this.#scanner.forEachField(from, to, StreamTag.entry, (_, end) => this.#entry.read(end));
  }

  #readStream(from: number, to: number): void {
    const labels = addServiceName(refuseBodyOnProblem(() => parseLabels(this.#findLabels(from, to))));
    let isShared: boolean | undefined;
    this.#scanner.forEachField(from, to, StreamTag.entry, (_, end) => {
      this.#entry.read(end);
      isShared ??= this.#shareLabels(labels);
      if (isShared && this.#fillRow()) this.#addRow(labels);
      else addEntry(this.#sink, labels, () => this.#entry.toTexts());
    });
  }

  /** The text of the stream's labels, which may come after its entries. */
  #findLabels(from: number, to: number): string {
    const scanner = this.#scanner;
    let text = "";
    scanner.at = from;
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag !== StreamTag.labels) {
        scanner.skip(tag, to);
        continue;
      }
      scanner.readText(to);
      text = this.#buffer.bytes.toString("utf8", scanner.from, scanner.to);
    }
    return text;
  }

  /** Writes the labels of a stream for its entries to share. Returns false where there are too many. */
  #shareLabels({ labels, count }: StreamLabels): boolean {
    const { builder } = this.#sink;
    if (count > sharedAttributesMax || builder.keyCount + count > ingestKeysMax) return false;
    const buffer = this.#buffer;
    const shared = this.#shared;
    shared.clear();
    buffer.at = buffer.bodyEnd;
    for (const name in labels) {
      const from = buffer.at;
      buffer.write(labels[name]!);
      shared.addAttribute(builder.addKeyText(name), from, buffer.at);
    }
    shared.levelFrom = buffer.at;
    buffer.write(levelOfAttributes(labels));
    shared.levelTo = buffer.at;
    this.#sharedSet++;
    return true;
  }

  #addRow({ copyCost }: StreamLabels): void {
    this.#sink.refuseOnProblem(() => {
      this.#sink.countRepeatedBytes(copyCost);
      this.#sink.add(this.#row, this.#buffer.bytes);
    });
  }

  /** Makes a row of the labels and the entry. Returns false where the entry has to be read as texts. */
  #fillRow(): boolean {
    const entry = this.#entry;
    const row = this.#row;
    const { attributes, keys, from, to, levelFrom, levelTo } = this.#shared;
    row.clear();
    for (let i = 0; i < attributes; i++) row.addAttribute(keys[i]!, from[i]!, to[i]!);
    row.sharedFrom = 0;
    row.sharedSet = this.#sharedSet;
    row.levelFrom = levelFrom;
    row.levelTo = levelTo;
    row.messageFrom = entry.lineFrom;
    row.messageTo = entry.lineTo;
    if (entry.pairs > 0 && !this.#addMetadata()) return false;
    this.#setTime();
    return true;
  }

  /** Adds structured metadata to the labels. Returns false where the entry has to be read as texts. */
  #addMetadata(): boolean {
    const { pairs, ranges } = this.#entry;
    const row = this.#row;
    row.sharedSet = 0;
    this.#rowNumber++;
    for (let i = 0; i < row.attributes; i++) this.#notePlace(row.keys[i]!, i);
    let isAboutLevel = false;
    for (let i = 0; i < pairs * 4; i += 4) {
      const key = this.#numberKey(ranges[i]!, ranges[i + 1]!);
      if (key < 0) return false;
      isAboutLevel ||= this.#rankOf(key) >= 0;
      if (this.#lastRows[key] === this.#rowNumber) {
        const place = this.#places[key]!;
        row.from[place] = ranges[i + 2]!;
        row.to[place] = ranges[i + 3]!;
        continue;
      }
      if (row.attributes === sharedAttributesMax) return false;
      this.#notePlace(key, row.attributes);
      row.addAttribute(key, ranges[i + 2]!, ranges[i + 3]!);
    }
    return !isAboutLevel || this.#findLevel();
  }

  #notePlace(key: number, place: number): void {
    this.#lastRows[key] = this.#rowNumber;
    this.#places[key] = place;
  }

  /** The number of the key at [from, to); -1 for one more than there may be, and for a number, which comes first in an object. */
  #numberKey(from: number, to: number): number {
    const { builder } = this.#sink;
    if (from < to && isDigit(this.#buffer.bytes[from]!)) return -1;
    const known = builder.findKey(from, to);
    if (known >= 0) return known;
    return builder.keyCount < ingestKeysMax ? builder.addKey(from, to) : -1;
  }

  #rankOf(key: number): number {
    this.#ranks[key] ??= levelRanks.get(this.#sink.builder.keyText(key)) ?? -1;
    return this.#ranks[key];
  }

  /** Finds the level among the attributes. Returns false where it is a number, which stands for a text. */
  #findLevel(): boolean {
    const row = this.#row;
    let best = Number.POSITIVE_INFINITY;
    row.levelFrom = row.levelTo;
    for (let i = 0; i < row.attributes; i++) {
      const rank = this.#rankOf(row.keys[i]!);
      if (rank < 0 || rank >= best || row.from[i] === row.to[i]) continue;
      best = rank;
      row.levelFrom = row.from[i]!;
      row.levelTo = row.to[i]!;
    }
    return best === Number.POSITIVE_INFINITY || best < levelNumberRank;
  }

  #setTime(): void {
    const row = this.#row;
    const { seconds, nanos } = this.#entry;
    if (seconds === 0 && nanos === 0) {
      const { arrivalMs } = this.#sink;
      this.#sink.untimedRows++;
      row.seconds = Math.floor(arrivalMs / 1000);
      row.nanos = (arrivalMs % 1000) * 1e6;
      return;
    }
    row.seconds = Math.max(-1, seconds);
    row.nanos = nanos;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
