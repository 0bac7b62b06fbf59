/** Decodes batches of Jaeger's spans in Thrift (https://github.com/jaegertracing/jaeger-idl/blob/main/thrift/jaeger.thrift). */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import { checkSharedAttributes, RowProblem } from "../json/json-row.ts";
import { durationText, spanIdDigits, spanKeySet, spanKeys, spanKinds } from "../json/span-row.ts";
import { sharedAttributeCost } from "../limits.ts";
import { droppedKeys } from "../otlp/lost-parts.ts";
import { joinJson, linkJson } from "../otlp/span-lists.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { statusOfTags } from "../zipkin/span-status.ts";
import { ThriftReader, type ThriftStruct, type ThriftValue } from "./thrift.ts";

type Texts = Record<string, string>;

/** Numbers of the fields of each structure. */
const BatchField = { process: 1, spans: 2 } as const;
const ProcessField = { serviceName: 1, tags: 2 } as const;
const SpanField = {
  traceIdLow: 1,
  traceIdHigh: 2,
  spanId: 3,
  parentSpanId: 4,
  operationName: 5,
  references: 6,
  startTime: 8,
  duration: 9,
  tags: 10,
  logs: 11,
} as const;
const ReferenceField = { type: 1, traceIdLow: 2, traceIdHigh: 3, spanId: 4 } as const;
const LogField = { timestamp: 1, fields: 2 } as const;
const TagField = { key: 1, type: 2 } as const;
/** The fields that hold a tag's value, by its type: text, number, truth value, integer, bytes. */
const tagValueFields = [3, 4, 5, 6, 7] as const;
const childOf = 0;
const kindTag = "span.kind";
const eventField = "event";
const microsecond = 1_000n;

export function readJaegerBatch(body: Buffer, sink: RowSink): void {
  const batch = new ThriftReader(body).readStruct();
  const process = structOf(batch.get(BatchField.process));
  const shared = readTags(process.get(ProcessField.tags));
  const service = textOf(process.get(ProcessField.serviceName));
  if (service !== "") shared[serviceKey] = service;
  const keys = Object.keys(shared);
  const copyCost = keys.reduce((sum, key) => sum + key.length + shared[key]!.length + sharedAttributeCost, 0);
  for (const span of structsOf(batch.get(BatchField.spans))) {
    sink.refuseOnProblem(() => {
      checkSharedAttributes(keys.length);
      sink.countRepeatedBytes(copyCost);
      sink.addText(makeRow(span, shared, sink));
    });
  }
}

/** Throws RowProblem. */
function makeRow(span: ThriftStruct, shared: Readonly<Texts>, sink: RowSink): LogRow {
  const tags = readTags(span.get(SpanField.tags));
  const attributes: Texts = Object.create(null);
  for (const texts of [shared, tags]) {
    for (const key in texts) attributes[spanKeySet.has(key) ? `attributes.${key}` : key] = texts[key]!;
  }
  const { parentId, linkTexts } = readReferences(span);
  putList(attributes, "events", readLogs(span), droppedKeys[1], sink);
  putList(attributes, "links", linkTexts, droppedKeys[2], sink);
  const kind = tags[kindTag]?.toLowerCase() ?? "";
  const fromFields: Record<(typeof spanKeys)[number], string | null> = {
    trace_id: requireId(traceIdOf(span, SpanField), "traceId"),
    span_id: requireId(idOf(span.get(SpanField.spanId)), "spanId"),
    parent_span_id: parentId,
    name: textOf(span.get(SpanField.operationName)),
    kind: (spanKinds as readonly string[]).includes(kind) ? kind : null,
    ...statusOfTags(tags),
    duration_ms: durationText(Number(longOf(span.get(SpanField.duration)) * microsecond)),
  };
  for (const key of spanKeys) if ((fromFields[key] ?? "") !== "") attributes[key] = fromFields[key]!;
  const name = agentServiceName(attributes);
  if (name !== undefined) attributes[serviceKey] = name;
  const start = longOf(span.get(SpanField.startTime));
  if (start <= 0n) throw new RowProblem("field", "startTime is required: Unix time in microseconds");
  return { timeNs: start * microsecond, level: "", message: "", attributes };
}

