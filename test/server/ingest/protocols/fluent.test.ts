/** Fluent's forward protocol over TCP: its modes, acknowledgements, the handshake, and a client. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { FluentClient } from "@fluent-org/logger";
import { decodeMulti, ExtData, encode } from "@msgpack/msgpack";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { DecoderFault } from "../../../../server/ingest/decode-pool.ts";
import { listenFluent } from "../../../../server/ingest/fluent/listener.ts";
import type { Intake } from "../../../../server/ingest/intake.ts";
import { Metrics } from "../../../../server/metrics/metrics.ts";
import { Refusal, tryLater } from "../../../../server/throttle/refusal.ts";
import { call, type Running, startServer } from "../../running.ts";
import { findRows } from "./rows.ts";

const key = "a shared key";
const address = { host: "127.0.0.1", port: 0 };
let server: Running;
let keyed: Running;
const sockets: Socket[] = [];
beforeAll(async () => {
  [server, keyed] = await Promise.all([
    startServer({ fluentAddress: address }),
    startServer({ fluentAddress: address, fluentKey: key }),
  ]);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await Promise.all([server.stop(), keyed.stop()]);
});

/** A connection, and the messages that come back over it. */
async function open(to: Running | number) {
  const socket = connect(typeof to === "number" ? to : to.service.fluentPort!, "127.0.0.1");
  sockets.push(socket);
  socket.on("error", () => undefined);
  const received: unknown[] = [];
  let pending = Buffer.alloc(0);
  socket.on("data", (data) => {
    pending = Buffer.concat([pending, data]);
    try {
      const values = [...decodeMulti(pending)];
      received.push(...values);
      pending = Buffer.alloc(0);
    } catch {
      // The last value has not come as a whole.
    }
  });
  await once(socket, "connect");
  return { socket, received };
}

const seconds = Math.floor(Date.now() / 1000) - 60;

function eventTime(nanos: number): ExtData {
  const content = Buffer.alloc(8);
  content.writeUInt32BE(seconds, 0);
  content.writeUInt32BE(nanos, 4);
  return new ExtData(0, content);
}

const record = (mode: string) => ({
  log: `in ${mode}\n`,
  level: "error",
  kubernetes: { namespace_name: "shop", pod_name: "cart-1", labels: { app: "cart" } },
  count: 7,
  big: 12345678901234567890n,
  ratio: 1.5,
  list: [1, "a"],
  bytes: Buffer.from([0xff, 0xfe]),
});
const options = { useBigInt64: true };
const entry = (mode: string) => [eventTime(250_000_000), record(mode)];
const packed = (mode: string) => Buffer.concat([encode(entry(mode), options), encode(entry(mode), options)]);

const messages: [mode: string, message: (mode: string) => unknown[], rows: number][] = [
  ["message mode", (mode) => ["app.web", ...entry(mode), { chunk: `chunk of ${mode}` }], 1],
  [
    "forward mode",
    (mode) => ["app.web", [entry(mode), entry(mode)], { chunk: `chunk of ${mode}`, size: 2 }],
    2,
  ],
  ["packed mode", (mode) => ["app.web", packed(mode), { chunk: `chunk of ${mode}` }], 2],
  [
    "compressed mode",
    (mode) => ["app.web", gzipSync(packed(mode)), { compressed: "gzip", chunk: `chunk of ${mode}` }],
    2,
  ],
  [
    "Fluent Bit's form",
    (mode) => [
      "app.web",
      Buffer.from(encode([[eventTime(250_000_000), {}], record(mode)], options)),
      { chunk: `chunk of ${mode}`, fluent_signal: 0 },
    ],
    1,
  ],
];

