/** Splunk's HTTP event collector: what senders send, what they are answered, and what a search then finds. */
import { gzipSync } from "node:zlib";
// @ts-expect-error: it has no types.
import { Logger } from "splunk-logging";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Answer {
  text: string;
  code: number;
  "invalid-event-number"?: number;
}

const ms = Date.now() - 60_000;
const splunk = () => ({ Authorization: `Splunk ${server.adminToken}` });

test("events stand one after the other, with their fields, times and origins", async () => {
  const events = [
    {
      time: `${ms / 1000}`,
      host: "web-1",
      source: "/var/log/app.log",
      sourcetype: "app",
      index: "main",
      event: "connection refused",
      fields: { trace_id: "6f3cbf058c2765548a39ad724905d6a1", severity: "ERROR", nested: { a: 1 } },
    },
    {
      time: (ms + 250) / 1000,
      event: { message: "paid", level: "info", order: { id: 7 }, time: "not a time" },
    },
  ];
  const body = gzipSync(events.map((each) => JSON.stringify(each, null, 1)).join(""));
  const headers = { ...splunk(), "Content-Encoding": "gzip" };
  const got = await send<Answer>(server, {
    path: "/services/collector/event",
    body: new Uint8Array(body),
    headers,
  });
  expect([got.status, got.json]).toEqual([200, { text: "Success", code: 0 }]);
  expect(await findRows(server, 'logs{} |~ "refused|paid"')).toEqual([
    {
      timestamp: ms,
      log_level: "ERROR",
      message: "connection refused",
      attributes: {
        "host.name": "web-1",
        "com.splunk.source": "/var/log/app.log",
        "com.splunk.sourcetype": "app",
        "com.splunk.index": "main",
        trace_id: "6f3cbf058c2765548a39ad724905d6a1",
        severity: "ERROR",
        "nested.a": "1",
      },
    },
    {
      timestamp: ms + 250,
      log_level: "info",
      message: "paid",
      attributes: { level: "info", "order.id": "7", time: "not a time" },
    },
  ]);
});

test("raw lines have the time and the level that stand at their beginning", async () => {
  const body = "2026-01-29T08:42:01.007Z ERROR out of raw memory\r\n\n2026-01-29T08:42:02Z raw two\n";
  const path = "/services/collector/raw?host=web-2&sourcetype=app&channel=1";
  const got = await send<Answer>(server, { path, body, headers: { ...splunk(), "Content-Type": "" } });
  expect([got.status, got.json.code]).toEqual([200, 0]);
  const attributes = { "host.name": "web-2", "com.splunk.sourcetype": "app" };
  expect(await findRows(server, 'logs{host.name="web-2"}')).toEqual([
    {
      timestamp: Date.UTC(2026, 0, 29, 8, 42, 1, 7),
      log_level: "ERROR",
      message: "2026-01-29T08:42:01.007Z ERROR out of raw memory",
      attributes,
    },
    {
      timestamp: Date.UTC(2026, 0, 29, 8, 42, 2),
      log_level: "",
      message: "2026-01-29T08:42:02Z raw two",
      attributes,
    },
  ]);
});

test("a body that comes again adds nothing", async () => {
  const body = JSON.stringify({ time: ms / 1000, event: "sent twice" });
  for (let i = 0; i < 2; i++)
    expect((await send(server, { path: "/services/collector", body })).status).toBe(200);
  expect(await findRows(server, 'logs{} |= "sent twice"')).toHaveLength(1);
});

describe("answers to what cannot be taken", () => {
  test.each([
    ["no event", '{"event":"good 1"}{"time":1}', 12, 1, "event 2: event is required"],
    ["a blank event", '{"event":""}', 13, 0, "event must not be blank"],
    ["no JSON", '{"event":"good 2"} nonsense', 6, 1, "event 2: not JSON"],
    ["a wrong time", '{"event":"x","time":"noon"}', 6, 0, "time must be a time"],
    ["samples", '{"event":"metric","fields":{"metric_name:cpu":1}}', 6, 0, "metrics are taken by"],
    ["nothing", "", 5, undefined, "No data"],
  ])("%s", async (_name, body, code, number, text) => {
    const got = await send<Answer>(server, { path: "/services/collector", body, headers: splunk() });
    expect([got.status, got.json.code, got.json["invalid-event-number"]]).toEqual([400, code, number]);
    expect(got.json.text).toContain(text);
  });

  test("a wrong token, and requests for acknowledgements", async () => {
    const headers = { Authorization: "Splunk 00000000-0000-0000-0000-000000000000" };
    const wrong = await send<Answer>(server, { path: "/services/collector", body: '{"event":"x"}', headers });
    expect([wrong.status, wrong.json.code]).toEqual([401, 2]);
    const body = '{"acks":[0]}';
    const ack = await send<Answer>(server, {
      path: "/services/collector/ack?channel=1",
      body,
      headers: splunk(),
    });
    expect([ack.status, ack.json.code]).toEqual([400, 14]);
  });

  test("its health needs no token", async () => {
    const got = await call<Answer>(server, "/services/collector/health");
    expect([got.status, got.json.code]).toEqual([200, 17]);
  });
});

test("the client splunk-logging", async () => {
  const logger = new Logger({ token: server.adminToken, url: server.url, maxBatchCount: 0 });
  const sent = Array.from({ length: 3 }, (_, i) => ({
    message: { text: `from the client ${i}`, order: i },
    severity: "warn",
    metadata: { host: "client-1", source: "test", time: (ms + i) / 1000 },
  }));
  for (const each of sent) logger.send(each);
  const answer = await new Promise((resolve, reject) => {
    logger.flush((error: Error | null, _response: unknown, body: unknown) =>
      error ? reject(error) : resolve(body),
    );
  });
  expect(answer).toMatchObject({ code: 0 });
  const rows = await findRows(server, 'logs{host.name="client-1"}');
  expect(rows.map(({ log_level, attributes }) => [log_level, attributes["message.text"]])).toEqual([
    ["warn", "from the client 0"],
    ["warn", "from the client 1"],
    ["warn", "from the client 2"],
  ]);
});
