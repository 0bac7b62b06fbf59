/** What a body must be once rules have left records out of it: from decoded records, field by field. */

import { otlp } from "../../../server/ingest/otlp/schema.ts";
import type { ExclusionRule } from "../../../server/model/exclusion.ts";
import { type OtlpSignal, patterns } from "./random-bodies.ts";
import { splitFields, varint, type WireField } from "./wire.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects of protobufjs
type Decoded = any;

interface NaiveRow {
  level?: string;
  message?: string;
  /** Names of all samples of a point. */
  names?: string[];
  attributes: Map<string, string>;
}

const decode = (message: string, bytes: Buffer): Decoded => {
  const type = otlp.lookupType(message);
  return type.toObject(type.decode(bytes), { longs: String, bytes: String });
};

function jsonOf(value: Decoded): unknown {
  if (value === undefined) return null;
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.intValue !== undefined) return (JSON as Decoded).rawJSON(value.intValue);
  if (value.doubleValue !== undefined)
    return Number.isFinite(value.doubleValue) ? value.doubleValue : String(value.doubleValue);
  if (value.bytesValue !== undefined) return value.bytesValue;
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(jsonOf);
  if (value.kvlistValue === undefined) return null;
  const pairs = (value.kvlistValue.values ?? []).map(({ key = "", value: each }: Decoded) => [key, each]);
  return Object.fromEntries([...new Map<string, Decoded>(pairs)].map(([key, each]) => [key, jsonOf(each)]));
}

function textOf(value: Decoded): string | undefined {
  if (value?.stringValue !== undefined) return value.stringValue;
  if (value?.bytesValue !== undefined) return value.bytesValue;
  if (value?.doubleValue !== undefined) return String(value.doubleValue);
  const json = jsonOf(value);
  return json === null ? undefined : JSON.stringify(json);
}

function addAttributes(
  attributes: Map<string, string>,
  pairs: Decoded[] | undefined,
  renamed: (name: string) => string,
  prefix = "",
): void {
  for (const { key = "", value } of pairs ?? []) {
    const name = prefix === "" ? key : `${prefix}.${key}`;
    if (value?.kvlistValue !== undefined) addAttributes(attributes, value.kvlistValue.values, renamed, name);
    else {
      const text = textOf(value);
      if (text !== undefined) attributes.set(renamed(name), text);
    }
  }
}

const spanFields = ["trace_id", "span_id", "parent_span_id", "name", "kind", "status_code"];
const renamedIn: Readonly<Record<OtlpSignal, (name: string) => string>> = {
  logs: (name) => name,
  metrics: (name) => name,
  traces: (name) =>
    [...spanFields, "status_message", "duration_ms"].includes(name) ? `attributes.${name}` : name,
};
const severities = ["trace", "debug", "info", "warn", "error", "fatal"];
const kinds = ["", "internal", "server", "client", "producer", "consumer"];
const isZeros = (hex: string) => /^0*$/.test(hex);
const hexOf = (base64: string | undefined) => Buffer.from(base64 ?? "", "base64").toString("hex");

/** Fields of a record become attributes at their place among the attributes, so fields are read one by one. */
function logRow(record: Buffer, base: ReadonlyMap<string, string>): NaiveRow {
  const row: NaiveRow = { level: "", message: "", attributes: new Map(base) };
  let severity = 0;
  for (const { raw, number } of splitFields(record)) {
    const part = decode("LogRecord", raw);
    if (part.severityText !== undefined) row.level = part.severityText;
    // Only varints of the field's own type count; the rest decodes to nothing.
    if (number === 2 && part.severityNumber !== undefined) severity = part.severityNumber;
    if (part.body !== undefined) row.message = textOf(part.body) ?? row.message!;
    addAttributes(row.attributes, part.attributes, renamedIn.logs);
    const trace = hexOf(part.traceId);
    if (trace.length === 32 && !isZeros(trace)) row.attributes.set("trace_id", trace);
    const span = hexOf(part.spanId);
    if (span.length === 16 && !isZeros(span)) row.attributes.set("span_id", span);
    if ((part.eventName ?? "") !== "") row.attributes.set("event.name", part.eventName);
  }
  if (row.level === "" && severity >= 1 && severity <= 24) row.level = severities[(severity - 1) >> 2]!;
  return row;
}

function spanRow(record: Buffer, base: ReadonlyMap<string, string>): NaiveRow {
  const attributes = new Map(base);
  for (const { raw } of splitFields(record)) {
    const part = decode("Span", raw);
    addAttributes(attributes, part.attributes, renamedIn.traces);
    for (const [field, key] of [
      ["traceId", "trace_id"],
      ["spanId", "span_id"],
      ["parentSpanId", "parent_span_id"],
    ] as const) {
      const id = hexOf(part[field]);
      if (id !== "" && !isZeros(id)) attributes.set(key, id);
    }
    if ((part.name ?? "") !== "") attributes.set("name", part.name);
    if ((part.traceState ?? "") !== "") attributes.set("trace_state", part.traceState);
    if ((kinds[part.kind] ?? "") !== "") attributes.set("kind", kinds[part.kind]!);
    if (part.status === undefined) continue;
    if ((part.status.message ?? "") !== "") attributes.set("status_message", part.status.message);
    attributes.set("status_code", ["unset", "ok", "error"][part.status.code ?? 0]!);
  }
  return { attributes };
}

