/** Metrics: samples that are sent, drawn, and looked through. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, post, startServer } from "../running.ts";

const start = Date.UTC(2026, 0, 29);
const pods = ["a", "b", "c"];
let server: Running;

beforeAll(async () => {
  server = await startServer();
  const rows = Array.from({ length: 60 }, (_, i) => {
    const pod = pods[i % 3]!;
    return [
      { timestamp: start + i * 1_000, name: "cpu", unit: "m", labels: { pod, zone: "x" }, value: i },
      {
        timestamp: start + i * 1_000,
        name: "requests_total",
        type: "counter",
        labels: { pod },
        value: i * 10,
      },
    ];
  }).flat();
  const histogram = { name: "took", type: "histogram", bounds: [1, 2], sum: 5 };
  const took = [
    { ...histogram, timestamp: start, counts: [0, 0, 0] },
    { ...histogram, timestamp: start + 30_000, counts: [5, 5, 0], count: 10 },
  ];
  const { json } = await ingest(server, lines([...rows, ...took]), {}, "metrics");
  // A histogram of two bounds is five samples.
  expect(json).toEqual({ accepted: 130, refused: 0, errors: [], duplicate: false });
});
afterAll(() => server.stop());

interface Answer {
  series: { labels: Record<string, string>; points: [number, number][] }[];
  error: string;
  warnings?: string[];
}

const range = { startTime: start, endTime: start + 59_999 };
const ask = (path: string, body: Record<string, unknown>) =>
  post<Answer>(server, path, { ...range, ...body });

describe("samples", () => {
  test("are drawn", async () => {
    const average = await ask("timeseries", { query: "sum(cpu)", bucketSize: 60 });
    expect(average.json.series).toEqual([{ labels: {}, points: [[start, 28.5 + 29.5 + 30.5]] }]);
    const increase = await ask("timeseries", { query: "sum(requests_total) by (pod)", bucketSize: 60 });
    expect(increase.json.series.map(({ points }) => points)).toEqual(pods.map(() => [[start, 570]]));
    const quantile = await ask("timeseries", {
      query: "histogram_quantile(0.75, took_bucket)",
      bucketSize: 60,
    });
    expect(quantile.json.series).toEqual([{ labels: {}, points: [[start, 1.5]] }]);
  });

  test("are taken once, refused with their line, and counted", async () => {
    const own = await startServer();
    const good = { timestamp: start, name: "x", value: 1 };
    const body = `${JSON.stringify(good)}\n{"name":"x"}\n${JSON.stringify({ ...good, timestamp: -5 })}\n`;
    const first = await ingest(own, body, {}, "metrics");
    expect(first.json).toEqual({
      accepted: 1,
      refused: 2,
      errors: [
        { line: 2, reason: 'value is required: a number, or one of "NaN", "+Inf" and "-Inf"' },
        { line: 3, reason: "the time is before 1970-01-01, the earliest that can be stored" },
      ],
      duplicate: false,
    });
    expect((await ingest(own, body, {}, "metrics")).json.duplicate).toBe(true);
    expect((await call(own, "/metrics")).text).toContain('svc_ingest_rows_total{signal="metrics"} 1\n');
    await own.stop();
  });
});

describe("labels", () => {
  const signal = "metrics";
  test.each<[string, Record<string, unknown>, unknown]>([
    [
      "fields",
      {},
      {
        fields: [
          { name: "pod", series: 6 },
          { name: "le", series: 3 },
          { name: "zone", series: 3 },
        ],
        isWhole: true,
      },
    ],
    ["fields", { query: "requests_total" }, { fields: [{ name: "pod", series: 3 }], isWhole: true }],
    ["fields", { prefix: "z" }, { fields: [{ name: "zone", series: 3 }], isWhole: true }],
    ["fields", { limit: 1 }, { fields: [{ name: "pod", series: 6 }], isWhole: false }],
    [
      "fields",
      { query: "request_total" },
      {
        fields: [],
        isWhole: true,
        warnings: ['no series of that time is of the metric "request_total"; did you mean "requests_total"?'],
      },
    ],
    ["values", { field: "pod" }, { values: pods.map((value) => ({ value, series: 2 })), isWhole: true }],
    [
      "values",
      { field: "pod", query: 'cpu{pod=~"[bc]"}' },
      { values: ["b", "c"].map((value) => ({ value, series: 1 })), isWhole: true },
    ],
    [
      "values",
      { field: "pod", query: '{zone="x", pod!="a"}', limit: 1 },
      { values: [{ value: "b", series: 1 }], isWhole: false },
    ],
    ["values", { field: "pod", prefix: "c" }, { values: [{ value: "c", series: 2 }], isWhole: true }],
    [
      "values",
      { field: "__name__", prefix: "c" },
      { values: [{ value: "cpu", series: 3, type: "gauge", unit: "m" }], isWhole: true },
    ],
    [
      "values",
      { field: "__name__" },
      {
        values: [
          { value: "cpu", series: 3, type: "gauge", unit: "m" },
          { value: "requests_total", series: 3, type: "counter", unit: "" },
          { value: "took_bucket", series: 3, type: "counter", unit: "" },
          { value: "took_count", series: 1, type: "counter", unit: "" },
          { value: "took_sum", series: 1, type: "counter", unit: "" },
        ],
        isWhole: true,
      },
    ],
  ])("%s with %j", async (path, body, answer) => {
    const got = await ask(path, { signal, ...body });
    expect([got.status, got.json]).toEqual([200, answer]);
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["fields", { query: "logs" }, /^a list of series selects a metric, such as `http_requests_total\{…\}`/],
    ["fields", { query: "sum(cpu)" }, /^a list of series selects a metric/],
    ["fields", { query: 'cpu |= "x"' }, /samples of a metric have no text/],
    [
      "values",
      { field: "__name__", query: '{pod="a"}' },
      /^the names of metrics are listed without conditions on labels/,
    ],
    [
      "histogram",
      { query: "cpu" },
      /^signal must be one of logs, traces, profiles, kubernetes_resources, got "metrics"/,
    ],
  ])("%s with %j is refused", async (path, body, error) => {
    const got = await ask(path, { signal, ...body });
    expect([got.status, got.json.error]).toEqual([400, expect.stringMatching(error)]);
  });
});
