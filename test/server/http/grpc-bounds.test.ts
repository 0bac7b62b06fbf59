/**
 * Clients of gRPC that are slow, silent, or want too much, and a server that stops: all within bounds, which are small
 * here, and a client beside them is served.
 */
import { once } from "node:events";
import { type ClientHttp2Stream, type ClientSessionOptions, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { scaled, seededRandom } from "../../durability/campaign.ts";
import { mutateBody } from "../ingest/body-mutation.ts";
import { protobufOf } from "../ingest/otlp/otlp-bodies.ts";
import { call, type Running, search, startServer } from "../running.ts";
import { answerOf, codes, exportMethods, framed, GrpcClient } from "./grpc-client.ts";

const KiB = 1_024;
const connectionsMax = 12;
const bodyBytesMax = 512 * KiB;

vi.mock("../../../server/http/limits.ts", async (original) => ({
  ...(await original<object>()),
  answerSendMsMax: 700,
  grpcConnectionsMax: 12,
  grpcBodyIdleMsMax: 2_000,
  grpcRoomWaitMsMax: 2_500,
  grpcSilentMsMax: 400,
  grpcIdleMsMax: 1_500,
  grpcSweepMs: 50,
  grpcLingerMs: 200,
}));

vi.mock("../../../server/http/request-bounds.ts", async (original) => {
  const { makeRequestBounds } = await original<typeof import("../../../server/http/request-bounds.ts")>();
  return { makeRequestBounds: () => makeRequestBounds({ requestBytes: 512 * 1_024 }) };
});

let server: Running;
let clients: GrpcClient[] = [];
beforeAll(async () => {
  server = await startServer({ grpcAddress: { host: "127.0.0.1", port: 0, isOptional: false } });
});
afterEach(() => {
  for (const client of clients) client.close();
  clients = [];
});
afterAll(() => server.stop());

function open(options: ClientSessionOptions = {}): GrpcClient {
  const client = new GrpcClient(server.service.grpcPort!, options);
  clients.push(client);
  return client;
}

/** A request with one record of about so many bytes. */
function logs(batch: string, bytes = 0): Buffer {
  const record = {
    timeUnixNano: `${Date.now()}000000`,
    body: { stringValue: "x".repeat(bytes) },
    attributes: [{ key: "batch", value: { stringValue: batch } }],
  };
  return protobufOf("LogsRequest", { resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });
}

const countOf = async (batch: string) =>
  (await search(server, { query: `logs{batch="${batch}"}` })).json.count;

function begin(client: GrpcClient): ClientHttp2Stream {
  return client.open(exportMethods.logs, { token: server.adminToken });
}

function send(client: GrpcClient, message: Uint8Array) {
  return client.call(exportMethods.logs, message, { token: server.adminToken });
}

async function expectServed(batch: string): Promise<void> {
  expect((await send(open(), logs(batch))).code).toBe(codes.OK);
  expect(await countOf(batch)).toBe(1);
}

async function heldBytes(): Promise<number> {
  const { text } = await call(server, "/metrics");
  return Number(/^svc_http_body_bytes_held (\d+)$/m.exec(text)![1]);
}

test("a client that stops in the middle of its message is refused, and what it held is free", async () => {
  const stream = begin(open());
  const answer = answerOf(stream);
  stream.write(framed(logs("half", 100 * KiB)).subarray(0, 50 * KiB));
  const { code, message } = await answer;
  expect([code, message]).toEqual([codes.DEADLINE_EXCEEDED, "the message did not arrive within 2 s"]);
  expect(await heldBytes()).toBe(0);
  expect(await countOf("half")).toBe(0);
  await expectServed("after the half");
});

test("a client that leaves in the middle of its message leaves nothing behind", async () => {
  for (const leave of [
    (stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL),
    (_: ClientHttp2Stream, client: GrpcClient) => client.session.destroy(),
  ]) {
    const client = open();
    const stream = begin(client);
    stream.write(framed(logs("left", 100 * KiB)).subarray(0, 50 * KiB));
    await expect.poll(heldBytes).toBeGreaterThan(100 * KiB);
    leave(stream, client);
    await expect.poll(heldBytes).toBe(0);
  }
  expect(await countOf("left")).toBe(0);
});

test("a message for which there is no room is not read until there is, and its sender waits", async () => {
  // A caller holds no more than it leaves free: half.
  const size = bodyBytesMax / 2 - 10 * KiB;
  const client = open();
  const first = begin(client);
  const firstAnswer = answerOf(first);
  first.write(framed(logs("first", size)).subarray(0, 1_000));
  await expect.poll(heldBytes).toBeGreaterThan(size);
  const second = begin(client);
  const secondAnswer = answerOf(second);
  let isTaken = false;
  second.end(framed(logs("second", size)), () => {
    isTaken = true;
  });
  await sleep(300);
  // Its flow-control window is smaller than the message: the rest is still with the sender.
  expect(isTaken).toBe(false);
  expect(await heldBytes()).toBeLessThan(bodyBytesMax / 2);
  first.end(framed(logs("first", size)).subarray(1_000));
  expect([(await firstAnswer).code, (await secondAnswer).code]).toEqual([codes.OK, codes.OK]);
  expect(isTaken).toBe(true);
  expect([await countOf("first"), await countOf("second")]).toEqual([1, 1]);
});

test("a message for which there is no room for long is to be sent again", async () => {
  const size = bodyBytesMax / 2 - 10 * KiB;
  const client = open();
  const first = begin(client);
  const message = framed(logs("holding", size));
  first.write(message.subarray(0, 1_000));
  const dripping = setInterval(() => first.write(Buffer.alloc(1, "x")), 200);
  await expect.poll(heldBytes).toBeGreaterThan(size);
  const answer = await send(client, logs("waiting", size));
  clearInterval(dripping);
  expect([answer.code, answer.retrySeconds]).toEqual([codes.UNAVAILABLE, 1]);
  first.close();
});

test("a call that waits for room and is broken, or leaves, takes nothing with it", async () => {
  const client = open();
  const holding = [bodyBytesMax / 2 - 10 * KiB, 9 * KiB].map((size) => {
    const stream = begin(client);
    stream.write(framed(logs("held", size)).subarray(0, 1_000));
    return stream;
  });
  await expect.poll(heldBytes).toBeGreaterThan(bodyBytesMax / 2 - 2 * KiB);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(5 * KiB, 1);
  const broken = begin(client);
  const answer = answerOf(broken);
  broken.end(Buffer.concat([prefix, Buffer.alloc(8 * KiB)]));
  const leaving = begin(client);
  leaving.write(Buffer.concat([prefix, Buffer.alloc(KiB)]));
  await sleep(200);
  leaving.destroy();
  for (const stream of holding) stream.destroy();
  expect((await answer).code).toBe(codes.INVALID_ARGUMENT);
  await expect.poll(heldBytes).toBe(0);
});

test("connections that say nothing, are idle or ping without end are closed", async () => {
  const socket = connect(server.service.grpcPort!, "127.0.0.1");
  const isClosed = once(socket.resume(), "close");
  const idle = open();
  expect((await send(idle, logs("idle"))).code).toBe(codes.OK);
  const pinging = open();
  await once(pinging.session, "connect");
  const isCalmed = new Promise((resolve) => pinging.session.once("close", resolve));
  while (!pinging.session.destroyed) {
    await new Promise((resolve) => pinging.session.ping(resolve) || resolve(undefined));
  }
  await isCalmed;
  expect(pinging.goaways[0]).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  await isClosed;
  await new Promise((resolve) =>
    idle.session.destroyed ? resolve(null) : idle.session.once("close", resolve),
  );
  expect(new Set(idle.goaways)).toEqual(new Set([constants.NGHTTP2_NO_ERROR]));
  await expectServed("after the silence");
});

test("there are no more connections than the server takes, and then there are again", async () => {
  const sockets: Socket[] = [];
  const closed: Promise<unknown>[] = [];
  for (let i = 0; i < connectionsMax * 2; i++) {
    const socket = connect(server.service.grpcPort!, "127.0.0.1");
    socket.on("error", () => undefined);
    closed.push(once(socket.resume(), "close"));
    sockets.push(socket);
  }
  await Promise.race(closed);
  const { text } = await call(server, "/metrics");
  expect(Number(/^svc_grpc_connections (\d+)$/m.exec(text)![1])).toBeLessThanOrEqual(connectionsMax);
  await Promise.all(closed);
  await expectServed("after the crowd");
});

test("a client that takes no answer is cut off, and its rows are stored", async () => {
  const stream = begin(open({ settings: { initialWindowSize: 0 } }));
  const answer = answerOf(stream);
  stream.end(framed(logs("no answer")));
  const { httpStatus, code } = await answer;
  expect([httpStatus, code, stream.rstCode]).toEqual([200, undefined, constants.NGHTTP2_CANCEL]);
  expect(await countOf("no answer")).toBe(1);
});

test.each<[string, Record<string, string>]>([
  ["too long to be read", { long: "x".repeat(200 * KiB) }],
  ["of too many headers", Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`h${i}`, "x"]))],
])("a head that is %s ends the call, and the server goes on", async (what, metadata) => {
  const client = open({ maxSendHeaderBlockLength: 512 * KiB } as ClientSessionOptions);
  const options = { token: server.adminToken, metadata };
  const { code } = await client.call(exportMethods.logs, logs(what), options);
  expect(code).not.toBe(codes.OK);
  expect(await countOf(what)).toBe(0);
  await expectServed(`after ${what}`);
});

