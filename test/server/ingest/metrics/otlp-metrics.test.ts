/** Metrics over OTLP: what a sender is answered, and which series are stored. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { otlp } from "../../../../server/ingest/otlp/schema.ts";
import { call, type Running, startServer } from "../../running.ts";
import { StoredSeries, startMs } from "./stored-series.ts";

let server: Running;
let stored: StoredSeries;
beforeAll(async () => {
  server = await startServer();
  stored = new StoredSeries(server);
});
afterAll(() => server.stop());

const timeUnixNano = `${startMs}000000`;
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
    expect(await stored.of(`sum(${form}.gauge) by (service.name, route)`)).toEqual([
      { labels: { "service.name": "cart", route: "/cart" }, points: [[startMs, 0.5]] },
    ]);
    expect(await stored.valuesBy("route", `sum(${form}.down) by (route)`)).toEqual({ "/cart": -7 });
    expect(await stored.valuesBy("route", `sum(increase(${form}.delta)) by (route)`)).toEqual({ "/cart": 5 });
  });

  test("histograms", async () => {
    const dataPoints = [
      { ...point, count: "6", sum: 20, bucketCounts: ["1", "2", "3"], explicitBounds: [1, 5] },
    ];
    await sendMetrics(
      metrics({ name: `${form}.h`, histogram: { aggregationTemporality: 1, dataPoints } }),
      form,
    );
    const buckets = await stored.valuesBy("le", `sum(increase(${form}.h_bucket)) by (le)`);
    expect(buckets).toEqual({ "1": 1, "5": 3, "+Inf": 6 });
    expect(await stored.valuesBy("", `sum(increase(${form}.h_sum))`)).toEqual({ "": 20 });
    expect(await stored.valuesBy("", `sum(increase(${form}.h_count))`)).toEqual({ "": 6 });
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
    const buckets = await stored.valuesBy("le", `sum(increase(${form}.e_bucket)) by (le)`);
    expect(buckets).toEqual({ "0": 1, "1": 1, "2": 2, "4": 4, "+Inf": 4 });
  });

  test("summaries", async () => {
    const quantileValues = [{ quantile: 0.5, value: 2.5 }];
    const dataPoints = [{ ...point, count: "2", sum: 5, quantileValues }];
    await sendMetrics(metrics({ name: `${form}.s`, summary: { dataPoints } }), form);
    expect(await stored.valuesBy("quantile", `sum(${form}.s) by (quantile)`)).toEqual({ "0.5": 2.5 });
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
      expect(await stored.increasesOf(`${form}_began`)).toEqual([
        [1, 5],
        [2, 2],
        [4, 20],
        [5, 1],
      ]);
    });

    test("a point at its own start is the first of a counter that has counted before", async () => {
      const points = [pointAt(1, 1, { asInt: "1000" }), pointAt(2, 1, { asInt: "1005" })];
      await sendEach(`${form}_went_on`, "sum", points);
      expect(await stored.increasesOf(`${form}_went_on`)).toEqual([[2, 5]]);
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
        expect(await stored.increasesOf(`${form}_spans_${what}`)).toEqual([
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
      expect(await stored.increasesOf(`${form}_sizes_count`)).toEqual([
        [1, 2],
        [3, 7],
      ]);
      expect(await stored.increasesOf(`${form}_sizes_bucket{le="2"}`)).toEqual([[3, 1]]);
    });

    test("gauges, deltas and sums that may fall know no start", async () => {
      const point = pointAt(1, 0, { asInt: "3" });
      const list = [
        { name: `${form}_level`, gauge: { dataPoints: [point] } },
        { name: `${form}_open`, sum: { aggregationTemporality: 2, dataPoints: [point] } },
      ];
      expect((await sendMetrics(metrics(...list), form)).status).toBe(200);
      for (const { name } of list) {
        expect((await stored.of(`min(min_over_time(${name}[10m]))`))[0]!.points[1]![1]).toBe(3);
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
