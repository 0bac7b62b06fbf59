/** GELF over HTTP, TCP and UDP. */
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import gelf from "gelf-pro";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ChunkJoiner } from "../../../../server/ingest/gelf/chunks.ts";
import { call, type Running, startServer } from "../../running.ts";
import { findRows, send } from "./rows.ts";

let server: Running;
beforeAll(async () => {
  server = await startServer({ gelfAddress: { host: "127.0.0.1", port: 0 } });
});
afterAll(() => server.stop());

const ms = Date.now() - 60_000;

test("every field of a message, and several messages in one body", async () => {
  const messages = [
    {
      version: "1.1",
      host: "web-1",
      short_message: "backtrace",
      full_message: "backtrace\nat main",
      timestamp: ms / 1000,
      level: 2,
      facility: "app",
      _user_id: 9001,
      _trace_id: "6f3cbf058c2765548a39ad724905d6a1",
      __double: "kept",
    },
    { version: "1.1", host: "web-1", short_message: "second", timestamp: `${ms + 1}`, level: "warning" },
  ];
  const body = messages.map((each) => JSON.stringify(each)).join("\n");
  const got = await send(server, { path: "/gelf", body });
  expect([got.status, got.text]).toEqual([202, ""]);
  expect(await findRows(server, 'logs{host.name="web-1"}')).toEqual([
    {
      timestamp: ms,
      log_level: "crit",
      message: "backtrace",
      attributes: {
        "host.name": "web-1",
        full_message: "backtrace\nat main",
        facility: "app",
        user_id: "9001",
        trace_id: "6f3cbf058c2765548a39ad724905d6a1",
        _double: "kept",
      },
    },
    { timestamp: ms + 1, log_level: "warning", message: "second", attributes: { "host.name": "web-1" } },
  ]);
});

test("a message without a text, or with a wrong time, is refused", async () => {
  const body = '{"host":"a"}\n{"short_message":"x","timestamp":"noon"}';
  const got = await send(server, { path: "/gelf", body });
  expect(got.status).toBe(400);
  expect(got.text).toContain("2 of 2 messages were refused; message 1: short_message is required");
});

const waitForRows = (query: string, count: number) =>
  expect.poll(() => findRows(server, query), { timeout: 10_000 }).toHaveLength(count);

/** A message in chunks, the last one first. */
function chunksOf(message: Buffer, count: number, id: string): Buffer[] {
  const size = Math.ceil(message.length / count);
  const chunks = Array.from({ length: count }, (_, i) => {
    const head = Buffer.concat([Buffer.of(0x1e, 0x0f), Buffer.from(id), Buffer.of(i, count)]);
    return Buffer.concat([head, message.subarray(i * size, (i + 1) * size)]);
  });
  return chunks.reverse();
}

test("datagrams: plain, packed, and in chunks", async () => {
  const message = (name: string) =>
    JSON.stringify({ host: "udp", short_message: name, timestamp: ms / 1000 });
  const datagrams = [
    Buffer.from(message("plain")),
    gzipSync(message("gzip")),
    deflateSync(message("zlib")),
    ...chunksOf(gzipSync(message("chunks")), 3, "12345678"),
    Buffer.from("no JSON"),
  ];
  const socket = createSocket("udp4");
  for (const each of datagrams) {
    await new Promise((resolve) => socket.send(each, server.service.gelfPort, "127.0.0.1", resolve));
  }
  socket.close();
  await waitForRows('logs{host.name="udp"}', 4);
  const rows = await findRows(server, 'logs{host.name="udp"}');
  expect(rows.map((row) => row.message).sort()).toEqual(["chunks", "gzip", "plain", "zlib"]);
  expect(new Set(rows.map(({ timestamp }) => timestamp))).toEqual(new Set([ms]));
  await expect
    .poll(async () => (await call(server, "/metrics", { token: server.adminToken })).text, { timeout: 5_000 })
    .toMatch(/^svc_ingest_refused_rows_total\{.*reason="json".*\} 1$/m);
});

test("a stream of messages with zero bytes between, equal ones included", async () => {
  const message = JSON.stringify({ host: "tcp", short_message: "equal", timestamp: ms / 1000 });
  const socket = connect(server.service.gelfPort!, "127.0.0.1");
  socket.end(`${message}\0${message}\0\0${message}`);
  await waitForRows('logs{host.name="tcp"}', 3);
});

test("the client gelf-pro", async () => {
  gelf.setConfig({
    fields: { order: 7 },
    adapterName: "udp",
    adapterOptions: { host: "127.0.0.1", port: server.service.gelfPort!, protocol: "udp4" },
  });
  gelf.message("from the client", 4, { shop: "main" });
  await waitForRows('logs{} |= "from the client"', 1);
  const [row] = await findRows(server, 'logs{} |= "from the client"');
  expect(row).toMatchObject({ log_level: "warning", attributes: { order: "7", shop: "main" } });
});

test("chunks of messages that never end are forgotten", () => {
  let nowMs = 0;
  const joiner = new ChunkJoiner(() => nowMs);
  const [last, first] = chunksOf(Buffer.from("message"), 2, "aaaaaaaa");
  expect(joiner.add(last!)).toBeUndefined();
  nowMs = 6_000;
  // Any other chunk makes the joiner look at the time.
  joiner.add(chunksOf(Buffer.from("other"), 2, "bbbbbbbb")[0]!);
  expect(joiner.add(first!)).toBeUndefined();
  expect(joiner.add(last!)?.toString()).toBe("message");
  // Of 1,000 halves of 30,000 bytes at most 545 fit: the oldest are forgotten.
  const halves = (i: number) => chunksOf(Buffer.alloc(60_000, "x"), 2, String(i).padStart(8, "0"));
  for (let i = 0; i < 1_000; i++) joiner.add(halves(i)[0]!);
  expect(joiner.add(halves(999)[1]!)).toHaveLength(60_000);
  expect(joiner.add(halves(0)[1]!)).toBeUndefined();
});

test("incomplete messages of the smallest chunks take no more memory than large ones", () => {
  const joiner = new ChunkJoiner(() => 0);
  const smallest = (i: number) => chunksOf(Buffer.from("ab"), 2, String(i).padStart(8, "0"));
  const messages = 100_000;
  for (let i = 0; i < messages; i++) joiner.add(smallest(i)[0]!);
  expect(joiner.add(smallest(messages - 1)[1]!)).toHaveLength(2);
  // Each takes 512 bytes and 256 for its chunk: of 16 MiB, room for less than 22,000.
  expect(joiner.add(smallest(messages - 10_000)[1]!)).toHaveLength(2);
  expect(joiner.add(smallest(messages - 22_000)[1]!)).toBeUndefined();
});
