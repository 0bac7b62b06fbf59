/** Metrics over OTLP and remote write: what a sender is answered, and which series are stored. */
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otlp } from "../../../server/ingest/otlp/schema.ts";
import { writeRequest1, writeRequest2 } from "../../../server/ingest/prometheus/schema.ts";
import type { Got, Running } from "../running.ts";
import { call, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 600_000;
const timeUnixNano = `${startMs}000000`;

interface Series {
  labels: Record<string, string>;
  points: [number, number][];
}

/** The series of a query over ten minutes from the start, in buckets of a minute. */
async function seriesOf(query: string): Promise<Series[]> {
  const got = await call<{ series: Series[]; error?: string }>(server, "/api/v1/query/timeseries", {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, startTime: startMs, endTime: startMs + 599_999, bucketSize: 60 }),
  });
  expect(got.json.error).toBe(undefined);
  return got.json.series;
}

/** The value of the first bucket, by label. */
async function valuesBy(label: string, query: string): Promise<Record<string, number>> {
  const series = await seriesOf(query);
  return Object.fromEntries(series.map(({ labels, points }) => [labels[label] ?? "", points[0]![1]]));
}

const attributes = [{ key: "route", value: { stringValue: "/cart" } }];

function metrics(...list: object[]) {
  return {
    resourceMetrics: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "cart" } }] },
        scopeMetrics: [{ metrics: list }],
      },
    ],
  };
}

function sendMetrics(request: object, form: string) {
  const type = otlp.lookupType("MetricsRequest");
  const body =
    form === "json"
      ? JSON.stringify(request)
      : new Uint8Array(type.encode(type.fromObject(request)).finish());
  const contentType = form === "json" ? "application/json" : "application/x-protobuf";
  return call(server, "/v1/metrics", {
    token: server.adminToken,
    headers: { "Content-Type": contentType },
    body,
  });
}

