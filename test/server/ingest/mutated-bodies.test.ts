/** Mutated bodies of every format are taken or refused, without a crash, a hang, or half a batch. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BodyFormat } from "../../../server/index.ts";
import { decodeBody } from "../../../server/index.ts";
import type { BodyTask } from "../../../server/ingest/decode-task.ts";
import { pushRequest } from "../../../server/ingest/loki/schema.ts";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1, writeRequest2 } from "../../../server/ingest/prometheus/schema.ts";
import type { Running } from "../running.ts";
import { call, lines, search, startServer } from "../running.ts";
import { makePlainTask } from "./decode-task.ts";
import { jsonOf, logsRequests, protobufOf, type Request, tracesRequests } from "./otlp/otlp-bodies.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
/** Number of mutated bodies for each format. */
const bodies = process.env.SVC_SOAK === "1" ? 100_000 : 1_500;

let server: Running;
let what: Record<"logs" | "traces" | "metrics", BodyTask["content"]>;
beforeAll(async () => {
  server = await startServer();
  const activeSeries = server.service.store.seriesCensus();
  what = {
    logs: { signal: "logs" },
    traces: { signal: "traces" },
    metrics: { signal: "metrics", activeSeries },
  };
});
afterAll(() => server.stop());

const nowMs = Date.now();
const value = (text: string) => ({ stringValue: text });
const attributes = [
  { key: "a", value: value("x") },
  { key: "m", value: { kvlistValue: { values: [{ key: "b", value: { doubleValue: 1.5 } }] } } },
];
const at = `${nowMs}000000`;
const metricsRequest = {
  resourceMetrics: [
    {
      resource: { attributes },
      scopeMetrics: [
        {
          metrics: [
            { name: "g", gauge: { dataPoints: [{ timeUnixNano: at, asDouble: 1, attributes }] } },
            {
              name: "h",
              histogram: {
                aggregationTemporality: 2,
                dataPoints: [{ timeUnixNano: at, bucketCounts: ["1", "2"], explicitBounds: [1], sum: 2 }],
              },
            },
            {
              name: "e",
              exponentialHistogram: {
                dataPoints: [
                  { timeUnixNano: at, scale: 3, positive: { offset: -5, bucketCounts: ["1", "0", "4"] } },
                ],
              },
            },
            { name: "s", summary: { dataPoints: [{ timeUnixNano: at, quantileValues: [{ quantile: 1 }] }] } },
          ],
        },
      ],
    },
  ],
};
const labels = [
  { name: "__name__", value: "m" },
  { name: "a", value: "b" },
];
const histogram = {
  countInt: 3,
  schema: 2,
  positiveSpans: [{ offset: 1, length: 2 }],
  positiveDeltas: [1, 1],
  timestamp: nowMs,
};
const samples = [{ value: 1.5, timestamp: nowMs }];
const symbols = ["", "__name__", "m", "a", "b"];

function encoded(type: typeof writeRequest1, request: object): Buffer {
  return Buffer.from(type.encode(type.fromObject(request)).finish());
}

interface Case {
  signal: "logs" | "traces" | "metrics";
  seeds: () => Buffer[];
}

function sampled(arbitrary: fc.Arbitrary<Request>, toBytes: (request: Request) => Buffer): Buffer[] {
  return fc.sample(arbitrary, { seed, numRuns: 12 }).map(toBytes);
}

const push = {
  streams: [
    {
      labels: '{a="b", c="d\\n"}',
      entries: [{ timestamp: { seconds: 1_760_000_000 }, line: "x", structuredMetadata: labels }],
    },
  ],
};
const pushJson = {
  streams: [
    {
      stream: { a: "b" },
      values: [
        [at, "line", { c: "d" }],
        [at, "two"],
      ],
    },
  ],
};
const bulk = lines([
  { create: { _index: "i" } },
  { "@timestamp": nowMs, message: "m", a: { b: [1] } },
  { index: {} },
  {},
]);
const syslog = `<34>1 2026-01-01T00:00:00Z host app 1 ID [a@1 b="c\\"d"] text`;

const cases: Partial<Record<BodyFormat, Case>> = {
  "otlp logs": { signal: "logs", seeds: () => sampled(logsRequests, (r) => protobufOf("LogsRequest", r)) },
  "otlp logs json": { signal: "logs", seeds: () => sampled(logsRequests, jsonOf) },
  "otlp traces": {
    signal: "traces",
    seeds: () => sampled(tracesRequests, (r) => protobufOf("TraceRequest", r)),
  },
  "otlp traces json": { signal: "traces", seeds: () => sampled(tracesRequests, jsonOf) },
  "otlp metrics": {
    signal: "metrics",
    seeds: () => [encoded(otlp.lookupType("MetricsRequest"), metricsRequest)],
  },
  "otlp metrics json": { signal: "metrics", seeds: () => [Buffer.from(JSON.stringify(metricsRequest))] },
  loki: { signal: "logs", seeds: () => [encoded(pushRequest, push)] },
  "loki json": { signal: "logs", seeds: () => [Buffer.from(JSON.stringify(pushJson))] },
  "elasticsearch bulk": { signal: "logs", seeds: () => [Buffer.from(bulk)] },
  "remote write 1": {
    signal: "metrics",
    seeds: () => [encoded(writeRequest1, { timeseries: [{ labels, samples, histograms: [histogram] }] })],
  },
  "remote write 2": {
    signal: "metrics",
    seeds: () => [
      encoded(writeRequest2, {
        symbols,
        timeseries: [{ labelsRefs: [1, 2, 3, 4], samples, histograms: [histogram], metadata: { type: 1 } }],
      }),
    ],
  },
  syslog: { signal: "logs", seeds: () => [Buffer.from(`${Buffer.byteLength(syslog)} ${syslog}<1>a\nb`)] },
};

