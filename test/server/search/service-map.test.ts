/** POST /api/v1/query/service-map against a loop over the spans that were sent. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { ask } from "../control/asking.ts";
import { ingest, lines, type Running, startServer } from "../running.ts";

interface Calls {
  calls: number;
  errors: number;
  p50: number | null;
  p90: number | null;
  p99: number | null;
}

interface Answer {
  startTime: number;
  endTime: number;
  spans: number;
  services: ({ name: string; kind: string } & Calls)[];
  edges: ({ from: string; to: string } & Calls)[];
  warnings?: string[];
}

interface Span {
  trace: string;
  id: string;
  parent: string;
  ms: number;
  at: number;
  isError: boolean;
  service: string;
  kind: string;
  peer: Record<string, string>;
}

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const startMs = Date.UTC(2026, 0, 29, 12);
const range = { startTime: startMs, endTime: startMs + 600_000 };
let server: Running;
const spans: Span[] = [];

/** Attributes of clients, and what they stand for. */
const peers: [attributes: Record<string, string>, name: string, kind: string][] = [
  [{ "peer.service": "mail", "server.address": "10.0.0.1" }, "mail", "service"],
  [{ "peer.service": "s2" }, "s2", "service"],
  [{ "db.system": "postgresql", "db.name": "orders" }, "postgresql/orders", "database"],
  [{ "db.system.name": "redis", "server.address": "r" }, "redis", "database"],
  [{ "messaging.system": "kafka", "messaging.destination.name": "paid" }, "kafka/paid", "messaging"],
  [{ "server.address": "api.example.com" }, "api.example.com", "external"],
  [{ "net.peer.name": "old.example.com" }, "old.example.com", "external"],
  [{ "db.name": "orders" }, "", ""],
];

beforeAll(async () => {
  server = await startServer();
  const random = new Random(seed);
  for (let trace = 0; trace < 300; trace++) {
    const own: Span[] = [];
    const size = 1 + random.below(25);
    for (let i = 0; i < size; i++) {
      const parent = i === 0 || random.below(15) === 0 ? undefined : own[random.below(i)]!;
      const isClient = random.below(3) === 0;
      own.push({
        trace: (trace + 1).toString(16).padStart(32, "0"),
        // Other traces have spans with the same ids.
        id: (i + 1).toString(16).padStart(16, "0"),
        parent: parent?.id ?? (random.below(4) === 0 ? "f".repeat(16) : ""),
        // Some traces begin before the range, half of them so long that their first spans are not looked at.
        at: startMs + (trace % 10 === 0 ? -random.below(120_000) : random.below(500_000)),
        ms: random.below(1e6) / 1e3,
        isError: random.below(10) === 0,
        service: random.below(20) === 0 ? "" : `s${random.below(6)}`,
        kind: isClient ? (random.below(2) === 0 ? "client" : "producer") : "server",
        peer: random.below(2) === 0 ? {} : peers[random.below(peers.length)]![0],
      });
    }
    spans.push(...own);
  }
  const sent = spans.map(({ trace, id, parent, ms, at, isError, service, kind, peer }) => ({
    ...{ traceId: trace, spanId: id, parentSpanId: parent, name: "work", kind },
    startTimeUnixNano: `${at}000000`,
    endTimeUnixNano: String(BigInt(at) * 1_000_000n + BigInt(Math.round(ms * 1e6))),
    ...(isError ? { statusCode: "error" } : {}),
    attributes: { ...peer, ...(service === "" ? {} : { "service.name": service }) },
  }));
  expect((await ingest(server, lines(sent), {}, "spans")).json.accepted).toBe(spans.length);
});
afterAll(() => server.stop());

const look = (body: object) =>
  ask<Answer & { error: string; field: string }>(server, "POST", "/query/service-map", { ...range, ...body });