describe.each(["json", "protobuf"])("OTLP in %s", (form) => {
  const point = { timeUnixNano, attributes };

  test("gauges and sums", async () => {
    const got = await sendMetrics(
      metrics(
        { name: `${form}.gauge`, unit: "By", gauge: { dataPoints: [{ ...point, asDouble: 0.5 }] } },
        {
          name: `${form}.down`,
          sum: { aggregationTemporality: 2, dataPoints: [{ ...point, asInt: "-7" }] },
        },
        {
          name: `${form}.delta`,
          sum: { aggregationTemporality: 1, isMonotonic: true, dataPoints: [{ ...point, asInt: "5" }] },
        },
      ),
      form,
    );
    expect([got.status, got.text]).toEqual([200, form === "json" ? "{}" : ""]);
    expect(await seriesOf(`sum(${form}.gauge) by (service.name, route)`)).toEqual([
      { labels: { "service.name": "cart", route: "/cart" }, points: [[startMs, 0.5]] },
    ]);
    expect(await valuesBy("route", `sum(${form}.down) by (route)`)).toEqual({ "/cart": -7 });
    expect(await valuesBy("route", `sum(increase(${form}.delta)) by (route)`)).toEqual({ "/cart": 5 });
  });

  test("histograms", async () => {
    const dataPoints = [
      { ...point, count: "6", sum: 20, bucketCounts: ["1", "2", "3"], explicitBounds: [1, 5] },
    ];
    await sendMetrics(
      metrics({ name: `${form}.h`, histogram: { aggregationTemporality: 1, dataPoints } }),
      form,
    );
    const buckets = await valuesBy("le", `sum(increase(${form}.h_bucket)) by (le)`);
    expect(buckets).toEqual({ "1": 1, "5": 3, "+Inf": 6 });
    expect(await valuesBy("", `sum(increase(${form}.h_sum))`)).toEqual({ "": 20 });
    expect(await valuesBy("", `sum(increase(${form}.h_count))`)).toEqual({ "": 6 });
  });

  test("exponential histograms", async () => {
    const dataPoints = [
      {
        ...point,
        count: "4",
        sum: 9,
        scale: 0,
        zeroCount: "1",
        positive: { offset: 0, bucketCounts: ["1", "2"] },
      },
    ];
    const data = { aggregationTemporality: 1, dataPoints };
    await sendMetrics(metrics({ name: `${form}.e`, exponentialHistogram: data }), form);
    const buckets = await valuesBy("le", `sum(increase(${form}.e_bucket)) by (le)`);
    expect(buckets).toEqual({ "0": 1, "1": 1, "2": 2, "4": 4, "+Inf": 4 });
  });

  test("summaries", async () => {
    const quantileValues = [{ quantile: 0.5, value: 2.5 }];
    const dataPoints = [{ ...point, count: "2", sum: 5, quantileValues }];
    await sendMetrics(metrics({ name: `${form}.s`, summary: { dataPoints } }), form);
    expect(await valuesBy("quantile", `sum(${form}.s) by (quantile)`)).toEqual({ "0.5": 2.5 });
  });

  describe("start times", () => {
    const timeAt = (minute: number) => `${startMs + minute * 60_000}000000`;
    const pointAt = (minute: number, begin: number, fields: object) => ({
      ...{ attributes, timeUnixNano: timeAt(minute), startTimeUnixNano: timeAt(begin) },
      ...fields,
    });
    const sendEach = async (name: string, kind: string, points: readonly object[]) => {
      // The newest first: what a point shows does not depend on what has arrived before.
      for (const dataPoint of points.toReversed()) {
        const data = { aggregationTemporality: 2, isMonotonic: true, dataPoints: [dataPoint] };
        expect((await sendMetrics(metrics({ name, [kind]: data }), form)).status).toBe(200);
      }
    };
    const increasesOf = async (name: string) => {
      const [series] = await seriesOf(`sum(increase(${name}))`);
      return (series?.points ?? [])
        .filter(([, value]) => value > 0)
        .map(([ms, value]) => [(ms - startMs) / 60_000, value]);
    };

    test("a counter begins at 0, and anew where its start is later, though its value is greater", async () => {
      const counts = [
        [1, 0, 5],
        [2, 0, 7],
        [4, 3, 20],
        [5, 3, 21],
      ] as const;
      await sendEach(
        `${form}_began`,
        "sum",
        counts.map(([minute, begin, asInt]) => pointAt(minute, begin, { asInt: String(asInt) })),
      );
      expect(await increasesOf(`${form}_began`)).toEqual([
        [1, 5],
        [2, 2],
        [4, 20],
        [5, 1],
      ]);
    });

    test("a point at its own start is the first of a counter that has counted before", async () => {
      const points = [pointAt(1, 1, { asInt: "1000" }), pointAt(2, 1, { asInt: "1005" })];
      await sendEach(`${form}_went_on`, "sum", points);
      expect(await increasesOf(`${form}_went_on`)).toEqual([[2, 5]]);
    });

    test("histograms begin anew as a whole; of exponential ones the count and the sum do", async () => {
      const ofLife = (begin: number, minute: number, low: string, high: string) =>
        pointAt(minute, begin, {
          count: String(Number(low) + Number(high)),
          sum: 2,
          bucketCounts: [low, high],
          explicitBounds: [1],
        });
      await sendEach(`${form}_spans`, "histogram", [ofLife(0, 1, "2", "1"), ofLife(2, 3, "4", "3")]);
      const expected = { count: [3, 7], sum: [2, 2], 'bucket{le="1"}': [2, 4], 'bucket{le="+Inf"}': [3, 7] };
      for (const [what, [first, second]] of Object.entries(expected)) {
        expect(await increasesOf(`${form}_spans_${what}`)).toEqual([
          [1, first],
          [3, second],
        ]);
      }
      const exponential = (begin: number, minute: number, counts: string[]) => {
        const count = String(counts.reduce((sum, each) => sum + Number(each), 0));
        return pointAt(minute, begin, {
          count,
          sum: 2,
          scale: 0,
          positive: { offset: 0, bucketCounts: counts },
        });
      };
      await sendEach(`${form}_sizes`, "exponentialHistogram", [
        exponential(0, 1, ["2"]),
        exponential(2, 3, ["3", "4"]),
      ]);
      expect(await increasesOf(`${form}_sizes_count`)).toEqual([
        [1, 2],
        [3, 7],
      ]);
      expect(await increasesOf(`${form}_sizes_bucket{le="2"}`)).toEqual([[3, 1]]);
    });

    test("gauges, deltas and sums that may fall know no start", async () => {
      const point = pointAt(1, 0, { asInt: "3" });
      const list = [
        { name: `${form}_level`, gauge: { dataPoints: [point] } },
        { name: `${form}_open`, sum: { aggregationTemporality: 2, dataPoints: [point] } },
      ];
      expect((await sendMetrics(metrics(...list), form)).status).toBe(200);
      for (const { name } of list) {
        expect((await seriesOf(`min(min_over_time(${name}[10m]))`))[0]!.points[1]![1]).toBe(3);
      }
    });
  });

  test("points that cannot be stored are a partial success", async () => {
    const dataPoints = [
      { ...point, asInt: "1" },
      { ...point, timeUnixNano: `${Date.now() + 10 * 86_400_000}000000`, asInt: "1" },
    ];
    const got = await sendMetrics(metrics({ name: `${form}.partial`, gauge: { dataPoints } }), form);
    expect(got.status).toBe(200);
    expect(got.text).toContain("record 2: ");
  });
});

