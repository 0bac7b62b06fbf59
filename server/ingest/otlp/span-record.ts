/** Reads an OTLP span from protobuf. */

import type { RowRanges } from "../../../engine/index.ts";
import { RowProblem } from "../json/json-row.ts";
import { durationText, spanKeys, spanKinds, statusCodes } from "../json/span-row.ts";
import { isZero } from "./log-record.ts";
import { droppedKeys, endsBeforeStartKey, readCount } from "./lost-parts.ts";
import { joinJson, linkJson } from "./span-lists.ts";
import type { WireRecord, WireTools } from "./wire-body.ts";
import { WireTime } from "./wire-time.ts";

const Tag = {
  traceId: 0x0a,
  spanId: 0x12,
  traceState: 0x1a,
  parentSpanId: 0x22,
  name: 0x2a,
  kind: 0x30,
  start: 0x39,
  end: 0x41,
  attributes: 0x4a,
  droppedAttributes: 0x50,
  event: 0x5a,
  droppedEvents: 0x60,
  link: 0x6a,
  droppedLinks: 0x70,
  status: 0x7a,
} as const;
const EventTag = { time: 0x09, name: 0x12, attributes: 0x1a } as const;
const LinkTag = { traceId: 0x0a, spanId: 0x12, traceState: 0x1a, attributes: 0x22 } as const;
const StatusTag = { message: 0x12, code: 0x18 } as const;

/** Key numbers of the span's own attributes: the builder gets `spanKeys` first. */
const KeyNumber = Object.fromEntries(spanKeys.map((key, index) => [key, index])) as Record<
  (typeof spanKeys)[number],
  number
>;
const traceIdBytes = 16;
const spanIdBytes = 8;
const parentAllowsZeros = true;

/** Reads spans from bytes, with the same result as `spanRowOf` on JSON. */
export class SpanRecord implements WireRecord {
  readonly #tools: WireTools;
  readonly #traceState: number;
  readonly #events: number;
  readonly #links: number;
  readonly #droppedKeys: readonly number[];
  readonly #endsBeforeStart: number;
  readonly fieldKeys: readonly number[];
  readonly #start = new WireTime();
  readonly #end = new WireTime();
  #eventTexts: string[] = [];
  #linkTexts: string[] = [];
  #hasTraceId = false;
  #hasSpanId = false;