describe("modes", () => {
  test.each(messages)("%s", async (mode, message, rows) => {
    const { socket, received } = await open(server);
    const bytes = Buffer.from(encode(message(mode), options));
    // In pieces: a message may come in any.
    for (let at = 0; at < bytes.length; at += 50) {
      socket.write(bytes.subarray(at, at + 50));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: `chunk of ${mode}` }]);
    const expected = {
      timestamp: seconds * 1000 + 250,
      log_level: "error",
      message: `in ${mode}`,
      attributes: {
        level: "error",
        "kubernetes.namespace_name": "shop",
        "kubernetes.pod_name": "cart-1",
        "kubernetes.labels.app": "cart",
        count: "7",
        big: "12345678901234567890",
        ratio: "1.5",
        list: '[1,"a"]',
        bytes: "//4=",
        "fluent.tag": "app.web",
        "service.name": "/k8s/shop/cart",
      },
    };
    expect(await findRows(server, `logs{} |= "in ${mode}"`)).toEqual(new Array(rows).fill(expected));
    // The acknowledgement may be lost: what comes again is acknowledged and adds nothing.
    socket.write(bytes);
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(2);
    expect(await findRows(server, `logs{} |= "in ${mode}"`)).toHaveLength(rows);
  });

  test("records without options are not acknowledged, and equal ones are all stored", async () => {
    const { socket, received } = await open(server);
    for (let i = 0; i < 3; i++) socket.write(encode(["bare", seconds, { message: "bare record" }]));
    await expect.poll(() => findRows(server, 'logs{fluent.tag="bare"}'), { timeout: 5_000 }).toHaveLength(3);
    expect(received).toEqual([]);
  });
});

describe("connections that are closed", () => {
  test.each([
    ["no MessagePack", Buffer.from([0xc1]), "a value begins with the byte 0xc1"],
    ["another protocol", Buffer.from("GET / HTTP/1.1\r\n\r\n"), "a message must be an array"],
    ["a message of one element", Buffer.from(encode(["tag"])), "a message must have 2 to 4 elements"],
    ["packed entries that are cut short", Buffer.from(encode(["t", Buffer.from([0x92, 1])])), "cut short"],
    [
      "a message that is too long",
      Buffer.from([0x92, 0xa1, 0x61, 0xc6, 0x7f, 0xff, 0xff, 0xff]),
      "longer than",
    ],
  ])("%s", async (_name, bytes, reason) => {
    const { socket, received } = await open(server);
    socket.write(bytes);
    await once(socket, "close");
    expect(received).toEqual([]);
    expect(server.logged.at(-1)).toContain(reason);
  });

  test("a record that cannot be stored does not hold up the others", async () => {
    const { socket, received } = await open(server);
    const entries = [
      [seconds, "no map"],
      ["noon", { message: "wrong time" }],
      [seconds, { message: "good record" }],
    ];
    socket.write(encode(["mixed", entries, { chunk: "mixed" }]));
    await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: "mixed" }]);
    expect((await findRows(server, 'logs{fluent.tag="mixed"}')).map(({ message }) => message)).toEqual([
      "good record",
    ]);
    const refused = (await call(server, "/metrics", { token: server.adminToken })).text;
    expect(refused).toMatch(/svc_ingest_refused_rows_total\{[^}]*\} 2$/m);
  });
});

describe("messages of unusual values do not hold up the others", () => {
  /** A map of one pair whose key is a value of any kind. */
  const mapOf = (key: Uint8Array) => Buffer.concat([Buffer.of(0x81), key, Buffer.of(1)]);
  const oddMessage = (time: Uint8Array, record: Uint8Array) =>
    Buffer.concat([Buffer.of(0x93), encode("odd"), time, record]);

  test.each([
    ["a time that is a map with the names of an EventTime", encode({ type: 0, content: "abcdefgh" })],
    ["a time of another extension type", encode(new ExtData(1, new Uint8Array(8)))],
  ])("%s is refused", async (name, time) => {
    const { socket, received } = await open(server);
    socket.write(oddMessage(time, encode({ message: name })));
    socket.write(encode(["after", seconds, { message: name }, { chunk: "after" }]));
    await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: "after" }]);
    expect(await findRows(server, `logs{fluent.tag="odd"} |= "${name}"`)).toEqual([]);
  });

  test("a key that is a list with a large integer is its JSON text", async () => {
    const { socket } = await open(server);
    const key = encode([2n ** 63n], { useBigInt64: true });
    socket.write(oddMessage(encode(seconds), mapOf(key)));
    await expect
      .poll(() => findRows(server, 'logs{fluent.tag="odd"}'), { timeout: 5_000 })
      .toMatchObject([{ attributes: { "[9223372036854775808]": "1" } }]);
  });

  test("maps in keys in keys, whose texts would double with each, are refused", async () => {
    let record: Buffer = mapOf(encode("a"));
    for (let depth = 0; depth < 40; depth++) record = mapOf(record);
    const { socket, received } = await open(server);
    socket.write(oddMessage(encode(seconds), record));
    socket.write(encode(["after", seconds, { message: "after keys" }, { chunk: "keys" }]));
    await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: "keys" }]);
    expect((await call(server, "/metrics")).text).toMatch(
      /svc_ingest_ended_threads_total\{[^}]*memory[^}]*\} 0$/m,
    );
  });
});