function write(bytes: Uint8Array, headers: Record<string, string> = {}) {
  return call(server, "/api/v1/write", {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", ...headers },
    body: new Uint8Array(snappy.compress(new Uint8Array(bytes))),
  });
}

function encoded(type: typeof writeRequest1, request: object): Uint8Array {
  return type.encode(type.fromObject(request)).finish();
}

const second = { "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request" };

describe("remote write 1.0", () => {
  test("samples get the type from metadata", async () => {
    const labels = [
      { name: "__name__", value: "rw1_requests" },
      { name: "job", value: "a" },
    ];
    const samples = [0, 1, 2].map((minute) => ({ value: minute * 30, timestamp: startMs + minute * 60_000 }));
    const metadata = [{ type: 1, metricFamilyName: "rw1_requests", unit: "" }];
    const got = await write(encoded(writeRequest1, { timeseries: [{ labels, samples }], metadata }));
    expect([got.status, got.text]).toEqual([204, ""]);
    expect(await seriesOf("sum(rw1_requests) by (job)")).toEqual([
      {
        labels: { job: "a" },
        points: [
          [startMs + 60_000, 30],
          [startMs + 120_000, 30],
        ],
      },
    ]);
  });

  test("metadata of an earlier request applies as well", async () => {
    const metadata = [{ type: 3, metricFamilyName: "rw1_early", unit: "" }];
    expect((await write(encoded(writeRequest1, { metadata }))).status).toBe(204);
    const labels = [{ name: "__name__", value: "rw1_early_count" }];
    const samples = [0, 1].map((minute) => ({ value: minute * 7, timestamp: startMs + minute * 60_000 }));
    await write(encoded(writeRequest1, { timeseries: [{ labels, samples }] }));
    // A gauge would have a value in the first minute as well.
    expect((await seriesOf("sum(rw1_early_count)"))[0]!.points).toEqual([[startMs + 60_000, 7]]);
  });

  test("a repeated body adds nothing", async () => {
    const labels = [{ name: "__name__", value: "rw1_again" }];
    const request = { timeseries: [{ labels, samples: [{ value: 1, timestamp: startMs }] }] };
    for (let i = 0; i < 2; i++) expect((await write(encoded(writeRequest1, request))).status).toBe(204);
    const metricsText = (await call(server, "/metrics")).text;
    expect(metricsText).toMatch(/svc_ingest_duplicate_batches_total [1-9]/);
  });

  test("native histograms", async () => {
    const histogramAt = (timestamp: number, positiveDeltas: number[], sum: number) => ({
      countInt: 6,
      sum,
      schema: 0,
      zeroThreshold: 0.001,
      zeroCountInt: 1,
      positiveSpans: [
        { offset: 1, length: 1 },
        { offset: 1, length: 1 },
      ],
      positiveDeltas,
      timestamp,
    });
    const histograms = [histogramAt(startMs, [1, 0], 5), histogramAt(startMs + 10_000, [2, 1], 12)];
    const labels = [{ name: "__name__", value: "rw1_native" }];
    expect((await write(encoded(writeRequest1, { timeseries: [{ labels, histograms }] }))).status).toBe(204);
    // The bucket with index 1 ends at 2, the one with index 3 at 8.
    const buckets = await valuesBy("le", "sum(increase(rw1_native_bucket)) by (le)");
    expect(buckets).toEqual({ "0.001": 0, "1": 0, "2": 1, "4": 1, "8": 3, "+Inf": 3 });
    expect(await valuesBy("", "sum(increase(rw1_native_sum))")).toEqual({ "": 7 });
  });
});

