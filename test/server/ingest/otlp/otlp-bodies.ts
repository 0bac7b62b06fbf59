/** Random OTLP requests, in protobuf and in JSON. */
import fc from "fast-check";
import protobuf from "protobufjs";
import type { BodyFormat, DecodedBody } from "../../../../server/index.ts";
import { decodeBody } from "../../../../server/index.ts";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import { makePlainTask } from "../decode-task.ts";

export type Request = Record<string, unknown>;

/** JSON as the official exporters write it, with ids in hexadecimal. */
export function jsonOf(request: Request): Buffer {
  return Buffer.from(JSON.stringify(request));
}

/** Protobuf by protobufjs, which shares no code with the reader. */
export function protobufOf(message: "LogsRequest" | "TraceRequest", request: Request): Buffer {
  const type = otlp.lookupType(message);
  return Buffer.from(type.encode(type.fromObject(withBytes(request) as Request)).finish());
}

const idFields = new Set(["traceId", "spanId", "parentSpanId"]);

function withBytes(value: unknown, key = ""): unknown {
  if (idFields.has(key)) return Buffer.from(String(value), "hex");
  if (key === "bytesValue") return Buffer.from(String(value), "base64");
  if (Array.isArray(value)) return value.map((each) => withBytes(each));
  if (typeof value !== "object" || value === null) return special(value, key);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withBytes(each, name)]));
}

function special(value: unknown, key: string): unknown {
  return key === "doubleValue" ? Number(value) : value;
}

const arrivalMs = 1_763_000_000_123;

export function decoded(signal: "logs" | "traces", format: BodyFormat, body: Uint8Array): DecodedBody {
  return decodeBody({
    content: { signal },
    format,
    ...makePlainTask(body),
    arrivalMs,
  });
}

const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("", "a", "GET /api/products 200", "größer 🦜", '{"a":1}', "x".repeat(300)),
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme" }) },
);
const key = fc.constantFrom(
  "service.name",
  "k8s.namespace.name",
  "k8s.deployment.name",
  "k8s.pod.name",
  "http.route",
  "name",
  "kind",
  "trace_id",
  "otel.scope.name",
  "",
  "ключ",
  "a",
  "a.b",
  "b",
);
const integers = ["0", "7", "-1", "200", "9007199254740993", "-9223372036854775808", "9223372036854775807"];
const doubles = [0.5, -1.25, 1e300, 3, -0, "NaN", "Infinity", "-Infinity"];

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    text.map((stringValue) => ({ stringValue })),
    fc.constantFrom(...integers).map((intValue) => ({ intValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    fc.constantFrom(...doubles).map((doubleValue) => ({ doubleValue })),
    fc.uint8Array({ maxLength: 5 }).map((bytes) => ({ bytesValue: Buffer.from(bytes).toString("base64") })),
    fc.constant({}),
    fc.array(tie("value"), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
    fc
      .array(fc.record({ key, value: tie("value") }), { maxLength: 3 })
      .map((values) => ({ kvlistValue: { values } })),
  ),
}));
const attributes = fc.array(fc.record({ key, value }), { maxLength: 6 });
const id = (bytes: number) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.uint8Array({ minLength: bytes, maxLength: bytes }) },
    { weight: 1, arbitrary: fc.constant(new Uint8Array(bytes)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: bytes + 1 }) },
  );
const hexId = (bytes: number) => id(bytes).map((each) => Buffer.from(each).toString("hex"));
const time = fc.oneof(
  fc.bigInt({ min: 1_700_000_000_000_000_000n, max: 1_763_000_000_000_000_000n }).map(String),
  fc.constantFrom("0", "1", "999999999", "1000000000", "18446744073709551615", "1763000000000000000"),
);
const optional = { requiredKeys: [] };

const logRecord = fc.record(
  {
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber: fc.integer({ min: 0, max: 26 }),
    severityText: fc.constantFrom("", "INFO", "Warning"),
    body: value,
    attributes,
    traceId: hexId(16),
    spanId: hexId(8),
    droppedAttributesCount: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    eventName: fc.constantFrom("", "session.start"),
  },
  optional,
);
const span = fc.record(
  {
    traceId: hexId(16),
    spanId: hexId(8),
    traceState: fc.constantFrom("", "a=b"),
    parentSpanId: hexId(8),
    name: text,
    kind: fc.integer({ min: 0, max: 6 }),
    startTimeUnixNano: time,
    endTimeUnixNano: time,
    attributes,
    events: fc.array(fc.record({ timeUnixNano: time, name: text, attributes }), { maxLength: 2 }),
    links: fc.array(
      fc.record({
        traceId: fc.constant("0af7651916cd43dd8448eb211c80319c"),
        spanId: fc.constant("b7ad6b7169203331"),
        attributes,
      }),
      { maxLength: 2 },
    ),
    status: fc.record({ message: text, code: fc.integer({ min: 0, max: 3 }) }, optional),
    droppedAttributesCount: fc.integer({ min: 0, max: 3 }),
    droppedEventsCount: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    droppedLinksCount: fc.integer({ min: 0, max: 3 }),
  },
  { requiredKeys: ["traceId", "spanId", "startTimeUnixNano"] },
);

function requests(resources: string, scopes: string, records: string, record: fc.Arbitrary<Request>) {
  const scopeList = fc.record(
    {
      scope: fc.record({ name: text, version: fc.constantFrom("", "1.2"), attributes }, optional),
      [records]: fc.array(record, { maxLength: 4 }),
    },
    { requiredKeys: [records] },
  );
  const group = fc.record(
    { resource: fc.record({ attributes }), [scopes]: fc.array(scopeList, { maxLength: 3 }) },
    { requiredKeys: [scopes] },
  );
  return fc.record({ [resources]: fc.array(group, { maxLength: 3 }) });
}

export const logsRequests = requests("resourceLogs", "scopeLogs", "logRecords", logRecord);
export const tracesRequests = requests("resourceSpans", "scopeSpans", "spans", span);

/** The message with unknown fields after it. */
export function withUnknownFields(body: Uint8Array): Buffer {
  const writer = new protobuf.Writer()
    .uint32((900 << 3) | 2)
    .string("unknown")
    .uint32((901 << 3) | 1)
    .fixed64(7);
  return Buffer.concat([
    body,
    writer
      .uint32((902 << 3) | 5)
      .fixed32(1)
      .uint32(903 << 3)
      .int64(-1)
      .finish(),
  ]);
}
