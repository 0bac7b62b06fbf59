/** Lines as loggers write them become rows with the time, the level and the message that were sent. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { recogniseLines } from "../../../../server/command/client/recognised-lines.ts";
import type { Running } from "../../running.ts";
import { call, search, startServer } from "../../running.ts";
import { loggerSamples, sampleMs } from "./logger-samples.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const nowMs = Date.now() - 60_000;

function send(body: string, path = "/api/v1/ingest/logs") {
  const headers = { "Content-Type": "application/x-ndjson" };
  return call(server, path, { token: server.adminToken, headers, body });
}

test.each(loggerSamples)("$form: $message", async (sample) => {
  const { line, message, level, range, attributes } = sample;
  const sentMs = Date.now();
  expect((await send(line)).json).toMatchObject({ accepted: 1, refused: 0 });
  // The name of the range finds the level, which comes back as it was sent.
  const found = await search(server, { query: `{log_level="${range}", message=${JSON.stringify(message)}}` });
  expect(found.json.logs).toMatchObject([{ log_level: level, message, attributes }]);
  expect(Object.keys(found.json.logs[0]!.attributes)).toHaveLength(Object.keys(attributes).length);
  const { rows } = await server.service.store.search({
    ...{ signal: "logs", fromNs: 0n, toNs: 2n ** 62n, limit: 1 },
    steps: [{ kind: "filter", filter: { kind: "equals", field: { kind: "message" }, value: message } }],
  });
  const { timeNs } = rows[0]!;
  if (sample.timeNs === null) expect(Number(timeNs / 1_000_000n)).toBeGreaterThanOrEqual(sentMs);
  else expect(timeNs).toBe(sample.timeNs ?? BigInt(sampleMs) * 1_000_000n);
});

test.each(loggerSamples)("svc ingest says $form of $message", async ({ form, line }) => {
  const said: string[] = [];
  const chunks = (async function* () {
    yield Buffer.from(`${line}\n`);
  })();
  const onForm = (text: string) => said.push(text.replace(/: .*/, ""));
  for await (const bytes of recogniseLines(chunks, { isLive: false, names: undefined, onForm })) {
    expect(Buffer.from(bytes).toString()).toBe(`${line}\n`);
  }
  expect(said).toEqual([form]);
});

test("the fields may be named in the URL", async () => {
  const ms = nowMs + 2_000;
  const path = "/api/v1/ingest/logs?timeField=at.when&levelField=sev&messageField=words";
  await send(JSON.stringify({ at: { when: ms }, sev: "E", words: "named" }), path);
  const found = await search(server, { query: '{log_level="error"}', startTime: ms, endTime: ms });
  expect(found.json.logs).toMatchObject([{ log_level: "E", message: "named" }]);
});

test.each([
  ["timeField=", "timeField must be the name of a field, got an empty text"],
  ["levelfield=sev", 'unknown query parameter "levelfield"; did you mean levelField?'],
])("the parameter %s is refused", async (query, error) => {
  const got = await send('{"msg":"x"}', `/api/v1/ingest/logs?${query}`);
  expect([got.status, got.json.error]).toEqual([400, error]);
});

test("the API's description names the parameters", async () => {
  const { json } = await call<{
    paths: Record<string, { post: { parameters: { name: string; in: string }[] } }>;
  }>(server, "/openapi.json");
  const { parameters } = json.paths["/api/v1/ingest/logs"]!.post;
  const names = parameters.filter((each) => each.in === "query").map(({ name }) => name);
  expect(names).toEqual(["timeField", "levelField", "messageField", "flatten-json"]);
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
  ["seconds", Math.floor(nowMs / 1000)],
  ["microseconds", nowMs * 1000],
  ["RFC 3339", new Date(nowMs).toISOString()],
])("a timestamp of svc's own form in %s is no time of 1970", async (unit, timestamp) => {
  const sent = { timestamp, log_level: "info", message: `in ${unit}`, attributes: {} };
  expect((await send(JSON.stringify(sent))).json).toMatchObject({ accepted: 1 });
  const found = await search(server, { query: `{message="in ${unit}"}` });
  const expected = unit === "seconds" ? Math.floor(nowMs / 1000) * 1000 : nowMs;
  expect(found.json.logs).toMatchObject([{ timestamp: expected }]);
});

test.each([
  ['{"level":30,"time":12,"msg":"a"}', "time must be a time"],
  ['{"timestamp":12,"level":"info","message":"a"}', "timestamp must be a time"],
  ['{"timestamp":"soon","log_level":"info","message":"a"}', "timestamp must be a time"],
  ['{"resourceLogs":[]}', "/v1/logs"],
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
