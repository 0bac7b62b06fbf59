/** Bodies whose decoding could take quadratic time or more: the work stays in proportion to their size. */

import { expect, test } from "vitest";
import { type BodyFormat, type DecodedBody, decodeBody } from "../../../../server/index.ts";
import { ingestRowsMax } from "../../../../server/ingest/limits.ts";
import { makePlainTask } from "../decode-task.ts";

function decodeLogs(format: BodyFormat, body: string | Uint8Array): DecodedBody {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return decodeBody({ ...makePlainTask(bytes), content: { signal: "logs" }, format, arrivalMs: 1e12 });
}

const noSeries = { day: 0, slots: new BigInt64Array(64), counts: new Int32Array(2) };
const activeSeries = {
  ...{ seriesMax: 10, today: noSeries, yesterday: noSeries },
  starts: new BigInt64Array(64),
};

// A conversion of the digits alone would take minutes.
const digits = "7".repeat(10_000_000);
const tooLong = "is longer than 262144 bytes";

test.each<[BodyFormat, string, RegExp | string]>([
  ["json lines", `{"message":"a","attributes":{"n":${digits}}}`, tooLong],
  ["json lines", `{"message":"a","n":-${digits}}`, tooLong],
  ["json lines", `{"message":"a","n":[${digits}]}`, tooLong],
  ["json lines", `{"message":"a","timestamp":${digits}}`, /timestamp must be a time/],
  ["elasticsearch bulk", `{"create":{}}\n{"message":"a","n":${digits}}\n`, /longer than|json/],
  ["loki json", `{"streams":[{"stream":{},"values":[[${digits},"a"]]}]}`, /Unix time in nanoseconds/],
])("%s: a number of many digits is a text, not a number (%#)", (format, body, reason) => {
  const decoded = decodeLogs(format, body);
  expect(decoded.ok && decoded.batch.rows).toBe(0);
  expect(decoded.ok && decoded.refused[0]?.reason).toMatch(reason);
});

const longName = "k".repeat(2_000_000);
const members = Array.from({ length: 9_000 }, (_, i) => `"${i}":1`).join();
const pairs = Array.from({ length: 9_000 }, (_, i) => `{"key":"${i}","value":{"intValue":1}}`).join();

