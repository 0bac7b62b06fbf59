/** Zipkin's API v2: spans with everything that they can hold, and the trace that they make. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import zipkin from "zipkin";
import { call, type Running, startServer } from "../../running.ts";
import { findSpans, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const us = (Date.now() - 60_000) * 1_000;
const path = "/api/v2/spans";

test("every field of a span", async () => {
  const span = {
    traceId: "5AF7183FB1D4CF5F",
    parentId: "6b221d5bc9e6496c",
    id: "352bff9a74ca9ad2",
    kind: "CLIENT",
    name: "get /api",
    timestamp: us,
    duration: 1_431,
    localEndpoint: { serviceName: "backend", ipv4: "192.168.99.1", port: 3306 },
    remoteEndpoint: { serviceName: "mysql", ipv6: "2001:db8::c001", port: 9000 },
    annotations: [{ timestamp: us + 10, value: "retry" }],
    tags: { "http.method": "GET", error: "timed out", name: "shadowed" },
  };
  const got = await send(server, { path, body: JSON.stringify([span]) });
  expect([got.status, got.text]).toEqual([202, ""]);
  expect(await findSpans(server, 'traces{service.name="backend"}')).toEqual([
    {
      traceId: "00000000000000005af7183fb1d4cf5f",
      spanId: "352bff9a74ca9ad2",
      parentSpanId: "6b221d5bc9e6496c",
      name: "get /api",
      kind: "client",
      startTimeUnixNano: `${us}000`,
      endTimeUnixNano: `${us + 1_431}000`,
      durationMs: 1.431,
      statusCode: "error",
      statusMessage: "timed out",
      attributes: {
        "service.name": "backend",
        "network.local.address": "192.168.99.1",
        "network.local.port": "3306",
        "peer.service": "mysql",
        "network.peer.address": "2001:db8::c001",
        "network.peer.port": "9000",
        "http.method": "GET",
        error: "timed out",
        "attributes.name": "shadowed",
        events: `[{"timeUnixNano":"${us + 10}000","name":"retry","attributes":{}}]`,
      },
    },
  ]);
});

test("a server that shares the id of its client's span has a span of its own below it", async () => {
  const shared = { traceId: "463ac35c9f6413ad48485a3953bb6124", id: "a2fb4a1d1a96d312", timestamp: us };
  const spans = [
    { ...shared, kind: "CLIENT", name: "call", localEndpoint: { serviceName: "front" } },
    { ...shared, kind: "SERVER", name: "serve", shared: true, localEndpoint: { serviceName: "back" } },
  ];
  expect((await send(server, { path, body: JSON.stringify(spans) })).status).toBe(202);
  const trace = await call<{ spans: number; roots: { name: string; children: { name: string }[] }[] }>(
    server,
    `/api/v1/traces/${shared.traceId}`,
  );
  expect(trace.json.spans).toBe(2);
  expect(trace.json.roots.map(({ name, children }) => [name, children.map((each) => each.name)])).toEqual([
    ["call", ["serve"]],
  ]);
});

describe("spans that are refused", () => {
  const good = { traceId: "1", id: "2", timestamp: us };
  test.each([
    ["no id", { ...good, id: undefined }, "id is required"],
    ["an id of zeros", { ...good, id: "0000" }, "id must not be all zeros"],
    ["an id that is no text", { ...good, traceId: 5 }, "traceId must be up to 32 hexadecimal digits"],
    ["a kind", { ...good, kind: "server" }, "kind must be one of CLIENT, SERVER, PRODUCER, CONSUMER"],
    ["a duration", { ...good, duration: -1 }, "duration must be a number of microseconds"],
    ["annotations", { ...good, annotations: [{ value: "x" }] }, "annotations[0].timestamp is required"],
  ])("%s", async (_name, span, reason) => {
    const got = await send(server, { path, body: JSON.stringify([span]) });
    expect(got.status).toBe(400);
    expect(got.text).toContain(`1 of 1 spans were refused; span 1: ${reason}`);
  });
});

test("the tracer of zipkin", async () => {
  const sending: Promise<unknown>[] = [];
  const encoder = zipkin.jsonEncoder.JSON_V2;
  const logger = {
    logSpan: (span: Parameters<typeof encoder.encode>[0]) =>
      void sending.push(send(server, { path, body: `[${encoder.encode(span)}]` })),
  };
  const recorder = new zipkin.BatchRecorder({ logger });
  const ctxImpl = new zipkin.ExplicitContext();
  const tracer = new zipkin.Tracer({ ctxImpl, recorder, localServiceName: "traced", traceId128Bit: true });
  tracer.local("outer", () => {
    tracer.recordBinary("order", "7");
    tracer.local("inner", () => undefined);
  });
  await Promise.all(sending);
  const spans = await findSpans(server, 'traces{service.name="traced"}');
  expect(spans.map(({ name }) => name).sort()).toEqual(["inner", "outer"]);
  const [outer, inner] = ["outer", "inner"].map((name) => spans.find((span) => span.name === name)!);
  expect(inner!.parentSpanId).toBe(outer!.spanId);
  expect(inner!.traceId).toBe(outer!.traceId);
  expect(outer!.attributes.order).toBe("7");
});
