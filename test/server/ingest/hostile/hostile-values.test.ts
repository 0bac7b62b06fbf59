/** Values of unexpected types and sizes, in every field of every JSON protocol: rows are taken or refused one by one. */

import { expect, test } from "vitest";
import { type DecodedBody, decodeBody } from "../../../../server/index.ts";
import type { BodyTask } from "../../../../server/ingest/decode-task.ts";
import { isSoak, seed, seededRandom } from "../../../durability/campaign.ts";
import { makePlainTask } from "../decode-task.ts";
import { at, type BodyName, formatOf, nowMs, type ValidBodies, validBodies } from "../valid-bodies.ts";

/** JSON texts. An object without methods of its own cannot be turned into a text or a number by JavaScript. */
const hostileValues = [
  ...[
    '{"toString":1}',
    '{"toString":1,"valueOf":1}',
    '{"toJSON":1}',
    '{"__proto__":null}',
    "{}",
    "[]",
    "[[]]",
  ],
  ...[
    "null",
    "true",
    "-0",
    "0.5",
    "-1",
    "1e999",
    "-1e999",
    "1e300",
    "1.7e308",
    "123456789012345678901234567890",
  ],
  ...['""', '"NaN"', '"x"', '"-1"', '"99999999999999999999"', '"\\u0000"', '"\\ud800"'],
];
/** Fields that some protocol reads, but that its valid body may lack. */
const fieldNames = [
  ...["kind", "statusCode", "statusMessage", "parentSpanId", "status", "events", "links", "type", "unit"],
  ...["temporality", "sum", "count", "counts", "bounds", "scale", "zeroCount", "positive", "negative"],
  ...["severityNumber", "severityText", "flags", "droppedAttributesCount", "traceId", "spanId", "body"],
  ...[
    "isMonotonic",
    "aggregationTemporality",
    "startTimeUnixNano",
    "observedTimeUnixNano",
    "asInt",
    "exemplars",
  ],
  ...["zeroThreshold", "offset", "bucketCounts", "eventName", "level", "severity", "log_level", "time", "ts"],
  ...[
    "@timestamp",
    "timestamp",
    "seconds",
    "nanos",
    "epochSecond",
    "instant",
    "timeMillis",
    "msg",
    "message",
  ],
  ...["constructor", "toString", "_id", "_index", "ddtags", "ddsource", "hostname", "sourcetype", "index"],
];
const placeholder = "\0hostile\0";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Bodies of one document, or of several lines, as JSON documents. Undefined where the body is not JSON. */
function parseBody(body: Buffer): Json[] | undefined {
  try {
    return [JSON.parse(body.toString()) as Json];
  } catch {
    try {
      return body
        .toString()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as Json);
    } catch {
      return undefined;
    }
  }
}

/** Calls `visit` after each change of one member of `node`, and takes the change back. */
function forEachChange(node: Json | Json[], visit: (name: string) => void): void {
  if (typeof node !== "object" || node === null) return;
  const members = node as Record<string, Json>;
  const names = Array.isArray(node) ? Object.keys(node) : [...new Set([...Object.keys(node), ...fieldNames])];
  for (const name of names) {
    const isThere = Object.hasOwn(members, name);
    const before = members[name]!;
    members[name] = placeholder;
    visit(name);
    if (isThere) members[name] = before;
    else delete members[name];
    if (isThere) forEachChange(before, visit);
  }
}

const noSeries = { day: 0, slots: new BigInt64Array(64), counts: new Int32Array(2) };
const activeSeries = {
  ...{ seriesMax: 10, today: noSeries, yesterday: noSeries },
  starts: new BigInt64Array(64),
};

function decode(name: BodyName, body: string, more: Partial<BodyTask> = {}): DecodedBody {
  const { signal }: ValidBodies = validBodies[name];
  const content = signal === "metrics" ? { signal, activeSeries } : { signal };
  return decodeBody({
    ...makePlainTask(Buffer.from(body)),
    ...{ content, format: formatOf(name), arrivalMs: nowMs, flattensJson: true, ...more },
  });
}

const attributes = [
  { key: "a", value: { kvlistValue: { values: [{ key: "b", value: { intValue: "1" } }] } } },
];
const record = { timeUnixNano: at, severityNumber: 9, body: { stringValue: "m" }, attributes };
const span = {
  ...{
    traceId: "0123456789abcdef0123456789abcdef",
    spanId: "0123456789abcdef",
    name: "n",
    kind: 2,
    attributes,
  },
  ...{ startTimeUnixNano: at, endTimeUnixNano: at, status: { code: 1 } },
  events: [{ timeUnixNano: at, name: "e", attributes }],
};
/** The generated bodies of these are large. */
const smallBodies: Partial<Record<BodyName, Json[]>> = {
  "otlp logs json": [
    { resourceLogs: [{ resource: { attributes }, scopeLogs: [{ logRecords: [record, record] }] }] },
  ],
  "otlp traces json": [
    { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [span, span] }] }] },
  ],
};

/** The documents of each body of JSON. */
function documentsOf(name: BodyName): Json[][] {
  const small = smallBodies[name];
  if (small !== undefined) return [structuredClone(small)];
  const bodies = validBodies[name].seeds().map((body) => parseBody(body));
  return bodies.filter((body) => body !== undefined);
}

const jsonNames = (Object.keys(validBodies) as BodyName[]).filter((name) => documentsOf(name).length > 0);

test("most protocols have a body of JSON", () => {
  expect(jsonNames.length).toBeGreaterThanOrEqual(12);
});

test.each(jsonNames)(
  `%s: a hostile value refuses its row, and is no fault of the reader (SVC_SEED=${seed})`,
  (name) => {
    const random = seededRandom(`hostile values of ${name}`);
    const valuesTried = () =>
      isSoak ? hostileValues : Array.from({ length: 6 }, () => random.pick(hostileValues));
    let tried = 0;
    for (const body of documentsOf(name)) {
      forEachChange(body, (field) => {
        const text = body.map((each) => JSON.stringify(each)).join("\n");
        for (const hostile of valuesTried()) {
          const decoded = decode(
            name,
            text.replace(JSON.stringify(placeholder), () => hostile),
          );
          tried++;
          if (decoded.ok) continue;
          expect(decoded.status, `${field}: ${hostile}`).toBe(400);
          expect(decoded.message, `${field}: ${hostile}`).not.toContain("nested too deeply");
        }
      });
    }
    expect(tried).toBeGreaterThan(500);
  },
);