const long = "x".repeat(200_000);

/** A small body whose rows would take gigabytes. */
function repeating() {
  const logRecords = new Array(6_000).fill({ timeUnixNano: at });
  const shared = [{ key: "long", value: value(long) }];
  return { resourceLogs: [{ resource: { attributes: shared }, scopeLogs: [{ logRecords }] }] };
}

/** A generator of 32-bit numbers (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

const specialBytes = [0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x22, 0x5b, 0x7b, 0x5c];

/** Changes, removes, repeats or inserts some bytes. */
function mutateBody(body: Buffer, random: () => number): Buffer {
  let bytes = Buffer.from(body);
  for (let changes = 1 + (random() % 4); changes > 0; changes--) {
    const position = random() % (bytes.length + 1);
    const length = random() % 12;
    const head = bytes.subarray(0, position);
    switch (random() % 5) {
      case 0:
        if (position < bytes.length) bytes[position] = random();
        break;
      case 1:
        if (position < bytes.length) bytes[position] = specialBytes[random() % specialBytes.length]!;
        break;
      case 2:
        bytes = Buffer.concat([head, bytes.subarray(position + length)]);
        break;
      case 3:
        bytes = Buffer.concat([head, bytes.subarray(position, position + length), bytes.subarray(position)]);
        break;
      default:
        bytes = Buffer.concat([head, Buffer.from(specialBytes.slice(0, length)), bytes.subarray(position)]);
    }
  }
  return bytes;
}

function decode(format: BodyFormat, signal: Case["signal"], body: Buffer, more: Partial<BodyTask> = {}) {
  return decodeBody({
    content: what[signal],
    format,
    ...makePlainTask(body),
    unpackedBytesMax: 1 << 20,
    arrivalMs: nowMs,
    flattensJson: true,
    ...more,
  });
}

describe.each(Object.entries(cases) as [BodyFormat, Case][])(
  `%s (SVC_SEED=${seed})`,
  (format, { signal, seeds }) => {
    test("mutated bodies are taken or refused with a sentence", () => {
      const random = randomOf(seed);
      const validBodies = seeds();
      const statuses = new Set<number>();
      for (let i = 0; i < bodies; i++) {
        const body = mutateBody(validBodies[i % validBodies.length]!, random);
        const decoded = decode(format, signal, body);
        if (decoded.ok) {
          expect(decoded.batch.rows, body.toString("hex")).toBeGreaterThanOrEqual(0);
          for (const { reason } of decoded.refused) expect(reason).not.toMatch(/undefined|\bat .*\.ts/);
        } else {
          expect(decoded.message).toMatch(/^[a-z][^\n]{5,}/);
        }
        statuses.add(decoded.ok ? 200 : decoded.status);
      }
      expect([200, 400].filter((status) => statuses.has(status))).toContain(200);
      expect([...statuses].filter((status) => status !== 200 && status !== 400)).toEqual([]);
    });
  },
);

describe("bodies that expand too far", () => {
  const zeros = Buffer.alloc(2 << 20);

  test.each([
    ["gzip", gzipSync(zeros), 413],
    ["zstd", zstdCompressSync(zeros), 413],
    ["snappy", snappy.compress(zeros), 413],
    ["snappy", Buffer.from([0xff, 0xff, 0x3f, 0, 0]), 400],
  ] as const)("%s is refused", (encoding, body, status) => {
    const decoded = decode("otlp logs", "logs", Buffer.from(body), { encoding });
    expect(decoded).toMatchObject({ ok: false, status });
  });

  test.each<[BodyFormat, Case["signal"], () => Buffer]>([
    ["otlp logs", "logs", () => protobufOf("LogsRequest", repeating())],
    ["otlp logs json", "logs", () => jsonOf(repeating())],
    [
      "loki",
      "logs",
      () =>
        encoded(pushRequest, { streams: [{ labels: `{a="${long}"}`, entries: new Array(6_000).fill({}) }] }),
    ],
    [
      "remote write 1",
      "metrics",
      () => {
        const series = { labels: [{ name: "a", value: long }], samples: new Array(6_000).fill(samples[0]) };
        return encoded(writeRequest1, { timeseries: [series, series] });
      },
    ],
  ])("%s: too many bytes that rows share are refused", (format, signal, body) => {
    expect(decode(format, signal, body())).toMatchObject({ ok: false, status: 413 });
  });

  test("values nested too deeply are refused", () => {
    let inner: Buffer = Buffer.from([0x0a, 1, 0x78]);
    const field = (tag: number, body: Buffer): Buffer => {
      const writer = [tag];
      let length = body.length;
      for (; length > 0x7f; length >>>= 7) writer.push((length & 0x7f) | 0x80);
      return Buffer.concat([Buffer.from([...writer, length]), body]);
    };
    for (let depth = 0; depth < 500; depth++) inner = field(0x2a, field(0x0a, inner));
    const record = field(0x2a, inner);
    const body = field(0x0a, field(0x12, field(0x12, record)));
    expect(decode("otlp logs", "logs", body)).toMatchObject({ ok: false, status: 400 });
  });
});

test("nothing of a refused body is stored", async () => {
  const record = { timeUnixNano: at, body: value("half") };
  const request = { resourceLogs: [{ scopeLogs: [{ logRecords: [record, record] }] }] };
  const bytes = Buffer.concat([protobufOf("LogsRequest", request), Buffer.from([0x0a, 0x7f])]);
  const got = await call(server, "/v1/logs", {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-protobuf" },
    body: new Uint8Array(bytes),
  });
  expect(got.status).toBe(400);
  expect((await search(server, { query: 'logs |= "half"' })).json.count).toBe(0);
});
