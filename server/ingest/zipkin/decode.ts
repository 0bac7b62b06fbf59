/**
 * Decodes spans of Zipkin's API v2 (https://zipkin.io/zipkin-api/). Names of attributes are those of OpenTelemetry's
 * translation.
 */

import { createHash } from "node:crypto";
import type { LogRow } from "../../../engine/index.ts";
import {
  attributesOf,
  isGiven,
  type JsonFields,
  makeFieldProblem,
  type OnNumber,
  RowProblem,
  textOf,
} from "../json/json-row.ts";
import { readJsonObjects } from "../json/read-objects.ts";
import { durationText, spanIdDigits, spanKeySet, spanKeys, traceIdDigits } from "../json/span-row.ts";
import { droppedKeys } from "../otlp/lost-parts.ts";
import { joinJson } from "../otlp/span-lists.ts";
import type { RowSink } from "../row-sink.ts";
import { agentServiceName, serviceKey } from "../service-name.ts";
import { statusOfTags } from "./span-status.ts";

type SpanFields = Record<(typeof spanKeys)[number], string | null>;
type Texts = Record<string, string>;

const kinds: Readonly<Record<string, string>> = {
  CLIENT: "client",
  SERVER: "server",
  PRODUCER: "producer",
  CONSUMER: "consumer",
};
/** The fields of a span; all others are no part of the format, and attributes. */
const spanFields: ReadonlySet<string> = new Set([
  ...["traceId", "id", "parentId", "kind", "name", "timestamp", "duration", "localEndpoint"],
  ...["remoteEndpoint", "annotations", "tags", "shared"],
]);
/** Attributes of the peer. */
const peer = { name: "peer.service", address: "network.peer.address", port: "network.peer.port" } as const;
const microsecond = 1_000n;

export function readZipkinSpans(body: Buffer, sink: RowSink): void {
  readJsonObjects(body, sink, (json, onNumber) => readSpan(json, onNumber, sink));
}

function readSpan(json: JsonFields, onNumber: OnNumber, sink: RowSink): LogRow {
  const traceId = idOf(json, "traceId", traceIdDigits);
  const spanId = idOf(json, "id", spanIdDigits);
  const parentId = isGiven(json.parentId) ? idOf(json, "parentId", spanIdDigits) : null;
  const attributes: Texts = Object.create(null);
  const sent = attributesOf({ ...json, attributes: json.tags }, "attributes", ownFields, onNumber);
  for (const key in sent) attributes[spanKeySet.has(key) ? `attributes.${key}` : key] = sent[key]!;
  putEndpoints(json, attributes, onNumber);
  const events = readAnnotations(json.annotations, onNumber);
  const dropped = putEvents(attributes, events, sink);
  const isShared = json.shared === true;
  const fromFields: SpanFields = {
    trace_id: traceId,
    span_id: isShared ? sharedSpanId(traceId, spanId) : spanId,
    parent_span_id: isShared ? spanId : parentId,
    name: textOf(json.name, onNumber),
    kind: kindOf(json.kind),
    ...statusOfTags(sent),
    duration_ms: durationOf(json.duration, onNumber),
  };
  for (const key of spanKeys) if ((fromFields[key] ?? "") !== "") attributes[key] = fromFields[key]!;
  if (dropped > 0) attributes[droppedKeys[1]] = String(dropped);
  return { timeNs: startOf(json, events, onNumber) ?? sink.arrivalNs(), level: "", message: "", attributes };
}

/** `tags` is read under the name `attributes`. */
const ownFields: ReadonlySet<string> = new Set([...spanFields, "attributes"]);

/** Reads an id of hexadecimal digits; fewer digits are filled up with zeros, as where trace ids have 64 bits. */
function idOf(json: JsonFields, name: string, digits: number): string {
  const value = json[name];
  if (typeof value !== "string" || value.length > digits || !/^[0-9a-f]+$/i.test(value))
    throw makeFieldProblem(name, `up to ${digits} hexadecimal digits`, value);
  if (/^0+$/.test(value)) throw new RowProblem("field", `${name} must not be all zeros`);
  return value.toLowerCase().padStart(digits, "0");
}

