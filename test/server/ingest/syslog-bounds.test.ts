/** Syslog senders, who show no token: what they send is bounded in memory while it cannot be stored. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { DecoderFault } from "../../../server/ingest/decode-pool.ts";
import type { Intake, IntakeBody } from "../../../server/ingest/intake.ts";
import {
  syslogIncompleteBytesMax,
  syslogMessageBytesMax,
  syslogMessageOverhead,
  syslogWaitingBytesMax,
} from "../../../server/ingest/limits.ts";
import type { MessageListener } from "../../../server/ingest/socket/message-listener.ts";
import { listenSyslog } from "../../../server/ingest/syslog/listener.ts";
import { Metrics } from "../../../server/metrics/metrics.ts";

let listener: MessageListener | undefined;
const sockets: Socket[] = [];
let store: () => void = () => undefined;
const logged: string[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  store();
  await listener?.close();
  logged.length = 0;
});

/** `take`: takes a body; by default it is taken once `store` is called. */
async function listen(take?: (body: IntakeBody) => Promise<void>): Promise<Metrics> {
  const metrics = new Metrics();
  const stored = new Promise<void>((resolve) => {
    store = resolve;
  });
  const intake = { take: take ?? (() => stored) } as unknown as Intake;
  listener = await listenSyslog({
    ...{ address: { host: "127.0.0.1", port: 0 }, bytesHeldMax: 2 ** 28, intake, metrics },
    log: (message) => logged.push(message),
  });
  return metrics;
}

async function open(): Promise<Socket> {
  const socket = connect(listener!.port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

const waitingBytes = (metrics: Metrics) =>
  Number(/^svc_syslog_waiting_bytes (\d+)$/m.exec(metrics.text())?.[1]);

test("the smallest messages take no more memory than large ones", async () => {
  const metrics = await listen();
  const socket = await open();
  socket.write("a\n".repeat(1_000_000));
  await expect.poll(() => waitingBytes(metrics), { timeout: 10_000 }).toBeGreaterThan(syslogWaitingBytesMax);
  await new Promise((resolve) => setTimeout(resolve, 200));
  // One packet more than the bound.
  expect(waitingBytes(metrics)).toBeLessThan(
    syslogWaitingBytesMax + 32_768 * (1 + syslogMessageOverhead) + 1,
  );
});

test("messages that do not end are bounded over all connections", async () => {
  await listen();
  const piece = Buffer.alloc(syslogMessageBytesMax - 1, "x");
  const fit = Math.floor(syslogIncompleteBytesMax / piece.length);
  for (let i = 0; i < fit + 3; i++) {
    const socket = await open();
    await new Promise((resolve) => socket.write(piece, resolve));
  }
  await expect.poll(() => logged.length, { timeout: 10_000 }).toBe(3);
  expect(logged[0]).toMatch(/ended: more than 67108864 bytes of incomplete messages wait for their end$/);
  sockets[0]!.destroy();
  const next = await open();
  await new Promise((resolve) => next.write(piece.subarray(0, 1_000), resolve));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(logged).toHaveLength(3);
});

test("a message on which the decoder fails is dropped and counted, and the others of its batch are stored", async () => {
  const taken: string[] = [];
  const metrics = await listen(async ({ body }) => {
    const text = Buffer.from(body).toString();
    if (text.includes("faulty")) throw new DecoderFault("a body could not be decoded: a fault");
    taken.push(...text.match(/good \d/g)!);
  });
  const socket = await open();
  socket.write("<1>good 1\n<1>good 2\n<1>faulty\n<1>good 3\n");
  await expect.poll(() => taken.sort(), { timeout: 5_000 }).toEqual(["good 1", "good 2", "good 3"]);
  expect(metrics.text()).toMatch(/^svc_syslog_dropped_messages_total\{reason="unreadable"\} 1$/m);
  expect(logged[0]).toMatch(/cannot be stored: a body could not be decoded: a fault$/);
});