/** The map by a loop over all spans. */
function naiveMap(finds: (span: Span) => boolean) {
  const seen = spans.filter(({ at }) => at >= startMs - 60_000);
  const byId = new Map(seen.map((span) => [`${span.trace} ${span.id}`, span]));
  const parentOf = (span: Span) => byId.get(`${span.trace} ${span.parent}`);
  const answered = new Set(seen.filter((span) => parentOf(span)?.service !== span.service).map(parentOf));
  const found = seen.filter((span) => span.at >= startMs && finds(span));
  const services = new Map<string, { kind: string; spans: Span[] }>();
  const edges = new Map<string, Span[]>();
  const service = (name: string, kind = "service") => {
    if (!services.has(name)) services.set(name, { kind, spans: [] });
    return services.get(name)!.spans;
  };
  const edge = (from: string, to: string) => {
    service(from);
    if (!edges.has(`${from}>${to}`)) edges.set(`${from}>${to}`, []);
    return edges.get(`${from}>${to}`)!;
  };
  for (const span of found) {
    service(span.service);
    const parent = parentOf(span);
    if (parent?.service === span.service) continue;
    service(span.service).push(span);
    if (parent !== undefined) edge(parent.service, span.service).push(span);
  }
  for (const span of found) {
    if (span.kind === "server" || answered.has(span)) continue;
    const [, name, kind] = peers.find(([attributes]) => attributes === span.peer) ?? [{}, "", ""];
    if (name === "" || name === span.service) continue;
    service(name, kind).push(span);
    edge(span.service, name).push(span);
  }
  return {
    spans: found.length,
    services: [...services].map(([name, each]) => ({ name, kind: each.kind, ...measure(each.spans) })),
    edges: [...edges].map(([key, each]) => {
      const [from, to] = key.split(">") as [string, string];
      return { from, to, ...measure(each) };
    }),
  };
}

function measure(calls: readonly Span[]): Calls {
  const sorted = calls.map(({ ms }) => ms).sort((a, b) => a - b);
  const quantile = (q: number) => {
    const rank = q * (sorted.length - 1);
    const [low, high] = [sorted[Math.floor(rank)]!, sorted[Math.ceil(rank)]!];
    return sorted.length === 0 ? null : low + (high - low) * (rank % 1);
  };
  const errors = calls.filter(({ isError }) => isError).length;
  return { calls: calls.length, errors, p50: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99) };
}

/** In one order, and with durations to the microsecond. */
function normalise({ spans: found, services, edges }: Pick<Answer, "spans" | "services" | "edges">) {
  const round = <T extends Calls>(each: T) => {
    const [p50, p90, p99] = [each.p50, each.p90, each.p99].map((ms) => ms?.toFixed(3) ?? null);
    return JSON.stringify({ ...each, p50, p90, p99 });
  };
  return { spans: found, services: services.map(round).sort(), edges: edges.map(round).sort() };
}

test.each([
  ["", () => true],
  ['traces{service.name="s1"}', ({ service }: Span) => service === "s1"],
  ['traces{status_code="error"}', ({ isError }: Span) => isError],
  ['traces{service.name="nowhere"}', () => false],
])(`the map of %j is what a loop over the spans gives (SVC_SEED=${seed})`, async (query, finds) => {
  const { json } = await look({ query });
  expect([json.startTime, json.endTime]).toEqual([range.startTime, range.endTime]);
  expect(normalise(json)).toEqual(normalise(naiveMap(finds)));
  for (const list of [json.services, json.edges])
    for (const [i, { calls }] of list.entries())
      expect(calls).toBeLessThanOrEqual(list[i - 1]?.calls ?? Number.POSITIVE_INFINITY);
});

test("mistakes name their field, and a name that no span has is a warning", async () => {
  expect((await look({ query: 'traces{service.name="s1"' })).status).toBe(400);
  expect((await look({ startTime: range.endTime, endTime: range.startTime })).json.field).toBe("startTime");
  expect((await look({ query: 'traces{sevice.name="s1"}' })).json.warnings?.join()).toMatch(/sevice\.name/);
});
