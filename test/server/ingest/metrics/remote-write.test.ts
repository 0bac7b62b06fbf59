/** Remote write: what a sender is answered, and which series are stored. */
import snappy from "snappyjs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeRequest1, writeRequest2 } from "../../../../server/ingest/prometheus/schema.ts";
import { call, type Got, type Running, startServer } from "../../running.ts";
import { StoredSeries, startMs } from "./stored-series.ts";

let server: Running;
let stored: StoredSeries;
beforeAll(async () => {
  server = await startServer();
  stored = new StoredSeries(server);
});
afterAll(() => server.stop());

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
    expect(await stored.of("sum(rw1_requests) by (job)")).toEqual([
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
    expect((await stored.of("sum(rw1_early_count)"))[0]!.points).toEqual([[startMs + 60_000, 7]]);
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
    const buckets = await stored.valuesBy("le", "sum(increase(rw1_native_bucket)) by (le)");
    expect(buckets).toEqual({ "0.001": 0, "1": 0, "2": 1, "4": 1, "8": 3, "+Inf": 3 });
    expect(await stored.valuesBy("", "sum(increase(rw1_native_sum))")).toEqual({ "": 7 });
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
    expect(await stored.increasesOf("rw2_of_series")).toEqual(expected);
    expect(await stored.increasesOf("rw2_of_samples")).toEqual(expected);
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
    expect(await stored.increasesOf("rw2_native_count")).toEqual([
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
    expect(await stored.valuesBy("room", "avg(rw2_temperature) by (room)")).toEqual({ cellar: -3.5 });
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