/**
 * A server's span that has the id of its client's, as in Zipkin's older tracers: it gets an id of its own, always the
 * same, since ids are unique within a trace here.
 */
function sharedSpanId(traceId: string, spanId: string): string {
  return createHash("sha256").update(`${traceId} ${spanId} server`).digest("hex").slice(0, spanIdDigits);
}

function kindOf(kind: unknown): string | null {
  if (!isGiven(kind)) return null;
  const known = typeof kind === "string" && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
  if (known === undefined) throw makeFieldProblem("kind", `one of ${Object.keys(kinds).join(", ")}`, kind);
  return known;
}

/** Milliseconds; null where no duration was sent. Throws RowProblem. */
function durationOf(duration: unknown, onNumber: OnNumber): string | null {
  const micros = microsOf(duration, "duration", onNumber);
  return micros === undefined ? null : durationText(Number(micros * microsecond));
}

/** Start of the span: of one without, that of its first annotation. Throws RowProblem. */
function startOf(
  { timestamp }: JsonFields,
  events: readonly SpanEvent[],
  onNumber: OnNumber,
): bigint | undefined {
  const micros = microsOf(timestamp, "timestamp", onNumber);
  if (micros !== undefined && micros > 0n) return micros * microsecond;
  const [first, ...others] = events.map(({ timeNs }) => timeNs);
  return others.reduce((least, each) => (each < least! ? each : least), first);
}

/** Microseconds, undefined for none. Some tracers write them with a fraction. Throws RowProblem. */
function microsOf(value: unknown, name: string, onNumber: OnNumber): bigint | undefined {
  if (!isGiven(value)) return undefined;
  if (typeof value === "bigint" && value >= 0n) return value;
  if (typeof value !== "number" || !(value >= 0) || !Number.isFinite(value))
    throw makeFieldProblem(name, "a number of microseconds", value);
  onNumber(value);
  return BigInt(Math.round(value));
}

function putEndpoints(
  { localEndpoint, remoteEndpoint }: JsonFields,
  attributes: Texts,
  onNumber: OnNumber,
): void {
  const local = toEndpoint(localEndpoint, "localEndpoint");
  const remote = toEndpoint(remoteEndpoint, "remoteEndpoint");
  const put = (key: string, value: unknown) => {
    const text = textOf(value, onNumber) ?? "";
    if (text !== "" && text !== "0") attributes[key] ??= text;
  };
  put(serviceKey, local.serviceName);
  put("network.local.address", local.ipv4 ?? local.ipv6);
  put("network.local.port", local.port);
  put(peer.name, remote.serviceName);
  put(peer.address, remote.ipv4 ?? remote.ipv6);
  put(peer.port, remote.port);
  const name = agentServiceName(attributes);
  if (name !== undefined) attributes[serviceKey] = name;
}

function toEndpoint(value: unknown, name: string): JsonFields {
  if (!isGiven(value)) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as JsonFields;
  throw makeFieldProblem(name, "an object", value);
}

interface SpanEvent {
  timeNs: bigint;
  name: string;
}

/** Throws RowProblem. */
function readAnnotations(annotations: unknown, onNumber: OnNumber): SpanEvent[] {
  if (!isGiven(annotations)) return [];
  if (!Array.isArray(annotations)) throw makeFieldProblem("annotations", "an array", annotations);
  return annotations.map((annotation: unknown, i) => {
    const { timestamp, value } = toEndpoint(annotation, `annotations[${i}]`);
    const micros = microsOf(timestamp, `annotations[${i}].timestamp`, onNumber);
    if (micros === undefined)
      throw makeFieldProblem(`annotations[${i}].timestamp`, "microseconds", timestamp);
    return { timeNs: micros * microsecond, name: textOf(value, onNumber) ?? "" };
  });
}

/** Annotations become events in OTLP's form. Returns how many did not fit. */
function putEvents(attributes: Texts, events: readonly SpanEvent[], sink: RowSink): number {
  if (events.length === 0) return 0;
  const texts = events.map(
    ({ timeNs, name }) => `{"timeUnixNano":"${timeNs}","name":${JSON.stringify(name)},"attributes":{}}`,
  );
  const { json, cut } = joinJson(texts);
  attributes.events = json;
  sink.cutElements += cut;
  return cut;
}
