/** Reads an OTLP log record from protobuf. */

import { type RowRanges, severityRanges } from "../../../engine/index.ts";
import { droppedKeys, readCount } from "./lost-parts.ts";
import { severityIndex } from "./severity.ts";
import type { WireRecord, WireTools } from "./wire-body.ts";
import { WireTime } from "./wire-time.ts";

const Tag = {
  time: 0x09,
  severityNumber: 0x10,
  severityText: 0x1a,
  body: 0x2a,
  attributes: 0x32,
  droppedAttributes: 0x38,
  traceId: 0x4a,
  spanId: 0x52,
  observedTime: 0x59,
  eventName: 0x62,
} as const;

const traceIdBytes = 16;
const spanIdBytes = 8;

/** Reads log records from bytes, with the same result as `logRowOf` on JSON. */
export class LogRecord implements WireRecord {
  readonly #tools: WireTools;
  readonly #traceId: number;
  readonly #spanId: number;
  readonly #eventName: number;
  readonly #droppedAttributes: number;
  readonly fieldKeys: readonly number[];
  /** Offsets of the severity names, which the constructor writes to the buffer: name i is at [ends[i], ends[i + 1]). */
  readonly #severityEnds: number[];
  readonly #time = new WireTime();
  readonly #observed = new WireTime();

  constructor(tools: WireTools) {
    this.#tools = tools;
    const { builder } = tools.sink;
    this.#traceId = builder.addKeyText("trace_id");
    this.#spanId = builder.addKeyText("span_id");
    this.#eventName = builder.addKeyText("event.name");
    this.#droppedAttributes = builder.addKeyText(droppedKeys[0]);
    this.fieldKeys = [this.#traceId, this.#spanId, this.#eventName, this.#droppedAttributes];
    this.#severityEnds = [tools.buffer.at];
    for (const name of severityRanges) {
      tools.buffer.write(name);
      this.#severityEnds.push(tools.buffer.at);
    }
  }

  read(row: RowRanges, end: number): void {
    const { scanner, attributes } = this.#tools;
    let hasTime = false;
    let hasObserved = false;
    let severity = -1;
    let dropped = 0;
    while (scanner.at < end) {
      const tag = scanner.readVarint(end);
      switch (tag) {
        case Tag.attributes:
          attributes.read(scanner.readFieldEnd(end));
          break;
        case Tag.time:
          hasTime = this.#time.read(scanner, end);
          break;
        case Tag.observedTime:
          hasObserved = this.#observed.read(scanner, end);
          break;
        case Tag.severityNumber:
          severity = severityIndex(scanner.readVarint(end));
          break;
        case Tag.droppedAttributes:
          dropped = readCount(scanner, end);
          break;
        case Tag.severityText:
        case Tag.body:
          this.#readText(row, tag, end);
          break;
        case Tag.traceId:
        case Tag.spanId:
        case Tag.eventName:
          this.#readName(tag, end);
          break;
        default:
          scanner.skip(tag, end);
      }
    }
    if (row.levelFrom === row.levelTo && severity >= 0) {
      row.levelFrom = this.#severityEnds[severity]!;
      row.levelTo = this.#severityEnds[severity + 1]!;
    }
    if (dropped > 0) attributes.putText(this.#droppedAttributes, String(dropped));
    this.#setTime(row, hasTime, hasObserved);
  }

  #readText(row: RowRanges, tag: number, end: number): void {
    const { scanner, attributes } = this.#tools;
    const { value } = attributes;
    const to = scanner.readFieldEnd(end);
    if (tag === Tag.severityText) {
      value.setText(scanner.at, to);
      row.levelFrom = value.from;
      row.levelTo = value.to;
    } else if (value.readText(to)) {
      row.messageFrom = value.from;
      row.messageTo = value.to;
    }
    scanner.at = to;
  }

  /**
   * Reads a trace id, span id or event name. Ids of another length, or of zeros only, count as none (specification of
   * logs, "trace context fields").
   */
  #readName(tag: number, end: number): void {
    const { buffer, scanner, attributes } = this.#tools;
    const to = scanner.readFieldEnd(end);
    const { at: from } = scanner;
    scanner.at = to;
    if (tag === Tag.eventName) {
      attributes.putRange(this.#eventName, from, to);
      return;
    }
    const isTrace = tag === Tag.traceId;
    if (to - from !== (isTrace ? traceIdBytes : spanIdBytes) || isZero(buffer.bytes, from, to)) return;
    attributes.putHex(isTrace ? this.#traceId : this.#spanId, from, to);
  }

  #setTime(row: RowRanges, hasTime: boolean, hasObserved: boolean): void {
    if (hasTime || hasObserved) {
      const { seconds, nanos } = hasTime ? this.#time : this.#observed;
      row.seconds = seconds;
      row.nanos = nanos;
      return;
    }
    const { sink } = this.#tools;
    sink.untimedRows++;
    row.seconds = Math.floor(sink.arrivalMs / 1000);
    row.nanos = (sink.arrivalMs % 1000) * 1e6;
  }
}

/** Returns whether the bytes [from, to) are all zero; an id of zeros stands for none. */
export function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false;
  return true;
}
