/** POST /api/v1/query/durations against a loop over the spans that were sent. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { ask } from "../control/asking.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

interface Durations {
  count: number;
  errors: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
  buckets: { fromMs: number; toMs: number; count: number; errors: number }[];
}

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 29, 12);
const range = { startTime: startMs, endTime: startMs + 600_000 };
let server: Running;
const spans: { ms: number; isError: boolean; service: string }[] = [];

beforeAll(async () => {
  server = await startServer();
  const random = new Random(seed);
  for (let i = 0; i < 3_000; i++) {
    // From microseconds to a minute; one without time at all.
    const ms = i === 0 ? 0 : Math.round(10 ** (random.below(7_000) / 1_000 - 2.5) * 1e6) / 1e6;
    spans.push({ ms, isError: random.below(20) === 0, service: `s${i % 3}` });
  }
  const sent = spans.map(({ ms, isError, service }, i) => ({
    traceId: (i + 1).toString(16).padStart(32, "0"),
    spanId: (i + 1).toString(16).padStart(16, "0"),
    name: "work",
    startTimeUnixNano: `${startMs + i}000000`,
    endTimeUnixNano: String(BigInt(startMs + i) * 1_000_000n + BigInt(Math.round(ms * 1e6))),
    ...(isError ? { statusCode: "error" } : {}),
    attributes: { "service.name": service },
  }));
  expect((await ingest(server, lines(sent), {}, "spans")).json.accepted).toBe(spans.length);
});
afterAll(() => server.stop());

const look = (body: object) =>
  ask<Durations & { error: string; field: string }>(server, "POST", "/query/durations", {
    ...range,
    ...body,
  });

test.each([
  ["", "s0 s1 s2"],
  ['traces{service.name="s1"}', "s1"],
])(
  `the spans of %j are counted in buckets that grow by one factor (SVC_SEED=${seed})`,
  async (query, services) => {
    const own = spans.filter(({ service }) => services.includes(service));
    const { json } = await look({ query });
    expect([json.count, json.errors]).toEqual([own.length, own.filter(({ isError }) => isError).length]);
    expect(json.buckets.length).toBeLessThanOrEqual(40);
    for (const [i, { fromMs, toMs, count, errors }] of json.buckets.entries()) {
      const within = own.filter(({ ms }) => ms >= fromMs && ms < toMs);
      expect([i, count, errors]).toEqual([i, within.length, within.filter(({ isError }) => isError).length]);
      if (i > 0) expect(fromMs).toBe(json.buckets[i - 1]!.toMs);
    }
    const factors = json.buckets.slice(1).map(({ fromMs, toMs }) => toMs / fromMs);
    for (const factor of factors) expect(factor / factors[0]!).toBeCloseTo(1, 2);
    const sorted = own.map(({ ms }) => ms).sort((a, b) => a - b);
    for (const [name, q] of [
      ["p50", 0.5],
      ["p90", 0.9],
      ["p99", 0.99],
    ] as const) {
      const rank = q * (sorted.length - 1);
      const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
      expect(json[name]).toBeCloseTo(low + (high - low) * (rank % 1), 6);
    }
  },
);

test("nothing found has no buckets, and mistakes are named", async () => {
  expect((await look({ query: 'traces{service.name="none"}' })).json).toMatchObject({
    ...{ count: 0, errors: 0, p50: null, p90: null, p99: null, buckets: [] },
  });
  for (const body of [{ query: "traces{" }, { query: "logs" }, { query: 5 }, { startTime: 9, endTime: 8 }]) {
    expect((await look(body)).status).toBe(400);
  }
});
