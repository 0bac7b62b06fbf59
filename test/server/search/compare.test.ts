/** POST /api/v1/query/compare against loops over the same rows, and against statistics computed another way. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { ask } from "../control/asking.ts";
import { type Entry, type Got, ingest, lines, type Running, startServer } from "../running.ts";

interface Difference {
  selection: number;
  baseline: number;
  score: number;
}
interface Answer {
  selection: number;
  baseline: number;
  fields: { field: string; score: number; values: (Difference & { value: string | null })[] }[];
  patterns: (Difference & { template: string; text: string; example: string; level: string })[];
  uncompared: string[];
  warnings?: string[];
  error: string;
  field: string;
}

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 29, 12);
const minuteMs = 60_000;
const baseline = { startTime: startMs, endTime: startMs + 60 * minuteMs - 1 };
const selection = { startTime: startMs + 60 * minuteMs, endTime: startMs + 65 * minuteMs };
let server: Running;
const rows: Entry[] = [];

beforeAll(async () => {
  server = await startServer();
  const random = new Random(seed);
  for (let i = 0; i < 13_000; i++) {
    const isLate = i >= 12_000;
    const isBad = isLate && random.below(20) === 0;
    rows.push({
      timestamp: startMs + Math.trunc(i * 0.3) * 1_000,
      log_level: isBad ? "ERROR" : "info",
      message: isBad ? `cannot reach cart ${i}: refused` : `served page ${i} in ${random.below(100)} ms`,
      attributes: {
        "service.name": isBad ? "/k8s/shop/cart" : `/k8s/shop/s${random.below(4)}`,
        version: isLate && random.below(2) === 0 ? "2" : "1",
        ...(isBad ? { "exception.type": "Refused" } : {}),
        request: `r${i}`,
        ...(i % 2 === 0 ? { trace_id: `t${i % 3}` } : {}),
      },
    });
  }
  await ingest(server, lines(rows.slice(0, 9_000)));
  await server.service.store.seal();
  await ingest(server, lines(rows.slice(9_000)));
});
afterAll(() => server.stop());

function compare(body: object): Promise<Got<Answer>> {
  return ask<Answer>(server, "POST", "/query/compare", { selection, baseline, ...body });
}

/** Rows by value; null where they lack the field. */
function naiveCounts(range: typeof baseline, read: (row: Entry) => string | undefined) {
  const counts = new Map<string | null, number>();
  for (const row of rows) {
    if (row.timestamp < range.startTime || row.timestamp > range.endTime) continue;
    const value = read(row) ?? null;
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

function sumOf(counts: ReadonlyMap<unknown, number>): number {
  return [...counts.values()].reduce((sum, rows) => sum + rows, 0);
}

/** The tail of the normal distribution on both sides, by Simpson's rule. */
function tailOf(z: number): number {
  const steps = 20_000;
  const width = Math.min(z, 40) / steps;
  const density = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  let sum = 0;
  for (let i = 0; i <= steps; i++)
    sum += density(i * width) * (i === 0 || i === steps ? 1 : i % 2 === 1 ? 4 : 2);
  return 1 - (2 * sum * width) / 3;
}

describe(`two windows (SVC_SEED=${seed})`, () => {
  test("what was planted stands out, with the numbers that a loop counts", async () => {
    const { status, json } = await compare({});
    expect(status).toBe(200);
    expect(json.fields.map(({ field }) => field).sort()).toEqual(
      ["exception.type", "log_level", "service.name", "version"].sort(),
    );
    const readers: Record<string, (row: Entry) => string | undefined> = {
      log_level: (row) => row.log_level.toLowerCase(),
      "service.name": ({ attributes }) => attributes["service.name"],
      version: ({ attributes }) => attributes.version,
      "exception.type": ({ attributes }) => attributes["exception.type"],
    };
    for (const { field, values } of json.fields) {
      const inSelection = naiveCounts(selection, readers[field]!);
      const inBaseline = naiveCounts(baseline, readers[field]!);
      expect([json.selection, json.baseline]).toEqual([sumOf(inSelection), sumOf(inBaseline)]);
      for (const { value, selection: a, baseline: b } of values)
        expect([field, value, a, b]).toEqual([
          field,
          value,
          inSelection.get(value) ?? 0,
          inBaseline.get(value) ?? 0,
        ]);
    }
    expect(json.patterns[0]).toMatchObject({
      text: "cannot reach cart <*>: refused",
      level: "ERROR",
      baseline: 0,
    });
    expect(json.patterns.every(({ text }) => /cannot reach|served page/.test(text))).toBe(true);
    expect(json.uncompared).toEqual(["request", "trace_id"]);
  });

  test("scores are log odds by their error, and chance alone lists nothing", async () => {
    const { json } = await compare({});
    for (const { values, score } of json.fields) {
      expect(score).toBeCloseTo(Math.max(...values.map((value) => Math.abs(value.score))), 9);
      for (const { selection: a, baseline: b, score: own } of values) {
        const table = [a, json.selection - a, b, json.baseline - b].map((count) => count + 0.5);
        const ratio = (table[0]! * table[3]!) / (table[1]! * table[2]!);
        const error = Math.sqrt(table.reduce((sum, count) => sum + 1 / count, 0) + 0.04);
        expect(own).toBeCloseTo(Math.log(ratio) / error, 9);
        // Pearson's test finds each as unlikely as the likelihood ratio does.
        const share = (a + b) / (json.selection + json.baseline);
        const z =
          Math.abs(a / json.selection - b / json.baseline) /
          Math.sqrt(share * (1 - share) * (1 / json.selection + 1 / json.baseline));
        expect(tailOf(z)).toBeLessThan(0.01);
      }
    }
    // Two halves of the usual hour: what differs between them is chance.
    const half = startMs + 30 * minuteMs;
    const usual = await compare({
      baseline: { startTime: startMs, endTime: half - 1 },
      selection: { startTime: half, endTime: startMs + 60 * minuteMs - 1 },
    });
    expect(usual.json.fields.map(({ field }) => field)).toEqual([]);
  });

  test("two queries over one range are compared likewise, and the common query holds for both", async () => {
    const { startTime, endTime } = selection;
    const { json } = await compare({
      query: '{version="2"}',
      selection: { startTime, endTime, query: "refused" },
      baseline: { startTime, endTime, query: "served" },
    });
    const count = (word: string) =>
      rows.filter(
        ({ timestamp, message, attributes }) =>
          timestamp >= startTime &&
          timestamp <= endTime &&
          attributes.version === "2" &&
          message.includes(word),
      ).length;
    expect([json.selection, json.baseline]).toEqual([count("refused"), count("served")]);
    expect(json.fields.find(({ field }) => field === "service.name")!.values[0]).toMatchObject({
      ...{ value: "/k8s/shop/cart", selection: count("refused"), baseline: 0 },
    });
  });

  test("fields that the query extracts are compared too", async () => {
    const { json } = await compare({ query: 'logs | pattern "<verb> <noun> <_>"' });
    expect(json.fields.find(({ field }) => field === "verb")!.values[0]).toMatchObject({ value: "cannot" });
  });

  test("a member compares the rows that it may read", async () => {
    await ask(server, "PUT", "/groups/s0", { group: { name: "s0" } });
    const match = { matchExpressions: [{ key: "service.name", operator: "In", values: ["/k8s/shop/s0"] }] };
    const telemetryRule = { type: "cluster", groups: ["s0"], rules: [{ signals: ["logs"], match }] };
    await ask(server, "PUT", "/telemetry-rules/s0", { telemetryRule });
    const made = await ask<{ token: string }>(server, "POST", "/tokens", { role: "viewer", groups: ["s0"] });
    const { json } = await ask<Answer>(server, "POST", "/query/compare", { selection, baseline }, made.json);
    const own = (range: typeof baseline) =>
      naiveCounts(range, ({ attributes }) => attributes["service.name"]).get("/k8s/shop/s0");
    expect([json.selection, json.baseline]).toEqual([own(selection), own(baseline)]);
    expect(json.patterns.some(({ text }) => text.includes("cannot reach"))).toBe(false);
  });

  test("a side without rows says so", async () => {
    const { json } = await compare({ baseline: { startTime: 0, endTime: 1 } });
    expect([json.baseline, json.fields, json.patterns]).toEqual([0, [], []]);
    expect(json.warnings).toEqual(["the baseline has no rows, so there is nothing to compare with"]);
  });

  test.each<[object, string]>([
    [{ selection: undefined }, "selection"],
    [{ selection: { startTime: 2, endTime: 1 } }, "selection.startTime"],
    [{ baseline: { startTime: 0 } }, "baseline.endTime"],
    [{ query: "{a=" }, "query"],
    [{ selection: { ...selection, query: "{a=" } }, "selection.query"],
    [{ baseline: { ...baseline, query: "logs | nothing" } }, "baseline.query"],
    [{ signal: "metrics" }, "signal"],
    [{ limit: 0 }, "limit"],
    [{ more: 1 }, "more"],
  ])("%j is refused at %s", async (body, field) => {
    const { status, json } = await compare(body);
    expect([status, json.field ?? json.error]).toEqual([
      400,
      field === "more" ? expect.stringContaining("more") : field,
    ]);
  });
});