  /** The builder's first keys must be `spanKeys`. */
  constructor(tools: WireTools) {
    this.#tools = tools;
    const { builder } = tools.sink;
    this.#traceState = builder.addKeyText("trace_state");
    this.#events = builder.addKeyText("events");
    this.#links = builder.addKeyText("links");
    this.#droppedKeys = droppedKeys.map((key) => builder.addKeyText(key));
    this.#endsBeforeStart = builder.addKeyText(endsBeforeStartKey);
    this.fieldKeys = [this.#traceState, ...this.#droppedKeys, this.#endsBeforeStart];
  }

  read(row: RowRanges, end: number): void {
    const { scanner, attributes } = this.#tools;
    this.#eventTexts = [];
    this.#linkTexts = [];
    this.#hasTraceId = false;
    this.#hasSpanId = false;
    const dropped = [0, 0, 0];
    let hasStart = false;
    let hasEnd = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.attributes) attributes.read(scanner.readFieldEnd(end));
      else if (tag === Tag.start) hasStart = this.#start.read(scanner, end);
      else if (tag === Tag.end) hasEnd = this.#end.read(scanner, end);
      else if (tag === Tag.kind)
        this.#putWord(KeyNumber.kind, "kind", ["", ...spanKinds], scanner.readVarint(end));
      else if (tag === Tag.droppedAttributes) dropped[0] = readCount(scanner, end);
      else if (tag === Tag.droppedEvents) dropped[1] = readCount(scanner, end);
      else if (tag === Tag.droppedLinks) dropped[2] = readCount(scanner, end);
      else this.#readBytes(tag, end);
    }
    this.#check(hasStart);
    row.seconds = this.#start.seconds;
    row.nanos = this.#start.nanos;
    if (hasEnd) this.#putDuration();
    dropped[1]! += this.#putList(this.#events, this.#eventTexts);
    dropped[2]! += this.#putList(this.#links, this.#linkTexts);
    for (const [i, count] of dropped.entries())
      if (count > 0) this.#tools.attributes.putText(this.#droppedKeys[i]!, String(count));
  }

  /** Puts a list into one attribute. Returns how many elements did not fit. */
  #putList(key: number, elements: readonly string[]): number {
    if (elements.length === 0) return 0;
    const { json, cut } = joinJson(elements);
    this.#tools.attributes.putText(key, json);
    this.#tools.sink.cutElements += cut;
    return cut;
  }

  #check(hasStart: boolean): void {
    if (!this.#hasTraceId) throw idProblem("traceId", traceIdBytes);
    if (!this.#hasSpanId) throw idProblem("spanId", spanIdBytes);
    if (!hasStart) throw new RowProblem("field", "startTimeUnixNano is required");
  }

  #readBytes(tag: number, end: number): void {
    const { scanner } = this.#tools;
    if ((tag & 7) !== 2) {
      scanner.skip(tag, end);
      return;
    }
    const to = scanner.readFieldEnd(end);
    const from = scanner.at;
    switch (tag) {
      case Tag.traceId:
        this.#hasTraceId = this.#putId(KeyNumber.trace_id, "traceId", traceIdBytes, from, to);
        break;
      case Tag.spanId:
        this.#hasSpanId = this.#putId(KeyNumber.span_id, "spanId", spanIdBytes, from, to);
        break;
      case Tag.parentSpanId:
        if (to > from)
          this.#putId(KeyNumber.parent_span_id, "parentSpanId", spanIdBytes, from, to, parentAllowsZeros);
        break;
      case Tag.name:
        this.#tools.attributes.putRange(KeyNumber.name, from, to);
        break;
      case Tag.traceState:
        this.#tools.attributes.putRange(this.#traceState, from, to);
        break;
      case Tag.status:
        this.#readStatus(to);
        break;
      case Tag.event:
        this.#eventTexts.push(this.#eventJson(from, to));
        break;
      case Tag.link:
        this.#linkTexts.push(this.#linkJson(from, to));
        break;
    }
    scanner.at = to;
  }

  #readStatus(end: number): void {
    const { scanner } = this.#tools;
    let code = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === StatusTag.code) code = scanner.readVarint(end);
      else if (tag === StatusTag.message) {
        const to = scanner.readFieldEnd(end);
        this.#tools.attributes.putRange(KeyNumber.status_message, scanner.at, to);
        scanner.at = to;
      } else scanner.skip(tag, end);
    }
    this.#putWord(KeyNumber.status_code, "status.code", statusCodes, code);
  }

  /**
   * Sets an id. Returns false for an id of zeros, which stands for none. Throws RowProblem for a wrong length, or for
   * zeros where they are not allowed.
   */
  #putId(
    key: number,
    name: string,
    byteLength: number,
    from: number,
    to: number,
    allowsZeros = false,
  ): boolean {
    const { buffer, attributes } = this.#tools;
    if (to - from !== byteLength) throw idProblem(name, byteLength);
    if (isZero(buffer.bytes, from, to)) {
      if (allowsZeros) return false;
      throw new RowProblem("field", `${name} must not be all zeros`);
    }
    attributes.putHex(key, from, to);
    return true;
  }

  /** Sets the word of an enumeration's number; an empty word sets nothing. */
  #putWord(key: number, name: string, words: readonly string[], number: number): void {
    const word = words[number];
    if (word === undefined) {
      throw new RowProblem("field", `${name} must be a number from 0 to ${words.length - 1}, got ${number}`);
    }
    if (word !== "") this.#tools.attributes.putText(key, word);
  }

  #putDuration(): void {
    const seconds = this.#end.seconds - this.#start.seconds;
    const nanos = this.#end.nanos - this.#start.nanos;
    const sum = seconds * 1e9 + nanos;
    if (sum < 0) {
      this.#tools.attributes.putText(KeyNumber.duration_ms, "0");
      this.#tools.attributes.putText(this.#endsBeforeStart, "true");
      return;
    }
    const isExact = sum <= Number.MAX_SAFE_INTEGER;
    const nanoseconds = isExact ? sum : Number(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
    this.#tools.attributes.putText(KeyNumber.duration_ms, durationText(nanoseconds));
  }

  #eventJson(from: number, to: number): string {
    const { buffer, scanner, attributes } = this.#tools;
    let time = "0";
    let name = "";
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === EventTag.time) {
        scanner.readEightBytes(to);
        time = BigInt.asUintN(64, BigInt(scanner.toSignedText())).toString();
      } else if (tag === EventTag.name) {
        const end = scanner.readFieldEnd(to);
        name = buffer.bytes.toString("utf8", scanner.at, end);
        scanner.at = end;
      } else scanner.skip(tag, to);
    }
    const attributesText = attributes.value.attributesJson(from, to, EventTag.attributes);
    return `{"timeUnixNano":"${time}","name":${JSON.stringify(name)},"attributes":${attributesText}}`;
  }

  #linkJson(from: number, to: number): string {
    const { buffer, scanner, attributes } = this.#tools;
    const link = { traceId: "", spanId: "", traceState: "" };
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag !== LinkTag.traceId && tag !== LinkTag.spanId && tag !== LinkTag.traceState) {
        scanner.skip(tag, to);
        continue;
      }
      const end = scanner.readFieldEnd(to);
      if (tag === LinkTag.traceId) link.traceId = buffer.bytes.toString("hex", scanner.at, end);
      else if (tag === LinkTag.spanId) link.spanId = buffer.bytes.toString("hex", scanner.at, end);
      else link.traceState = buffer.bytes.toString("utf8", scanner.at, end);
      scanner.at = end;
    }
    return linkJson(link, attributes.value.attributesJson(from, to, LinkTag.attributes));
  }
}

function idProblem(name: string, byteLength: number): RowProblem {
  return new RowProblem("field", `${name} must have ${byteLength} bytes`);
}