test.each<[BodyFormat, string]>([
  ["json lines", `{"message":"a","${longName}":{${members}}}`],
  ["elasticsearch bulk", `{"create":{}}\n{"${longName}":{${members}}}\n`],
  [
    "otlp logs json",
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"${longName}","value":{"kvlistValue":{"values":[${pairs}]}}}]}]}]}]}`,
  ],
])("%s: the name of an object with many members is copied only where it can be stored", (format, body) => {
  const decoded = decodeLogs(format, body);
  expect(decoded.ok && decoded.batch.rows).toBe(0);
  expect(decoded.ok && decoded.refused[0]?.reason).toMatch(
    /^attribute key "k{40}…" is longer than 1024 bytes$/,
  );
});

test("otlp protobuf: the name of a map with many members is copied only where it can be stored", () => {
  const field = (tag: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts);
    const head = [tag];
    let rest = content.length;
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) head.push((rest % 128) | 0x80);
    return Buffer.concat([Buffer.from([...head, rest]), content]);
  };
  const member = field(0x0a, field(0x0a, Buffer.from("m")), field(0x12, Buffer.from([0x10, 1])));
  const map = field(0x32, Buffer.concat(Array.from({ length: 500_000 }, () => member)));
  const attribute = field(0x32, field(0x0a, Buffer.from(longName)), field(0x12, map));
  const body = field(0x0a, field(0x12, field(0x12, attribute)));
  const decoded = decodeLogs("otlp logs", body);
  expect(decoded.ok && decoded.batch.rows).toBe(0);
  expect(decoded.ok && decoded.refused[0]?.reason).toMatch(
    /^attribute key "k{40}…" is longer than 1024 bytes$/,
  );
});

test("syslog: line ends within a message take no longer than other bytes", () => {
  const message = `<13>1 - - - - - ${"\r".repeat(900_000)}x\r\n`;
  const decoded = decodeLogs("syslog", `${message.length} ${message}`);
  expect(decoded.ok && decoded.batch.rows).toBe(1);
});

/** The beginning of a message of Fluent's, up to its record. */
const head = Buffer.of(0x93, 0xa1, 0x61, 0x01);

test.each<[string, Uint8Array, RegExp]>([
  [
    "lists within lists",
    Buffer.concat([head, Buffer.alloc(1_000_000, 0x91), Buffer.of(0xc0)]),
    /nested more than 64 deep/,
  ],
  [
    "a list that claims to be long",
    Buffer.concat([head, Buffer.of(0xdd, 0xff, 0xff, 0xff, 0xff)]),
    /cut short/,
  ],
  [
    "a text that claims to be long",
    Buffer.concat([head, Buffer.of(0xdb, 0xff, 0xff, 0xff, 0xff)]),
    /cut short/,
  ],
])("fluent forward: %s", (_name, body, reason) => {
  const decoded = decodeLogs("fluent forward", body);
  expect(decoded.ok ? decoded.refused[0]?.reason : decoded.message).toMatch(reason);
});

test("influx: a line that is wrong at its first character is left behind", () => {
  const decoded = decodeBody({
    ...makePlainTask(Buffer.from(",\n=\n \n".repeat(100_000))),
    content: { signal: "metrics", activeSeries },
    format: "influx lines",
    arrivalMs: 1e12,
  });
  expect(decoded.ok && decoded.refusedByKind).toEqual([["field", 200_000]]);
});

const manyLabels = Array.from({ length: 9_000 }, (_, i) => `l${i}`);

test("loki: entries copy the labels of their stream only where a row can have so many", () => {
  const labels = manyLabels.map((label) => `"${label}":""`).join();
  const entries = Array.from({ length: 20_000 }, () => `["1000000000000000000","a"]`).join();
  const decoded = decodeLogs("loki json", `{"streams":[{"stream":{${labels}},"values":[${entries}]}]}`);
  expect(decoded.ok && decoded.refused[0]?.reason).toBe("more than 1000 attributes");
});

test("otlp json: records copy the attributes of their resource only where a row can have so many", () => {
  const attributes = manyLabels.map((key) => `{"key":"${key}","value":{"intValue":1}}`).join();
  const records = Array.from({ length: 1_000 }, () => "{}").join();
  const body = `{"resourceLogs":[{"resource":{"attributes":[${attributes}]},"scopeLogs":[{"logRecords":[${records}]}]}]}`;
  const decoded = decodeLogs("otlp logs json", body);
  expect(decoded.ok && decoded.refused[0]?.reason).toBe("more than 1000 attributes");
});

test("a large body is parsed only where its values fit into memory", () => {
  const body = Buffer.alloc(60_000_000, "[],");
  body.write('{"resourceLogs":[', 0);
  body.write(",[]]}", body.length - 5);
  const decoded = decodeLogs("otlp logs json", body);
  expect(decoded).toMatchObject({ ok: false, status: 413 });
});

test("a histogram of many buckets with many labels is refused before its samples are made", () => {
  const labels = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`l${i}`, "a"]));
  const bounds = Array.from({ length: 9_000 }, (_, i) => i);
  const row = { name: "m", type: "histogram", labels, bounds, counts: [...bounds, 1] };
  const decoded = decodeBody({
    ...makePlainTask(Buffer.from(`${JSON.stringify(row)}\n`.repeat(100))),
    content: { signal: "metrics", activeSeries },
    format: "json lines",
    arrivalMs: 1e12,
  });
  expect(decoded.ok && decoded.refused[0]?.reason).toContain("9001 buckets with 900 labels is too large");
});

test("loki: a list of numbers beyond 2^53 among the labels keeps its digits", () => {
  const body =
    '{"streams":[{"stream":{"a":[1,12345678901234567890]},"values":[["1000000000000000000","a"]]}]}';
  const decoded = decodeLogs("loki json", body);
  expect(decoded.ok && decoded.batch.rows).toBe(1);
});

function decodeMetrics(body: string): DecodedBody {
  const content = { signal: "metrics", activeSeries } as const;
  return decodeBody({ ...makePlainTask(Buffer.from(body)), content, format: "json lines", arrivalMs: 1e12 });
}

test("json metrics: a text without an end is read once", () => {
  const decoded = decodeMetrics(`{"value":NaN,"name":"${'\\"'.repeat(500_000)}`);
  expect(decoded.ok && decoded.refused[0]?.reason).toMatch(/^(not JSON|longer than)/);
});

test("json metrics: series that are refused for different reasons take no longer than others", () => {
  const series = Array.from({ length: 60_000 }, (_, i) => {
    return `{"name":"m","value":1,"labels":{"${i}${"k".repeat(1_100)}":"a"}}`;
  });
  const decoded = decodeMetrics(series.join("\n"));
  expect(decoded.ok && decoded.refusedByKind).toEqual([["row", series.length]]);
  expect(decoded.ok && decoded.refused[7]?.reason).toBe(
    `label "7${"k".repeat(39)}…" has a key longer than 1024 bytes`,
  );
});

test.each<[BodyFormat, string]>([
  ["json lines", "x\n"],
  ["splunk events", "{}"],
])("%s: rows that cannot be read count among the rows of a body", (format, row) => {
  const decoded = decodeLogs(format, row.repeat(ingestRowsMax + 1));
  expect(decoded).toMatchObject({ ok: false, status: 413, message: expect.stringContaining("rows") });
});