test("bytes that are not HTTP/2 close the connection, and nothing else", async () => {
  for (const bytes of [
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "\x16\x03\x01\x02\x00\x01",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxx",
  ]) {
    const socket = connect(server.service.grpcPort!, "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => undefined);
    await once(socket.resume(), "close");
  }
  await expectServed("after the noise");
});

test("messages that were changed at random are answered, each with a status", async () => {
  const random = seededRandom("grpc");
  const client = open();
  const message = framed(logs("mutated", 300));
  const statuses = await Promise.all(
    Array.from({ length: scaled(200, 5_000) }, () => {
      const stream = begin(client);
      const answer = answerOf(stream);
      stream.end(mutateBody(message, random));
      return answer;
    }),
  );
  const known = new Set<number | undefined>([codes.OK, codes.INVALID_ARGUMENT, codes.UNAVAILABLE]);
  expect(statuses.filter(({ code }) => !known.has(code))).toEqual([]);
  await expectServed("after the mutations");
});

test("more calls at once than a connection may have wait with the client", async () => {
  const client = open();
  const answers = await Promise.all(Array.from({ length: 400 }, (_, i) => send(client, logs(`c${i}`))));
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set([codes.OK]));
});

test("a server that stops answers what runs, says that it goes, and takes nothing new", async () => {
  const client = open();
  const stream = begin(client);
  const answer = answerOf(stream);
  const message = framed(logs("last", 50 * KiB));
  stream.write(message.subarray(0, 10_000));
  await expect.poll(heldBytes).toBeGreaterThan(50 * KiB);
  const hanging = begin(open());
  const hangingAnswer = answerOf(hanging);
  hanging.write(message.subarray(0, 100));
  await expect.poll(heldBytes).toBeGreaterThan(100 * KiB);
  const beganMs = performance.now();
  const stopped = server.service.close();
  await expect.poll(() => client.goaways).toEqual([constants.NGHTTP2_NO_ERROR]);
  stream.end(message.subarray(10_000));
  expect((await answer).code).toBe(codes.OK);
  // It stopped sending: refused like any other.
  expect((await hangingAnswer).code).toBe(codes.DEADLINE_EXCEEDED);
  await stopped;
  expect(performance.now() - beganMs).toBeLessThan(5_000);
  await expect(
    new Promise((resolve, reject) =>
      new GrpcClient(server.service.grpcPort!).session.on("connect", resolve).on("error", reject),
    ),
  ).rejects.toThrow();
  server = await startServer({
    dataDir: server.dir,
    grpcAddress: { host: "127.0.0.1", port: 0, isOptional: false },
  });
  expect(await countOf("last")).toBe(1);
});
