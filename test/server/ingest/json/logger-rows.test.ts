/** Lines as loggers write them become rows with the time, the level and the message that were sent. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Running } from "../../running.ts";
import { call, search, startServer } from "../../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const nowMs = Date.now() - 60_000;
const isoOf = (ms: number) => new Date(ms).toISOString();

function send(body: string, path = "/api/v1/ingest/logs") {
  const headers = { "Content-Type": "application/x-ndjson" };
  return call(server, path, { token: server.adminToken, headers, body });
}

const forms: [string, (ms: number, id: string) => Record<string, unknown>, string, string][] = [
  ["pino", (ms, msg) => ({ level: 50, time: ms, pid: 1, hostname: "h", msg }), "50", "error"],
  [
    "bunyan",
    (ms, msg) => ({ name: "app", hostname: "h", pid: 1, level: 40, msg, time: isoOf(ms), v: 0 }),
    "40",
    "warn",
  ],
  ["winston", (ms, message) => ({ level: "warn", message, timestamp: isoOf(ms) }), "warn", "warn"],
  ["zap", (ms, msg) => ({ level: "dpanic", ts: ms / 1000, caller: "a.go:1", msg }), "dpanic", "fatal"],
  ["zerolog", (ms, message) => ({ level: "info", time: String(ms * 1000), message }), "info", "info"],
  [
    "logrus",
    (ms, msg) => ({ level: "warning", msg, time: isoOf(ms).replace("Z", "+00:00") }),
    "warning",
    "warn",
  ],
  [
    "log4j2",
    (ms, message) => ({
      instant: { epochSecond: Math.floor(ms / 1000), nanoOfSecond: (ms % 1000) * 1e6 },
      level: "FATAL",
      loggerName: "a.B",
      message,
    }),
    "FATAL",
    "fatal",
  ],
  [
    "ECS",
    (ms, message) => ({ "@timestamp": isoOf(ms), "log.level": "ERR", message, "ecs.version": "1.6.0" }),
    "ERR",
    "error",
  ],
  [
    "Google Cloud",
    (ms, message) => ({
      severity: "CRITICAL",
      timestamp: { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
      jsonPayload: { message },
    }),
    "CRITICAL",
    "fatal",
  ],
  ["nanoseconds", (ms, msg) => ({ severity: "SEVERE", ts: `${ms}000000`, msg }), "SEVERE", "error"],
];

test.each(forms)("%s", async (name, make, level, range) => {
  const ms = nowMs + forms.findIndex(([each]) => each === name);
  const got = await send(JSON.stringify(make(ms, `a line of ${name}`)));
  expect(got.json).toMatchObject({ accepted: 1, refused: 0 });
  const found = await search(server, { query: `{log_level="${range}"}`, startTime: ms, endTime: ms });
  expect(found.json.logs).toMatchObject([{ timestamp: ms, log_level: level, message: `a line of ${name}` }]);
});

test("Docker's line loses its end", async () => {
  const ms = nowMs + 1_000;
  await send(JSON.stringify({ log: "from a container\n", stream: "stdout", time: isoOf(ms) }));
  const found = await search(server, { startTime: ms, endTime: ms });
  expect(found.json.logs).toMatchObject([{ message: "from a container", attributes: { stream: "stdout" } }]);
});

test("the fields may be named in the URL", async () => {
  const ms = nowMs + 2_000;
  const path = "/api/v1/ingest/logs?timeField=at.when&levelField=sev&messageField=words";
  await send(JSON.stringify({ at: { when: ms }, sev: "E", words: "named" }), path);
  const found = await search(server, { query: '{log_level="error"}', startTime: ms, endTime: ms });
  expect(found.json.logs).toMatchObject([{ log_level: "E", message: "named" }]);
});

test("svc's own form keeps its meaning", async () => {
  const ms = nowMs + 3_000;
  await send(
    JSON.stringify({ timestamp: ms, log_level: "info", message: "own", level: "x", time: "y", msg: "z" }),
  );
  const found = await search(server, { startTime: ms, endTime: ms });
  expect(found.json.logs).toMatchObject([
    { log_level: "info", message: "own", attributes: { level: "x", time: "y", msg: "z" } },
  ]);
});

test.each([
  ['{"level":30,"time":12,"msg":"a"}', "time must be a time"],
  ['{"level":"info","ts":"yesterday","msg":"a"}', "ts must be a time"],
  [
    '{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","name":"n","startTimeUnixNano":"1"}',
    "/api/v1/ingest/spans",
  ],
  ['{"resourceSpans":[]}', "/v1/traces"],
])("%s is refused", async (row, reason) => {
  const got = await send(row);
  expect([got.status, got.json.error]).toEqual([400, expect.stringContaining(reason)]);
});
