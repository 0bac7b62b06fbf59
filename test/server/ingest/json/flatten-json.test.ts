/** Log messages that are JSON become attributes where a sender asks for it, in every protocol. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Entry, Running } from "../../running.ts";
import { call, lines, search, startServer } from "../../running.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

let lastMs = Date.now() - 1_000_000;

async function row(message: string, more: Record<string, unknown> = {}, on = "true"): Promise<Entry> {
  const timestamp = ++lastMs;
  const got = await call(server, "/api/v1/ingest/logs", {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-ndjson", "flatten-json": on },
    body: lines([{ timestamp, message, ...more }]),
  });
  expect(got.status).toBe(200);
  return (await search(server, { startTime: timestamp, endTime: timestamp })).json.logs[0]!;
}

test("members become attributes, nested names joined with dots, and msg becomes the message", async () => {
  const line =
    '{"level":"warn","msg":"slow","http":{"status":200,"id":12345678901234567890},"tags":["a"],"no":null}';
  expect(await row(line)).toMatchObject({
    log_level: "warn",
    message: "slow",
    attributes: {
      level: "warn",
      "http.status": "200",
      "http.id": "12345678901234567890",
      tags: '["a"]',
    },
  });
});

test.each([
  ["message stands in for msg", '{"message":"m","a":1}', "m"],
  ["msg goes first", '{"message":"m","msg":"short"}', "short"],
  ["without either the line stays", '{"a":1}', '{"a":1}'],
  ["what is no text is no message", '{"msg":{"a":1}}', '{"msg":{"a":1}}'],
  ["what is no JSON stays", "{oops", "{oops"],
  ["what is no object stays", "[1]", "[1]"],
])("%s", async (_name, line, message) => {
  expect((await row(line)).message).toBe(message);
});

test("attributes sent beside the message stay unchanged", async () => {
  const sent = { log_level: "info", attributes: { pod: "real" } };
  expect(await row('{"pod":"claimed","level":"error","msg":"x"}', sent)).toMatchObject({
    log_level: "info",
    attributes: { pod: "real", pod_extracted: "claimed", level: "error" },
  });
});

test("a member may have the name of a member of every object", async () => {
  const { attributes } = await row('{"constructor":"Widget","msg":"x"}', { attributes: { toString: "y" } });
  expect(attributes).toEqual({ constructor: "Widget", toString: "y" });
});

test("levels come as they are, numbers too", async () => {
  expect((await row('{"level":50,"msg":"x"}')).log_level).toBe("50");
});

test("nothing is flattened unless a sender asks for it", async () => {
  expect((await row('{"msg":"x"}', {}, "false")).message).toBe('{"msg":"x"}');
});

test("a query parameter turns flattening on as well, in every protocol", async () => {
  const timeUnixNano = `${++lastMs}000000`;
  const logRecords = [{ timeUnixNano, body: { stringValue: '{"msg":"from otlp","a":{"b":true}}' } }];
  await call(server, "/v1/logs?flatten-json", {
    token: server.adminToken,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  const [found] = (await search(server, { startTime: lastMs, endTime: lastMs })).json.logs;
  expect(found).toMatchObject({ message: "from otlp", attributes: { "a.b": "true" } });
});

test("any other value than true and false is refused", async () => {
  const got = await call(server, "/api/v1/ingest/logs", {
    token: server.adminToken,
    headers: { "Content-Type": "application/x-ndjson", "flatten-json": "maybe" },
    body: "{}\n",
  });
  expect([got.status, got.json.error]).toEqual([400, 'flatten-json must be true or false, got "maybe"']);
});
