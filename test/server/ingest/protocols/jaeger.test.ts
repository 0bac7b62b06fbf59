/** Jaeger's batches as Thrift over HTTP. */
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
