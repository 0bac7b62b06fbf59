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
const bySearch = (path: string, body: Record<string, unknown>) =>
  ["POST", `/api/v1/query/${path}`, JSON.stringify({ ...range, ...body })] as const;
const answers = {
  logs: bySearch("logs", { query: "", limit: 1_000 }),
  traces: bySearch("traces", { query: "", limit: 1_000 }),
  timeseries: bySearch("timeseries", { query: "count(logs) by (i)", bucketSize: 86_400 }),
  histogram: bySearch("histogram", { query: "" }),
  patterns: bySearch("patterns", { query: "" }),
  trace: ["GET", `/api/v1/traces/${"a".repeat(32)}`, ""],
  "a tail of new rows": ["GET", "/api/v1/query/tail?query=", ""],
  "a tail of stored rows": ["GET", "/api/v1/query/tail?query=&startTime=0", ""],
  backup: ["POST", "/api/v1/backup", ""],
} as const;

/** Asks, reads so many bytes, waits so many turns of the event loop, and leaves. */
function leave([method, path, body]: readonly [string, string, string], bytes: number, turns: number) {
  return new Promise<void>((resolve) => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.adminToken}\r\n`;
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
    // A tail that has nothing more to say is left in its silence.
    setTimeout(() => void go(), 300);
    socket.on("close", () => resolve());
  });
}

describe.each(Object.entries(answers))("readers of %s", (_name, request) => {
  test("leave at any point", async () => {
    const logged = server.logged.length;
    for (const bytes of [0, 1, 600, 70_000, 300_000]) {
      await Promise.all([0, 1, 2, 3, 5, 8, 13, 21].map((turns) => leave(request, bytes, turns)));
    }
    const inFlight = async () =>
      Number(/^svc_http_requests_in_flight (\d+)$/m.exec((await call(server, "/metrics")).text)?.[1]);
    await expect.poll(inFlight, { timeout: 10_000 }).toBe(1);
    expect(server.logged.slice(logged)).toEqual([]);
  }, 30_000);
});
