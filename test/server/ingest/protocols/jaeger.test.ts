/** Jaeger's batches as Thrift over HTTP. */
import { hostname } from "node:os";
import { initTracer } from "jaeger-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { struct } from "../../../../fixtures/thrift.ts";
import { type Running, startServer } from "../../running.ts";
import { jaegerBatch } from "./jaeger-batch.ts";
import { findSpans, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const us = BigInt(Date.now() - 60_000) * 1_000n;
const path = "/api/traces";
const headers = { "Content-Type": "application/x-thrift" };

test("every field of a span", async () => {
  const got = await send(server, { path, headers, body: new Uint8Array(jaegerBatch(us)) });
  expect([got.status, got.text]).toEqual([202, ""]);
  expect(await findSpans(server, 'traces{service.name="cart"}')).toEqual([
    {
      traceId: "fedcba98765432105af7183fb1d4cf5f",
      spanId: "352bff9a74ca9ad2",
      parentSpanId: "0000000000000007",
      name: "GET /cart",
      kind: "server",
      startTimeUnixNano: `${us}000`,
      endTimeUnixNano: `${us + 1_431n}000`,
      durationMs: 1.431,
      statusCode: "error",
      attributes: {
        "service.name": "cart",
        hostname: "node-1",
        "span.kind": "server",
        error: "true",
        ratio: "0.5",
        n: "7",
        events: `[{"timeUnixNano":"${us + 5n}000","name":"retry","attributes":{"attempt":"2"}}]`,
        links: '[{"traceId":"00000000000000015af7183fb1d4cf5f","spanId":"0000000000000008","attributes":{}}]',
      },
    },
  ]);
});

test("the tracer of jaeger-client", async () => {
  const tracer = initTracer(
    {
      serviceName: "checkout",
      sampler: { type: "const", param: 1 },
      reporter: {
        collectorEndpoint: `${server.url}/api/traces`,
        username: "svc",
        password: server.adminToken,
      },
    },
    { tags: { release: "7" } },
  );
  const startMs = Date.now() - 500;
  const parent = tracer.startSpan("POST /checkout", { startTime: startMs, tags: { "span.kind": "server" } });
  const child = tracer.startSpan("SELECT cart", { childOf: parent, startTime: startMs + 10 });
  child.setTag("db.rows", 3);
  child.setTag("error", true);
  child.log({ event: "retry", attempt: 2 }, startMs + 15);
  child.finish(startMs + 40);
  parent.finish(startMs + 90);
  await new Promise<void>((resolve) => tracer.close(resolve));
  const spans = await findSpans(server, 'traces{service.name="checkout"}');
  const [first, second] = spans;
  const { traceId, spanId } = first!;
  expect([traceId, spanId]).toEqual([expect.stringMatching(/^0{16}[0-9a-f]{16}$/), traceId.slice(16)]);
  const shared = {
    "service.name": "checkout",
    hostname: hostname(),
    ip: expect.any(String),
    release: "7",
    "jaeger.version": "Node-3.19.0",
    "client-uuid": expect.any(String),
  };
  expect(first).toMatchObject({
    ...{ parentSpanId: "", name: "POST /checkout", kind: "server", durationMs: 90 },
    startTimeUnixNano: `${startMs}000000`,
    attributes: {
      ...{ ...shared, "span.kind": "server", "sampler.type": "const", "sampler.param": "true" },
    },
  });
  expect(second).toEqual({
    ...{
      traceId,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: spanId,
      name: "SELECT cart",
    },
    startTimeUnixNano: `${startMs + 10}000000`,
    endTimeUnixNano: `${startMs + 40}000000`,
    ...{ durationMs: 30, statusCode: "error" },
    attributes: {
      ...{ ...shared, "db.rows": "3", error: "true" },
      events: `[{"timeUnixNano":"${startMs + 15}000000","name":"retry","attributes":{"attempt":"2"}}]`,
    },
  });
});

test.each([
  ["nothing", Buffer.alloc(0), "it is cut short"],
  ["a batch that is cut short", jaegerBatch(us).subarray(0, -9), "it is cut short"],
  ["another protocol", Buffer.from("{}"), "not in Thrift's binary protocol"],
  ["a length below zero", Buffer.of(11, 0, 1, 0xff, 0xff, 0xff, 0xff), "it is cut short"],
  ["a span without ids", struct([2, "list", [struct([8, "i64", us])]]), "span 1: traceId is required"],
])("%s is refused", async (_name, body, reason) => {
  const got = await send(server, { path, headers, body: new Uint8Array(body) });
  expect(got.status).toBe(400);
  expect(got.text).toContain(reason);
});