test("a message on which the decoder fails is dropped and counted, and the next one is stored", async () => {
  let tries = 0;
  const intake = {
    take: () =>
      tries++ === 0
        ? Promise.reject(new DecoderFault("a body could not be decoded: a fault"))
        : Promise.resolve({ answer: '["next"]' }),
  } as unknown as Intake;
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const metrics = new Metrics();
  const listener = await listenFluent({
    address,
    key: undefined,
    bytesHeldMax: 2 ** 20,
    intake,
    metrics,
    log,
  });
  const { socket, received } = await open(listener.port);
  socket.write(encode(["t", seconds, { message: "faulty" }, { chunk: "faulty" }]));
  socket.write(encode(["t", seconds, { message: "next" }, { chunk: "next" }]));
  await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: "next" }]);
  expect(tries).toBe(2);
  expect(logged).toEqual(["a message of Fluent's is dropped: a body could not be decoded: a fault"]);
  expect(metrics.text()).toMatch(/^svc_fluent_dropped_messages_total 1$/m);
  await listener.close();
});

describe("of messages without options that come together", () => {
  type Bare = [tag: string, time: number, record: { message: string }];
  const bare = (message: string): Bare => [`tag of ${message}`, seconds, { message }];

  /** A listener whose store refuses bodies that hold a message of this text; and what it took, body by body. */
  async function listenRefusing(text: string, error: Error) {
    const taken: string[][] = [];
    const logged: string[] = [];
    const metrics = new Metrics();
    const take = async ({ body }: { body: Uint8Array }) => {
      const texts = [...decodeMulti(body)].map((message) => (message as Bare)[2].message);
      if (texts.some((each) => each.startsWith(text))) throw error;
      taken.push(texts);
      return { answer: "[]" };
    };
    const listener = await listenFluent({
      ...{ address, key: undefined, bytesHeldMax: 2 ** 20, metrics },
      ...{ intake: { take } as unknown as Intake, log: (message: string) => void logged.push(message) },
    });
    return { listener, taken, logged, metrics };
  }

  test.each([
    ["refused", new Refusal(413, "it takes too long")],
    ["that the decoder fails on", new DecoderFault("it takes too long")],
  ])("those %s are dropped alone, counted and named; the connection goes on", async (_name, error) => {
    const { listener, taken, logged, metrics } = await listenRefusing("bad", error);
    const { socket } = await open(listener.port);
    const texts = ["a", "b", "bad 1", "c", "d", "bad 2", "e"];
    socket.write(Buffer.concat(texts.map((text) => encode(bare(text)))));
    await expect.poll(() => taken.flat(), { timeout: 5_000 }).toEqual(["a", "b", "c", "d", "e"]);
    socket.write(encode(bare("later")));
    await expect.poll(() => taken.at(-1), { timeout: 5_000 }).toEqual(["later"]);
    const dropped = (tag: string) =>
      `a message of Fluent's with the tag "tag of ${tag}" is dropped: it takes too long`;
    expect(logged).toEqual([dropped("bad 1"), dropped("bad 2")]);
    expect(metrics.text()).toMatch(/^svc_fluent_dropped_messages_total 2$/m);
    await listener.close();
  });

  test("a long one is read by itself, so that its keys do not count for the others", async () => {
    const { listener, taken } = await listenRefusing("none", new Error("none"));
    const { socket } = await open(listener.port);
    const long = "long".repeat(40_000);
    socket.write(Buffer.concat([bare("a"), bare(long), bare("b"), bare("c")].map((each) => encode(each))));
    await expect.poll(() => taken.flat(), { timeout: 5_000 }).toEqual(["a", long, "b", "c"]);
    expect(taken).toContainEqual([long]);
    await listener.close();
  });
});

