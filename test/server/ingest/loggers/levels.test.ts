/** Every protocol keeps a level as it was sent, and its range finds it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, lines, type Running, search, startServer } from "../../running.ts";

const ms = Date.now() - 60_000;
let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const otlp = (record: Record<string, unknown>) =>
  JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: `${ms}000000`, ...record }] }] }],
  });
const loki = (message: string, metadata: Record<string, string>) =>
  JSON.stringify({ streams: [{ stream: { app: "a" }, values: [[`${ms}000000`, message, metadata]] }] });
const elastic = (document: Record<string, unknown>) =>
  lines([{ create: { _index: "a" } }, { "@timestamp": new Date(ms).toISOString(), ...document }]);

/** What is sent, its content type, the level that comes back, and its range. */
const sent: readonly [path: string, body: string, type: string, level: string, range: string][] = [
  ["/v1/logs", otlp({ severityText: "CRIT", body: { stringValue: "1" } }), "json", "CRIT", "error"],
  ["/v1/logs", otlp({ severityNumber: 18, body: { stringValue: "2" } }), "json", "error", "error"],
  ["/loki/api/v1/push", loki("3", { detected_level: "err" }), "json", "err", "error"],
  ["/loki/api/v1/push", loki("4", { severity_number: "13" }), "json", "warn", "warn"],
  ["/_bulk", elastic({ message: "5", level: 40 }), "x-ndjson", "40", "warn"],
  ["/_bulk", elastic({ message: "6", severity_number: 21 }), "x-ndjson", "fatal", "fatal"],
  ["/_bulk", elastic({ message: "7", log: { level: "SEVERE" } }), "x-ndjson", "SEVERE", "error"],
  ["/api/v1/ingest/logs", lines([{ time: ms, level: 20, msg: "8" }]), "x-ndjson", "20", "debug"],
  [
    "/api/v1/ingest/logs?flatten-json",
    lines([{ timestamp: ms, message: '{"level":10,"msg":"9"}' }]),
    "x-ndjson",
    "10",
    "trace",
  ],
];

test.each(sent)("%s %s", async (path, body, type, level, range) => {
  const message = String(1 + sent.findIndex(([, each]) => each === body));
  const headers = { "Content-Type": `application/${type}` };
  const got = await call(server, path, { token: server.adminToken, headers, body });
  expect(got.status).toBeLessThan(300);
  const found = await search(server, { query: `{log_level="${range}", message=~"^${message}$"}` });
  expect(found.json.logs).toMatchObject([{ timestamp: ms, log_level: level, message }]);
});

test("each of several numbers is found by its range, in memory and sealed", async () => {
  const levels = { 10: "trace", 20: "debug", 30: "info", 40: "warn", 50: "error", 60: "fatal" };
  const body = lines(
    Object.keys(levels).map((level) => ({ level: Number(level), time: ms, msg: "numbered" })),
  );
  const headers = { "Content-Type": "application/x-ndjson" };
  await call(server, "/api/v1/ingest/logs", { token: server.adminToken, headers, body });
  for (const state of ["in memory", "sealed"]) {
    if (state === "sealed") await server.service.store.seal();
    for (const [level, range] of Object.entries(levels)) {
      const found = await search(server, { query: `{log_level="${range}", message="numbered"}` });
      expect(
        found.json.logs.map((row) => row.log_level),
        `${state} ${range}`,
      ).toEqual([level]);
    }
  }
});
