/** Reads the fields of log records that rules test. */

import { severityRanges } from "../../../../engine/index.ts";
import { isZero } from "../../../ingest/otlp/log-record.ts";
import { severityIndex } from "../../../ingest/otlp/severity.ts";
import type { RecordReader, WireReaders } from "./record-reader.ts";

const childTag = 0x12;
const Tag = {
  severityNumber: 0x10,
  severityText: 0x1a,
  body: 0x2a,
  attributes: 0x32,
  traceId: 0x4a,
  spanId: 0x52,
  eventName: 0x62,
} as const;
const traceIdBytes = 16;
const spanIdBytes = 8;

export class LogReader implements RecordReader {
  readonly levels = 2;
  readonly #readers: WireReaders;
  readonly #level: number;
  readonly #message: number;
  readonly #traceId: number;
  readonly #spanId: number;
  readonly #eventName: number;
  /** Offsets of the severity names in the buffer: name i is at [ends[i], ends[i + 1]). */
  readonly #severityEnds: number[];

  constructor(readers: WireReaders) {
    const { fields, buffer } = readers;
    this.#readers = readers;
    this.#level = fields.find("level");
    this.#message = fields.find("message");
    this.#traceId = fields.findAttribute("trace_id");
    this.#spanId = fields.findAttribute("span_id");
    this.#eventName = fields.findAttribute("event.name");
    this.#severityEnds = [buffer.at];
    for (const name of severityRanges) {
      buffer.write(name);
      this.#severityEnds.push(buffer.at);
    }
  }

  isChild(_level: number, tag: number): boolean {
    return tag === childTag;
  }

  enter(): void {
    // Scopes hold the records themselves.
  }

  findExclusion(end: number): number {
    const { scanner, attributes, texts, buffer } = this.#readers;
    let severity = -1;
    let hasLevel = false;
    if (this.#message >= 0) texts.setText(this.#message, 0, 0);
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.attributes) {
        const to = scanner.readFieldEnd(end);
        attributes.read(to, texts);
        scanner.at = to;
      } else if (tag === Tag.severityNumber) severity = severityIndex(scanner.readVarint(end));
      else if ((tag & 7) === 2) hasLevel = this.#readBytes(tag, scanner.readFieldEnd(end), hasLevel);
      else scanner.skip(tag, end);
    }
    if (this.#level >= 0 && !hasLevel) {
      const ends = this.#severityEnds;
      if (severity < 0) texts.setText(this.#level, 0, 0);
      else texts.setText(this.#level, ends[severity]!, ends[severity + 1]!);
    }
    return texts.findExclusion(buffer);
  }

  /** Reads a field of bytes. Returns whether the record has a text for its level. */
  #readBytes(tag: number, to: number, hasLevel: boolean): boolean {
    const { scanner, attributes, texts } = this.#readers;
    const { value } = attributes;
    const { at: from } = scanner;
    let has = hasLevel;
    if (tag === Tag.severityText && this.#level >= 0) {
      value.setText(from, to);
      texts.setText(this.#level, value.from, value.to);
      has = value.to > value.from;
    } else if (tag === Tag.body && this.#message >= 0) {
      if (value.readText(to)) texts.setText(this.#message, value.from, value.to);
    } else if (tag === Tag.eventName && this.#eventName >= 0) {
      value.setText(from, to);
      if (value.to > value.from) texts.setText(this.#eventName, value.from, value.to);
    } else if (tag === Tag.traceId) this.#readId(this.#traceId, traceIdBytes, from, to);
    else if (tag === Tag.spanId) this.#readId(this.#spanId, spanIdBytes, from, to);
    scanner.at = to;
    return has;
  }

  /** Ids of another length, or of zeros, count as none. */
  #readId(field: number, byteLength: number, from: number, to: number): void {
    if (field < 0 || to - from !== byteLength) return;
    const { buffer, texts } = this.#readers;
    if (isZero(buffer.bytes, from, to)) return;
    const { at } = buffer;
    buffer.writeHex(from, to);
    texts.setText(field, at, buffer.at);
  }
}