test("a message that the store does not take now is stored later, and acknowledged only then", async () => {
  const bodies: string[] = [];
  const intake = {
    take: ({ body }: { body: Uint8Array }) => {
      bodies.push(Buffer.from(body).toString("hex"));
      if (bodies.length === 1) return Promise.reject(tryLater("the disk is full", 30));
      return Promise.resolve({ answer: '["late"]' });
    },
  } as unknown as Intake;
  const logged: string[] = [];
  const log = (message: string) => void logged.push(message);
  const listener = await listenFluent({
    ...{ address, key: undefined, bytesHeldMax: 2 ** 20 },
    ...{ intake, metrics: new Metrics(), log },
  });
  const { socket, received } = await open(listener.port);
  const message = encode(["t", seconds, { message: "late" }, { chunk: "late" }]);
  socket.write(message);
  await expect.poll(() => bodies.length, { timeout: 5_000 }).toBe(1);
  expect(received).toEqual([]);
  await expect.poll(() => received, { timeout: 5_000 }).toEqual([{ ack: "late" }]);
  expect(bodies).toEqual(new Array(2).fill(Buffer.from(message).toString("hex")));
  expect(logged).toEqual(["messages of Fluent's wait: the disk is full"]);
  await listener.close();
});

describe("with a shared key", () => {
  /** Answers the greeting as a client with a key does. */
  async function greet(withKey: string) {
    const { socket, received } = await open(keyed);
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(1);
    const [name, { nonce }] = received[0] as [string, { nonce: Uint8Array }];
    expect(name).toBe("HELO");
    const digest = (host: string) =>
      createHash("sha512").update("salt").update(host).update(nonce).update(withKey).digest("hex");
    socket.write(encode(["PING", "client", "salt", digest("client"), "", ""]));
    return { socket, received, digest };
  }

  test("a client that has it is answered with the proof that the server has it", async () => {
    const { socket, received, digest } = await greet(key);
    await expect.poll(() => received.length, { timeout: 5_000 }).toBe(2);
    const [name, isAccepted, , host, proof] = received[1] as [string, boolean, string, string, string];
    expect([name, isAccepted, proof]).toEqual(["PONG", true, digest(host)]);
    socket.write(encode(["keyed", seconds, { message: "by key" }, { chunk: "k" }]));
    await expect.poll(() => received[2], { timeout: 5_000 }).toEqual({ ack: "k" });
    expect(await findRows(keyed, 'logs{fluent.tag="keyed"}')).toHaveLength(1);
  });

  test("a client with another key, or none, is turned away", async () => {
    const { socket, received } = await greet("another key");
    if (!socket.destroyed) await once(socket, "close");
    expect(received[1]).toEqual(["PONG", false, "shared key mismatch", "", ""]);
    const bare = await open(keyed);
    bare.socket.write(encode(["bare", seconds, { message: "without a key" }]));
    await once(bare.socket, "close");
    expect(await findRows(keyed, 'logs{fluent.tag="bare"}')).toEqual([]);
  });
});

test.each([
  ["without a key", undefined],
  ["with a key", key],
])(
  "the client @fluent-org/logger, %s",
  async (_name, sharedKey) => {
    const to = sharedKey === undefined ? server : keyed;
    const client = new FluentClient("client", {
      ack: {},
      eventMode: "CompressedPackedForward",
      socket: { host: "127.0.0.1", port: to.service.fluentPort! },
      ...(sharedKey === undefined ? {} : { security: { clientHostname: "client", sharedKey } }),
    });
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.emit("web", { message: `from the client ${i}` })),
    );
    await client.disconnect();
    const rows = await findRows(to, 'logs{fluent.tag="client.web"}');
    expect(new Set(rows.map(({ message }) => message)).size).toBe(20);
  },
  20_000,
);
