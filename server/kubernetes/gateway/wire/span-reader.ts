/**
 * Reads the fields of spans that rules test. A test of `duration_ms`, `events` or `links` never matches here: the hub
 * makes these texts when it stores a span, and evaluates such rules then.
 */

import { spanKinds, statusCodes } from "../../../ingest/json/span-row.ts";
import { isZero } from "../../../ingest/otlp/log-record.ts";
import type { RecordReader, WireReaders } from "./record-reader.ts";

const childTag = 0x12;
const Tag = {
  traceId: 0x0a,
  spanId: 0x12,
  traceState: 0x1a,
  parentSpanId: 0x22,
  name: 0x2a,
  kind: 0x30,
  attributes: 0x4a,
  status: 0x7a,
} as const;
const StatusTag = { message: 0x12, code: 0x18 } as const;
const textKeys = { [Tag.traceState]: "trace_state", [Tag.name]: "name" } as const;
const idKeys = { [Tag.traceId]: "trace_id", [Tag.spanId]: "span_id", [Tag.parentSpanId]: "parent_span_id" };

export class SpanReader implements RecordReader {
  readonly levels = 2;
  readonly #readers: WireReaders;
  /** Field numbers by tag; only of tags whose field some rule tests. */
  readonly #texts = new Map<number, number>();
  readonly #ids = new Map<number, number>();
  readonly #kind: number;
  readonly #statusCode: number;
  readonly #statusMessage: number;

  constructor(readers: WireReaders) {
    const { fields } = readers;
    this.#readers = readers;
    for (const [map, keys] of [
      [this.#texts, textKeys],
      [this.#ids, idKeys],
    ] as const) {
      for (const [tag, key] of Object.entries(keys)) {
        const field = fields.findAttribute(key);
        if (field >= 0) map.set(Number(tag), field);
      }
    }
    this.#kind = fields.findAttribute("kind");
    this.#statusCode = fields.findAttribute("status_code");
    this.#statusMessage = fields.findAttribute("status_message");
  }

  isChild(_level: number, tag: number): boolean {
    return tag === childTag;
  }

  enter(): void {
    // Scopes hold the records themselves.
  }

  findExclusion(end: number): number {
    const { scanner, attributes, texts, buffer } = this.#readers;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.attributes) {
        const to = scanner.readFieldEnd(end);
        attributes.read(to, texts);
        scanner.at = to;
      } else if (tag === Tag.kind) this.#putWord(this.#kind, ["", ...spanKinds], scanner.readVarint(end));
      else if ((tag & 7) === 2) this.#readBytes(tag, scanner.readFieldEnd(end));
      else scanner.skip(tag, end);
    }
    return texts.findExclusion(buffer);
  }

  #readBytes(tag: number, to: number): void {
    const { scanner, buffer, texts } = this.#readers;
    const { at: from } = scanner;
    const text = this.#texts.get(tag);
    const id = this.#ids.get(tag);
    if (text !== undefined) this.#putText(text, from, to);
    else if (id !== undefined && to > from && !isZero(buffer.bytes, from, to)) {
      const { at } = buffer;
      buffer.writeHex(from, to);
      texts.setText(id, at, buffer.at);
    } else if (tag === Tag.status && (this.#statusCode >= 0 || this.#statusMessage >= 0))
      this.#readStatus(to);
    scanner.at = to;
  }

  #readStatus(end: number): void {
    const { scanner } = this.#readers;
    let code = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === StatusTag.code) code = scanner.readVarint(end);
      else if (tag === StatusTag.message) {
        const to = scanner.readFieldEnd(end);
        if (this.#statusMessage >= 0) this.#putText(this.#statusMessage, scanner.at, to);
        scanner.at = to;
      } else scanner.skip(tag, end);
    }
    this.#putWord(this.#statusCode, statusCodes, code);
  }

  /** An empty text is none. */
  #putText(field: number, from: number, to: number): void {
    const { attributes, texts } = this.#readers;
    attributes.value.setText(from, to);
    if (attributes.value.to > attributes.value.from) {
      texts.setText(field, attributes.value.from, attributes.value.to);
    }
  }

  #putWord(field: number, words: readonly string[], number: number): void {
    const word = words[number] ?? "";
    if (field < 0 || word === "") return;
    const { buffer, texts } = this.#readers;
    const { at } = buffer;
    buffer.write(word);
    texts.setText(field, at, buffer.at);
  }
}
