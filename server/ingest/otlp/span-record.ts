import type { RowRanges } from "../../../engine/index.ts";
import { RowProblem } from "../json/json-row.ts";
import { durationText, spanKeys, spanKinds, statusCodes } from "../json/span-row.ts";
import { isZero } from "./log-record.ts";
import { joinedJson, linkJson } from "./span-lists.ts";
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
  event: 0x5a,
  link: 0x6a,
  status: 0x7a,
} as const;
const EventTag = { time: 0x09, name: 0x12, attributes: 0x1a } as const;
const LinkTag = { traceId: 0x0a, spanId: 0x12, traceState: 0x1a, attributes: 0x22 } as const;
const StatusTag = { message: 0x12, code: 0x18 } as const;

const Own = Object.fromEntries(spanKeys.map((key, place) => [key, place])) as Record<
  (typeof spanKeys)[number],
  number
>;
const traceIdBytes = 16;
const spanIdBytes = 8;
const parentAllowsZeros = true;

/** Spans as `spanRowOf` reads them from objects. */
export class SpanRecord implements WireRecord {
  readonly #tools: WireTools;
  readonly #traceState: number;
  readonly #events: number;
  readonly #links: number;
  readonly #start = new WireTime();
  readonly #end = new WireTime();
  #eventTexts: string[] = [];
  #linkTexts: string[] = [];
  #hasTraceId = false;
  #hasSpanId = false;

  /** The first keys of the draft are `spanKeys`. */
  constructor(tools: WireTools) {
    this.#tools = tools;
    const { draft } = tools.sink;
    this.#traceState = draft.addKeyText("trace_state");
    this.#events = draft.addKeyText("events");
    this.#links = draft.addKeyText("links");
  }

  read(row: RowRanges, end: number): void {
    const { scanner, attributes } = this.#tools;
    this.#eventTexts = [];
    this.#linkTexts = [];
    this.#hasTraceId = false;
    this.#hasSpanId = false;
    let hasStart = false;
    let hasEnd = false;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      if (tag === Tag.attributes) attributes.read(scanner.readEnd(end));
      else if (tag === Tag.start) hasStart = this.#start.read(scanner, end);
      else if (tag === Tag.end) hasEnd = this.#end.read(scanner, end);
      else if (tag === Tag.kind) this.#putWord(Own.kind, "kind", ["", ...spanKinds], scanner.readVarint(end));
      else this.#readBytes(tag, end);
    }
    this.#check(hasStart);
    row.seconds = this.#start.seconds;
    row.nanos = this.#start.nanos;
    if (hasEnd) this.#putDuration();
    if (this.#eventTexts.length > 0) this.#putText(this.#events, joinedJson(this.#eventTexts));
    if (this.#linkTexts.length > 0) this.#putText(this.#links, joinedJson(this.#linkTexts));
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
    const to = scanner.readEnd(end);
    const from = scanner.at;
    switch (tag) {
      case Tag.traceId:
        this.#hasTraceId = this.#putId(Own.trace_id, "traceId", traceIdBytes, from, to);
        break;
      case Tag.spanId:
        this.#hasSpanId = this.#putId(Own.span_id, "spanId", spanIdBytes, from, to);
        break;
      case Tag.parentSpanId:
        if (to > from)
          this.#putId(Own.parent_span_id, "parentSpanId", spanIdBytes, from, to, parentAllowsZeros);
        break;
      case Tag.name:
        this.#putRange(Own.name, from, to);
        break;
      case Tag.traceState:
        this.#putRange(this.#traceState, from, to);
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
        const to = scanner.readEnd(end);
        this.#putRange(Own.status_message, scanner.at, to);
        scanner.at = to;
      } else scanner.skip(tag, end);
    }
    this.#putWord(Own.status_code, "status.code", statusCodes, code);
  }

  /** False where the id is one of zeros, which stands for none. */
  #putId(
    key: number,
    name: string,
    byteLength: number,
    from: number,
    to: number,
    allowsZeros = false,
  ): boolean {
    const { tape, attributes } = this.#tools;
    if (to - from !== byteLength) throw idProblem(name, byteLength);
    if (isZero(tape.bytes, from, to)) {
      if (allowsZeros) return false;
      throw new RowProblem("field", `${name} must not be all zeros`);
    }
    const { at } = tape;
    tape.writeHex(from, to);
    attributes.put(key, at, tape.at);
    return true;
  }

  #putRange(key: number, from: number, to: number): void {
    const { value } = this.#tools.attributes;
    value.setText(from, to);
    if (value.to > value.from) this.#tools.attributes.put(key, value.from, value.to);
  }

  #putText(key: number, text: string): void {
    const { tape, attributes } = this.#tools;
    const { at } = tape;
    tape.write(text);
    attributes.put(key, at, tape.at);
  }

  /** The first word of kinds is empty: none was given. */
  #putWord(key: number, name: string, words: readonly string[], number: number): void {
    const word = words[number];
    if (word === undefined) {
      throw new RowProblem("field", `${name} must be a number from 0 to ${words.length - 1}, got ${number}`);
    }
    if (word !== "") this.#putText(key, word);
  }

  #putDuration(): void {
    const seconds = this.#end.seconds - this.#start.seconds;
    const nanos = this.#end.nanos - this.#start.nanos;
    const sum = seconds * 1e9 + nanos;
    if (sum < 0) throw new RowProblem("field", "endTimeUnixNano is before startTimeUnixNano");
    const isExact = sum <= Number.MAX_SAFE_INTEGER;
    const nanoseconds = isExact ? sum : Number(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
    this.#putText(Own.duration_ms, durationText(nanoseconds));
  }

  #eventJson(from: number, to: number): string {
    const { tape, scanner, attributes } = this.#tools;
    let time = "0";
    let name = "";
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag === EventTag.time) {
        scanner.readEightBytes(to);
        time = BigInt.asUintN(64, BigInt(scanner.signedText())).toString();
      } else if (tag === EventTag.name) {
        const end = scanner.readEnd(to);
        name = tape.bytes.toString("utf8", scanner.at, end);
        scanner.at = end;
      } else scanner.skip(tag, to);
    }
    const own = attributes.value.attributesJson(from, to, EventTag.attributes);
    return `{"timeUnixNano":"${time}","name":${JSON.stringify(name)},"attributes":${own}}`;
  }

  #linkJson(from: number, to: number): string {
    const { tape, scanner, attributes } = this.#tools;
    const link = { traceId: "", spanId: "", traceState: "" };
    while (scanner.at < to) {
      const tag = scanner.readVarint(to);
      if (tag !== LinkTag.traceId && tag !== LinkTag.spanId && tag !== LinkTag.traceState) {
        scanner.skip(tag, to);
        continue;
      }
      const end = scanner.readEnd(to);
      if (tag === LinkTag.traceId) link.traceId = tape.bytes.toString("hex", scanner.at, end);
      else if (tag === LinkTag.spanId) link.spanId = tape.bytes.toString("hex", scanner.at, end);
      else link.traceState = tape.bytes.toString("utf8", scanner.at, end);
      scanner.at = end;
    }
    return linkJson(link, attributes.value.attributesJson(from, to, LinkTag.attributes));
  }
}

function idProblem(name: string, byteLength: number): RowProblem {
  return new RowProblem("field", `${name} must have ${byteLength} bytes`);
}