describe("remote write 2.0", () => {
  const minuteMs = 60_000;
  const symbols = ["", "__name__", "", "rw2_of_series", "rw2_of_samples", "rw2_native"];
  const typeCounter = 1;
  const sampleAt = (minute: number, value: number, begin?: number) => ({
    ...{ value, timestamp: startMs + minute * minuteMs },
    ...(begin === undefined ? {} : { startTimestamp: startMs + begin * minuteMs }),
  });
  const increasesOf = async (name: string) => {
    const [series] = await seriesOf(`sum(increase(${name}))`);
    return (series?.points ?? [])
      .filter(([, value]) => value > 0)
      .map(([ms, value]) => [(ms - startMs) / minuteMs, value]);
  };

  test("counters begin at 0, and anew where their start is later, though the value is greater", async () => {
    const metadata = { type: typeCounter, unitRef: 0 };
    const createdTimestamp = startMs;
    const begun = { labelsRefs: [1, 3], metadata, createdTimestamp };
    const again = { ...begun, createdTimestamp: startMs + 3 * minuteMs };
    const timeseries = [
      { ...begun, samples: [sampleAt(1, 5), sampleAt(2, 7)] },
      { ...again, samples: [sampleAt(4, 20)] },
      { labelsRefs: [1, 4], metadata, samples: [sampleAt(1, 5, 0), sampleAt(2, 7, 0), sampleAt(4, 20, 3)] },
    ];
    expect((await write(encoded(writeRequest2, { symbols, timeseries }), second)).status).toBe(204);
    const expected = [
      [1, 5],
      [2, 2],
      [4, 20],
    ];
    expect(await increasesOf("rw2_of_series")).toEqual(expected);
    expect(await increasesOf("rw2_of_samples")).toEqual(expected);
  });

  test("samples and histograms that are stored are confirmed, each kind by its number", async () => {
    const countsOf = (got: Got) =>
      ["samples", "histograms", "exemplars"].map((kind) =>
        got.headers.get(`x-prometheus-remote-write-${kind}-written`),
      );
    const histogramAt = (minute: number, spans: object[]) => ({
      ...{ countInt: 3, sum: 6, schema: 0, zeroThreshold: 0.001, zeroCountInt: 3 },
      ...{ timestamp: startMs + minute * minuteMs, positiveSpans: spans },
    });
    const series = (histograms: object[]) => [
      { labelsRefs: [1, 6], samples: [sampleAt(1, 5), sampleAt(2, 7)] },
      { labelsRefs: [1, 7], histograms },
    ];
    const sent = (histograms: object[]) =>
      encoded(writeRequest2, {
        symbols: [...symbols, "rw2_counted", "rw2_counted_native"],
        timeseries: series(histograms),
      });
    const whole = sent([histogramAt(1, []), histogramAt(2, []), histogramAt(3, [])]);
    for (let times = 0; times < 2; times++) {
      const got = await write(whole, second);
      expect([got.status, countsOf(got)]).toEqual([204, ["2", "3", "0"]]);
    }
    // Its span has buckets for which it has no counts.
    const got = await write(sent([histogramAt(4, []), histogramAt(5, [{ offset: 0, length: 2 }])]), second);
    expect([got.status, countsOf(got)]).toEqual([400, ["2", "1", "0"]]);
  });

  test("of native histograms the count and the sum begin", async () => {
    const histogramAt = (minute: number, count: number, begin: number) => ({
      ...{ countInt: count, sum: count * 2, schema: 0, zeroThreshold: 0.001, zeroCountInt: count },
      ...{ timestamp: startMs + minute * minuteMs, startTimestamp: startMs + begin * minuteMs },
    });
    const histograms = [histogramAt(1, 4, 0), histogramAt(2, 6, 0), histogramAt(4, 9, 3)];
    const timeseries = [{ labelsRefs: [1, 5], histograms }];
    expect((await write(encoded(writeRequest2, { symbols, timeseries }), second)).status).toBe(204);
    expect(await increasesOf("rw2_native_count")).toEqual([
      [1, 4],
      [2, 2],
      [4, 9],
    ]);
  });

  test("symbols, metadata of the series, and the headers that confirm what was written", async () => {
    const request = {
      symbols: ["", "__name__", "rw2_temperature", "room", "cellar", "celsius"],
      timeseries: [
        {
          labelsRefs: [1, 2, 3, 4],
          samples: [{ value: -3.5, timestamp: startMs }],
          metadata: { type: 2, unitRef: 5 },
        },
      ],
    };
    const got = await write(encoded(writeRequest2, request), second);
    expect(got.status).toBe(204);
    expect(got.headers.get("x-prometheus-remote-write-samples-written")).toBe("1");
    expect(await valuesBy("room", "avg(rw2_temperature) by (room)")).toEqual({ cellar: -3.5 });
  });

  test.each([
    ["a symbol that is not there", { symbols: [""], timeseries: [{ labelsRefs: [0, 9] }] }, "symbol 9 of 1"],
    [
      "a label without a value",
      { symbols: [""], timeseries: [{ labelsRefs: [0] }] },
      "a label without a value",
    ],
  ])("%s", async (_name, request, problem) => {
    const got = await write(encoded(writeRequest2, request), second);
    expect(got.status).toBe(400);
    expect(got.text).toContain(problem);
  });
});

test("an unknown proto or encoding is refused with 415, so that a sender can fall back", async () => {
  const unknown = { "Content-Type": "application/x-protobuf;proto=io.prometheus.write.v3.Request" };
  expect((await write(new Uint8Array(0), unknown)).status).toBe(415);
  expect((await write(new Uint8Array(0), { "Content-Encoding": "zstd" })).status).toBe(415);
});
