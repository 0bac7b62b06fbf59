/** Readers that leave, at any point of every streaming answer of a running server, leave nothing behind in its log. */

import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Running } from "../running.ts";
import { call, ingest, lines, startServer } from "../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ anonymousRead: true });
  const nowMs = Date.now();
  const traceId = "a".repeat(32);
  const logs = Array.from({ length: 1_000 }, (_, i) => ({
    timestamp: nowMs,
    message: `${i} ${"m".repeat(2_000)}`,
    attributes: { "service.name": "shop", i: String(i) },
  }));
  const spans = Array.from({ length: 2_000 }, (_, i) => ({
    traceId,
    spanId: (i + 1).toString(16).padStart(16, "0"),
    parentSpanId: i === 0 ? "" : "0000000000000001",
    name: `span ${i}`,
    startTimeUnixNano: `${nowMs}000000`,
    endTimeUnixNano: `${nowMs + 5}000000`,
    attributes: { "service.name": "shop", note: "n".repeat(500) },
  }));
  expect((await ingest(server, lines(logs))).json.accepted).toBe(1_000);
  expect((await ingest(server, lines(spans), {}, "spans")).json.accepted).toBe(2_000);
}, 30_000);
afterAll(() => server.stop());

const range = { startTime: 0, endTime: Date.now() + 86_400_000 };
type Ask = readonly [method: string, path: string, body: string];
const bySearch = (path: string, body: Record<string, unknown>): Ask => {
  return ["POST", `/api/v1/query/${path}`, JSON.stringify({ ...range, ...body })];
};
/** By the path that the OpenAPI document lists, then the one that is asked. */
const answers: Readonly<Record<string, readonly Ask[]>> = {
  "/api/v1/query/logs": [bySearch("logs", { query: "", limit: 1_000 })],
  "/api/v1/query/traces": [bySearch("traces", { query: "", limit: 1_000 })],
  "/api/v1/query/profiles": [bySearch("profiles", { query: "profiles" })],
  "/api/v1/query/kubernetes_resources": [bySearch("kubernetes_resources", { query: "kubernetes_resources" })],
  "/api/v1/query/timeseries": [bySearch("timeseries", { query: "count(logs) by (i)", bucketSize: 86_400 })],
  "/api/v1/query/histogram": [bySearch("histogram", { query: "", by: "i" })],
  "/api/v1/query/patterns": [bySearch("patterns", { query: "" })],
  "/api/v1/query/fields": [bySearch("fields", { signal: "logs", query: "" })],
  "/api/v1/query/values": [bySearch("values", { signal: "logs", field: "i", query: "", limit: 1_000 })],
  "/api/v1/query/compare": [
    [
      "POST",
      "/api/v1/query/compare",
      JSON.stringify({ signal: "logs", query: "", selection: { query: "1", ...range }, baseline: range }),
    ],
  ],
  "/api/v1/query/durations": [bySearch("durations", { query: "" })],
  "/api/v1/query/service-map": [bySearch("service-map", { query: "" })],
  "/api/v1/query/visible": [bySearch("visible", { groups: ["shop"] })],
  "/api/v1/query/around": [["POST", "/api/v1/query/around", JSON.stringify({ id: "none" })]],
  "/api/v1/query/export": [
    bySearch("export", { query: "", format: "ndjson" }),
    ["GET", `/api/v1/query/export?startTime=0&endTime=${range.endTime}&format=csv`, ""],
  ],
  "/api/v1/traces/{traceId}": [["GET", `/api/v1/traces/${"a".repeat(32)}`, ""]],
  "/api/v1/query/tail": [
    ["GET", "/api/v1/query/tail?query=", ""],
    ["GET", "/api/v1/query/tail?query=&startTime=0", ""],
  ],
  "/api/v1/backup": [["POST", "/api/v1/backup", ""]],
  "/openapi.json": [["GET", "/openapi.json", ""]],
  "/": [["GET", "/", ""]],
};

/** Asks, reads so many bytes, waits so many turns of the event loop, and leaves. */
function leave([method, path, body]: Ask, bytes: number, turns: number) {
  return new Promise<void>((resolve) => {
    // A packed answer goes through a stream of its own.
    const coding = turns % 2 === 0 ? "" : `Accept-Encoding: ${turns % 3 === 0 ? "zstd" : "gzip"}\r\n`;
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.adminToken}\r\n${coding}`;
    const type = body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    let read = 0;
    let hasLeft = false;
    const socket = connect(server.port, "127.0.0.1", () => {
      socket.write(`${head}${type}\r\n${body}`, () => {
        if (bytes === 0) void go();
      });
    });
    const go = async () => {
      if (hasLeft) return;
      hasLeft = true;
      socket.pause();
      for (let turn = 0; turn < turns; turn++) await new Promise((next) => setImmediate(next));
      socket.destroy();
    };
    socket.on("data", (data) => {
      read += data.length;
      if (read >= bytes || data.subarray(-5).toString("latin1") === "0\r\n\r\n") void go();
    });
    socket.on("error", () => socket.destroy());
    // A tail that has nothing more to say is left in its silence, and so is a short answer.
    setTimeout(() => void go(), 150);
    socket.on("close", () => resolve());
  });
}

test("all routes that answer searches, traces and backups are left", async () => {
  const { paths } = (await call<{ paths: object }>(server, "/openapi.json")).json;
  const streamed = Object.keys(paths).filter((path) => /\/(?:query|traces|backup)(?:\/|$)/.test(path));
  expect(streamed.filter((path) => answers[path] === undefined)).toEqual([]);
  const wrong: string[] = [];
  for (const [method, path, body] of Object.values(answers).flat()) {
    // A tail does not end. The row that is asked around does not exist.
    if (/tail|around/.test(path)) continue;
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: { Authorization: `Bearer ${server.adminToken}`, "Content-Type": "application/json" },
      ...(body === "" ? {} : { body }),
    });
    await response.arrayBuffer();
    if (response.status !== 200) wrong.push(`${path}: ${response.status}`);
  }
  expect(wrong).toEqual([]);
});

describe.each(Object.entries(answers))("readers of %s", (_path, asks) => {
  test("leave at any point", async () => {
    const logged = server.logged.length;
    for (const bytes of [0, 1, 600, 70_000, 300_000]) {
      for (const ask of asks) {
        await Promise.all([0, 1, 2, 3, 5, 8, 13, 21].map((turns) => leave(ask, bytes, turns)));
      }
    }
    const inFlight = async () =>
      Number(/^svc_http_requests_in_flight (\d+)$/m.exec((await call(server, "/metrics")).text)?.[1]);
    await expect.poll(inFlight, { timeout: 10_000 }).toBe(1);
    expect(server.logged.slice(logged)).toEqual([]);
  }, 30_000);
});