/** Ids of the rules that leave out the row. */
function matchingRules(rules: readonly ExclusionRule[], signal: OtlpSignal, row: NaiveRow): string[] {
  const own = new Map(row.attributes);
  own.set("environment", "main");
  own.set("k8s.cluster.name", "main");
  return rules
    .filter(({ cluster, rules: parts }) => {
      if (cluster !== undefined && cluster !== "main") return false;
      return parts.some(
        ({ signals, match }) =>
          signals.includes(signal) &&
          (match?.matchExpressions ?? []).every(({ key, operator, values }) => {
            const isLevel = signal === "logs" && key === "log_level";
            const text = isLevel
              ? row.level
              : signal === "logs" && key === "message"
                ? row.message
                : own.get(key);
            if (text === undefined) return false;
            return values.some((value) => {
              if (operator === "In")
                return isLevel ? text.toLowerCase() === value.toLowerCase() : text === value;
              const { source, flags } = patterns.get(value)!;
              return new RegExp(source, isLevel ? "i" : flags).test(text);
            });
          }),
      );
    })
    .map(({ id }) => id);
}

const suffixes: Readonly<Record<number, readonly string[]>> = {
  5: [""],
  7: [""],
  9: ["_bucket", "_sum", "_count"],
  10: ["_bucket", "_sum", "_count"],
  11: ["", "_sum", "_count"],
};
const pointTypes: Readonly<Record<number, string>> = {
  5: "NumberDataPoint",
  7: "NumberDataPoint",
  9: "HistogramDataPoint",
  10: "ExponentialDataPoint",
  11: "SummaryDataPoint",
};

export interface NaiveResult {
  /** Empty where nothing is left. */
  body: Buffer;
  records: number;
  dropped: number;
  /** For each rule, the number of records that it matches. */
  matched: Map<string, number>;
}

export function filterNaively(
  body: Buffer,
  signal: OtlpSignal,
  rules: readonly ExclusionRule[],
): NaiveResult {
  const result: NaiveResult = { body, records: 0, dropped: 0, matched: new Map() };
  const isDropped = (matching: string[]) => {
    result.records++;
    for (const id of matching) result.matched.set(id, (result.matched.get(id) ?? 0) + 1);
    if (matching.length > 0) result.dropped++;
    return matching.length > 0;
  };
  /** The field with what `visit` makes of its children; undefined where it had records and none is left. */
  const edited = (
    field: WireField,
    isChild: (child: WireField) => boolean,
    visit: (child: WireField) => Buffer | undefined,
  ): Buffer | undefined => {
    const { records, dropped } = result;
    const visited = splitFields(field.content).map((child) => ({
      raw: child.raw,
      made: isChild(child) ? visit(child) : child.raw,
    }));
    const lost = result.dropped - dropped;
    if (lost === 0) return field.raw;
    if (lost === result.records - records) return undefined;
    const content = Buffer.concat(visited.flatMap(({ made }) => made ?? []));
    return Buffer.concat([varint((field.number << 3) | 2), varint(content.length), content]);
  };
  const isNumber = (number: number) => (child: WireField) => child.number === number && child.wireType === 2;
  const isData = (child: WireField) => suffixes[child.number] !== undefined && child.wireType === 2;
  const visitPoint = (point: WireField, data: number, name: string, base: ReadonlyMap<string, string>) => {
    const attributes = new Map(base);
    addAttributes(attributes, decode(pointTypes[data]!, point.content).attributes, renamedIn.metrics);
    const each = suffixes[data]!.map((suffix) => {
      const named = new Map(attributes).set("__name__", name + suffix);
      return matchingRules(rules, signal, { attributes: named });
    });
    const isWhole = each.every(({ length }) => length > 0);
    return isDropped(isWhole ? [...new Set(each.flat())] : []) ? undefined : point.raw;
  };
  const visitRecord = (field: WireField, base: ReadonlyMap<string, string>): Buffer | undefined => {
    if (signal === "metrics") {
      const { name = "" } = decode("Metric", field.content);
      return edited(field, isData, (data) =>
        edited(data, isNumber(1), (point) => visitPoint(point, data.number, name, base)),
      );
    }
    const row = signal === "logs" ? logRow(field.content, base) : spanRow(field.content, base);
    return isDropped(matchingRules(rules, signal, row)) ? undefined : field.raw;
  };
  const visitScope = (scope: WireField, resource: ReadonlyMap<string, string>): Buffer | undefined => {
    const base = new Map(resource);
    const own = splitFields(scope.content).findLast(isNumber(1));
    for (const { raw } of own === undefined ? [] : splitFields(own.content)) {
      const part = decode("InstrumentationScope", raw);
      if ((part.name ?? "") !== "") base.set("otel.scope.name", part.name);
      if ((part.version ?? "") !== "") base.set("otel.scope.version", part.version);
      addAttributes(base, part.attributes, renamedIn[signal]);
    }
    return edited(scope, isNumber(2), (field) => visitRecord(field, base));
  };
  const resources = splitFields(body).map((resource) => {
    if (!isNumber(1)(resource)) return resource.raw;
    const own = splitFields(resource.content).findLast(isNumber(1));
    const attributes = new Map<string, string>();
    if (own !== undefined)
      addAttributes(attributes, decode("Resource", own.content).attributes, renamedIn[signal]);
    return edited(resource, isNumber(2), (scope) => visitScope(scope, attributes));
  });
  result.body =
    result.dropped > 0 && result.dropped === result.records
      ? Buffer.alloc(0)
      : Buffer.concat(resources.filter((each) => each !== undefined));
  return result;
}