/** The parent, and the other references as links. */
function readReferences(span: ThriftStruct): { parentId: string | null; linkTexts: string[] } {
  const traceId = traceIdOf(span, SpanField);
  let parentId = idOf(span.get(SpanField.parentSpanId));
  const linkTexts: string[] = [];
  for (const reference of structsOf(span.get(SpanField.references))) {
    const ids = {
      traceId: traceIdOf(reference, ReferenceField),
      spanId: idOf(reference.get(ReferenceField.spanId)) ?? "",
    };
    const isParent =
      longOf(reference.get(ReferenceField.type)) === BigInt(childOf) && ids.traceId === traceId;
    if (isParent && (parentId === null || parentId === ids.spanId)) parentId = ids.spanId;
    else linkTexts.push(linkJson({ traceId: ids.traceId ?? "", spanId: ids.spanId, traceState: "" }, "{}"));
  }
  return { parentId, linkTexts };
}

/** Logs become events in OTLP's form, named by their field `event`. */
function readLogs(span: ThriftStruct): string[] {
  return structsOf(span.get(SpanField.logs)).map((log) => {
    const { [eventField]: name = "", ...attributes } = readTags(log.get(LogField.fields));
    const time = longOf(log.get(LogField.timestamp)) * microsecond;
    return `{"timeUnixNano":"${time}","name":${JSON.stringify(name)},"attributes":${JSON.stringify(attributes)}}`;
  });
}

function putList(
  attributes: Texts,
  key: string,
  elements: readonly string[],
  droppedKey: string,
  sink: RowSink,
): void {
  if (elements.length === 0) return;
  const { json, cut } = joinJson(elements);
  attributes[key] = json;
  sink.cutElements += cut;
  if (cut > 0) attributes[droppedKey] = String(cut);
}

/** Tags as texts; bytes that are no UTF-8 become Base64. Some clients send all fields, of which the type's holds the value. */
function readTags(list: ThriftValue | undefined): Texts {
  const tags: Texts = Object.create(null);
  for (const tag of structsOf(list)) {
    const ofType = tagValueFields[Number(tag.get(TagField.type))];
    const fields = ofType === undefined ? tagValueFields : [ofType, ...tagValueFields];
    const value = fields.map((field) => tag.get(field)).find((each) => each !== undefined);
    tags[textOf(tag.get(TagField.key))] = textOf(value);
  }
  return tags;
}

function structsOf(value: ThriftValue | undefined): ThriftStruct[] {
  return Array.isArray(value) ? value.filter((each): each is ThriftStruct => each instanceof Map) : [];
}

function structOf(value: ThriftValue | undefined): ThriftStruct {
  return value instanceof Map ? value : new Map();
}

function textOf(value: ThriftValue | undefined): string {
  if (Buffer.isBuffer(value)) return value.toString(isUtf8(value) ? "utf8" : "base64");
  return typeof value === "object" || value === undefined ? "" : String(value);
}

function longOf(value: ThriftValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : 0n;
}

/** 64 bits as hexadecimal digits; null for zero, which stands for no id. */
function idOf(value: ThriftValue | undefined): string | null {
  if (typeof value !== "bigint" || value === 0n) return null;
  return toDigits(value);
}

function traceIdOf(
  struct: ThriftStruct,
  { traceIdLow, traceIdHigh }: { traceIdLow: number; traceIdHigh: number },
): string | null {
  const [high, low] = [struct.get(traceIdHigh), struct.get(traceIdLow)].map((half) =>
    typeof half === "bigint" ? half : 0n,
  ) as [bigint, bigint];
  return high === 0n && low === 0n ? null : toDigits(high) + toDigits(low);
}

function toDigits(half: bigint): string {
  return BigInt.asUintN(64, half).toString(16).padStart(spanIdDigits, "0");
}

function requireId(id: string | null, name: string): string {
  if (id === null) throw new RowProblem("field", `${name} is required, and must not be zero`);
  return id;
}
