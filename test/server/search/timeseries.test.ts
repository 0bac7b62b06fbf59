/** POST /api/v1/query/timeseries and /query/patterns: what they answer, and what they refuse. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seriesMax } from "../../../server/search/limits.ts";
import type { Entry, Got, Running } from "../running.ts";
import { call, ingest, lines, startServer } from "../running.ts";

interface Answer {
  series: { labels: Record<string, string>; points: [number, number][] }[];
  bucketSize: number;
  partial: number[];
  patterns: Record<string, unknown>[];
  count: number;
  distinct: number;
  warnings?: string[];
  error: string;
}

let server: Running;
const start = Date.UTC(2026, 0, 29);
const rows: Entry[] = Array.from({ length: 600 }, (_, i) => ({
  timestamp: start + i * 1_000,
  log_level: ["info", "WARN", "error"][i % 3]!,
  message: i % 2 === 0 ? `row ${i} of the flock` : `took ${i} ms`,
  attributes: { "service.name": `/k8s/shop/${i % 5}`, i: String(i) },
}));

beforeAll(async () => {
  server = await startServer();
  await ingest(server, lines(rows));
});
afterAll(() => server.stop());

function ask(path: "timeseries" | "patterns", body: Record<string, unknown>): Promise<Got<Answer>> {
  return call(server, `/api/v1/query/${path}`, {
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ startTime: start, endTime: start + 599_999, ...body }),
  });
}

describe("timeseries", () => {
  test("count rows in buckets, by labels", async () => {
    const { status, json } = await ask("timeseries", {
      query: "count(logs) by (log_level)",
      bucketSize: 300,
    });
    expect(status).toBe(200);
    const points = [
      [start, 100],
      [start + 300_000, 100],
    ];
    expect(json).toEqual({
      series: ["error", "info", "warn"].map((level) => ({ labels: { log_level: level }, points })),
      bucketSize: 300,
      partial: [],
    });
  });

  test("choose the width of buckets, name cut ones, and warn", async () => {
    const range = { startTime: start + 500, endTime: start + 599_000 };
    const { json } = await ask("timeseries", { query: 'count(logs{servce.name="a"})', ...range });
    expect(json).toMatchObject({
      series: [],
      bucketSize: 5,
      partial: [start, start + 595_000],
      warnings: ['no row has the attribute "servce.name"; did you mean "service.name"?'],
    });
    const zero = await ask("timeseries", { query: "count(logs)", bucketSize: 0, ...range });
    expect(zero.json.bucketSize).toBe(5);
  });

  test("take values of variables, and name the one that is bad or missing", async () => {
    const query = 'count(logs{log_level="$level"})';
    const { json } = await ask("timeseries", {
      query,
      bucketSize: 600,
      variables: { level: "error", not: "used" },
    });
    expect(json.series).toEqual([{ labels: {}, points: [[start, 200]] }]);
    // A value is text, whatever stands in it.
    const odd = await ask("timeseries", { query, variables: { level: 'error"} or {a="' } });
    expect([odd.status, odd.json.series]).toEqual([200, []]);
    const missing = await ask("timeseries", { query });
    expect([missing.status, missing.json.error]).toEqual([400, expect.stringContaining("$level")]);
    for (const [variables, field] of [
      [["error"], "variables"],
      [{ level: 1 }, "variables.level"],
      [{ level: "x".repeat(10_001) }, "variables.level"],
      [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`v${i}`, ""])), "variables"],
    ] as const) {
      const { status, json: refused } = await ask("timeseries", { query, variables });
      expect([status, refused]).toEqual([400, expect.objectContaining({ field })]);
    }
  });

  test("are answered in pieces up to a cap, and refused beyond it with the way out", async () => {
    const own = await startServer();
    const many = Array.from({ length: seriesMax + 1 }, (_, i) => ({
      timestamp: start,
      message: "",
      attributes: { i },
    }));
    await ingest(own, lines(many));
    const body = { query: "count(logs) by (i)", startTime: start, endTime: start, bucketSize: 1 };
    const asked = (query: string) =>
      call<Answer>(own, "/api/v1/query/timeseries", {
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...body, query }),
      });
    const got = await asked("count(logs) by (i)");
    expect(got.status).toBe(400);
    expect(got.json.error).toBe(
      `the query gives ${seriesMax + 1} series, and an answer holds ${seriesMax} at most; group by fewer labels, or take the greatest with topk(…)`,
    );
    const most = (await asked('count(logs{i!="0"}) by (i)')).json.series;
    expect(new Set(most.map(({ labels }) => labels.i)).size).toBe(seriesMax);
    expect((await asked("topk(3, count(logs) by (i))")).json.series.length).toBe(3);
    await own.stop();
  });

  const time = "an integer, Unix time in milliseconds";
  const width = "an integer from 0 to 3155760000, the seconds of a bucket (0: chosen by the range)";
  test.each([
    ["no query", { query: undefined }, "query is required: a string, svcQL with an aggregation"],
    ["a query that is none", { query: 7 }, "query must be a string, svcQL with an aggregation, got 7"],
    ["no start", { startTime: null }, `startTime is required: ${time}`],
    ["an end that is text", { endTime: "now" }, `endTime must be ${time}, got "now"`],
    ["a width below 0", { bucketSize: -1 }, `bucketSize must be ${width}, got -1`],
    ["a width of parts of a second", { bucketSize: 0.5 }, `bucketSize must be ${width}, got 0.5`],
    ["a width that is text", { bucketSize: "1m" }, `bucketSize must be ${width}, got "1m"`],
    ["a width beyond all", { bucketSize: 1e12 }, `bucketSize must be ${width}, got 1000000000000`],
    ["start after end", { startTime: 2, endTime: 1 }, "startTime must not be after endTime, got 2 and 1"],
    ["an unknown field", { bucketsize: 5 }, 'unknown field "bucketsize"; did you mean bucketSize?'],
    [
      "no aggregation",
      { query: "logs" },
      "a timeseries query needs an aggregation, e.g. count(logs{…}) (line 1, column 1)\n  logs\n  ^^^^",
    ],
  ])("with %s are refused", async (_name, changes, error) => {
    const got = await ask("timeseries", { query: "count(logs)", ...changes });
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});

describe("patterns", () => {
  test("tell which messages there are", async () => {
    const { status, json } = await ask("patterns", { query: "", limit: 1 });
    expect(status).toBe(200);
    expect(json).toMatchObject({ count: 600, distinct: 2 });
    const [first, ...more] = json.patterns;
    expect(more).toEqual([]);
    const flock = first!.text === "row <*> of the flock";
    expect(first).toEqual({
      template: expect.stringMatching(/^[0-9a-f]{16}$/),
      text: flock ? "row <*> of the flock" : "took <*> ms",
      count: 300,
      share: 0.5,
      example: flock ? "row 598 of the flock" : "took 599 ms",
      firstSeen: start + (flock ? 0 : 1_000),
      lastSeen: start + (flock ? 598_000 : 599_000),
      levels: { info: 100, warn: 100, error: 100 },
    });
  });

  test.each([
    ["no query", { query: undefined }, "query is required: a string, svcQL or search terms"],
    ["a limit of 0", { limit: 0 }, "limit must be an integer from 1 to 1000, got 0"],
    ["an unknown field", { bucketSize: 5 }, 'unknown field "bucketSize"'],
  ])("with %s are refused", async (_name, changes, error) => {
    const got = await ask("patterns", { query: "", ...changes });
    expect([got.status, got.json]).toMatchObject([400, { error }]);
  });
});

test("the answers that server/README.md shows have the fields that there are", async () => {
  const readme = readFileSync(join(import.meta.dirname, "../../../server/README.md"), "utf8");
  const shown = [...readme.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text!));
  const [series, patterns] = [shown[3], shown[5]] as [Answer, Answer];
  const found = [
    await ask("timeseries", { query: "count(logs) by (service.name)" }),
    await ask("patterns", { query: "" }),
  ];
  expect(Object.keys(found[0]!.json)).toEqual(Object.keys(series));
  expect(Object.keys(found[0]!.json.series[0]!)).toEqual(Object.keys(series.series[0]!));
  expect(Object.keys(found[1]!.json)).toEqual(Object.keys(patterns));
  expect(Object.keys(found[1]!.json.patterns[0]!)).toEqual(Object.keys(patterns.patterns[0]!));
});
