/**
 * Listens for syslog over TCP and UDP, and stores messages in batches. The protocol has no answers, so senders cannot
 * be told of a failure. While the store takes nothing, TCP connections are not read, and UDP messages are dropped and
 * counted.
 */

import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Counter, Metrics } from "../../metrics/metrics.ts";
import { ByteBudget } from "../../throttle/byte-budget.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { Intake } from "../intake.ts";
import {
  syslogBatchBytesMax,
  syslogBatchMs,
  syslogConnectionsMax,
  syslogIncompleteBytesMax,
  syslogMessageOverhead,
  syslogWaitingBytesMax,
} from "../limits.ts";
import { SyslogFrames } from "./frames.ts";

export interface SyslogOptions {
  address: { host: string; port: number };
  intake: Intake;
  metrics: Metrics;
  log: (message: string) => void;
}

export interface SyslogListener {
  /** The port in use, of TCP and UDP alike; differs from the address where that says 0. */
  port: number;
  /** Stores the messages received so far and closes every connection. */
  close(): Promise<void>;
}

const retryMs = 1_000;

/** Messages that wait to be stored, in the order of arrival. */
class MessageQueue {
  readonly #options: SyslogOptions;
  readonly #dropped: Counter;
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Memory of the messages that wait or are being stored. */
  #bytesHeld = 0;
  #storing: Promise<void> | undefined;
  #isClosing = false;
  #onRoom: (() => void)[] = [];

  constructor(options: SyslogOptions) {
    this.#options = options;
    this.#dropped = options.metrics.counter(
      "svc_syslog_dropped_messages_total",
      "Messages of syslog that were dropped: over UDP while there was no room for them (full), beyond what syslog may send (limit), or since they cannot be read (unreadable).",
    );
    const help = "Memory of syslog messages that wait to be stored.";
    options.metrics.gauge("svc_syslog_waiting_bytes", help, () => this.#bytesHeld);
    for (const reason of ["full", "limit", "unreadable"]) this.#dropped.add(0, { reason });
  }

  get isFull(): boolean {
    return this.#bytesHeld >= syslogWaitingBytesMax;
  }

  /** Resolves once there is room. */
  room(): Promise<void> {
    return this.isFull ? new Promise((resolve) => this.#onRoom.push(resolve)) : Promise.resolve();
  }

  add(messages: readonly Buffer[]): void {
    for (const message of messages) {
      this.#parts.push(Buffer.from(`${message.length} `, "latin1"), message);
      this.#bytes += message.length;
      this.#bytesHeld += message.length + syslogMessageOverhead;
    }
    if (this.#parts.length > 0) this.#storing ??= this.#store();
  }

  drop(): void {
    this.#dropped.add(1, { reason: "full" });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#storing;
  }

  /** Stores until the queue is empty. Retries while the store takes nothing, until the listener closes. */
  async #store(): Promise<void> {
    while (this.#parts.length > 0) {
      if (this.#bytes < syslogBatchBytesMax && !this.#isClosing) await sleep(syslogBatchMs);
      const parts = this.#parts;
      const held = this.#bytesHeld;
      this.#parts = [];
      this.#bytes = 0;
      while (!(await this.#take(parts)) && !this.#isClosing) await sleep(retryMs);
      this.#bytesHeld -= held;
      for (const resolve of this.#onRoom.splice(0)) resolve();
    }
    this.#storing = undefined;
  }

  /**
   * Takes messages that cannot be read together: one of them is at fault, which would be refused again and again. It is
   * dropped, and the others are stored.
   */
  async #takeHalves(parts: readonly Buffer[]): Promise<boolean> {
    const messages = parts.length / 2;
    if (messages === 1) {
      this.#dropped.add(1, { reason: "unreadable" });
      return true;
    }
    const middle = 2 * Math.floor(messages / 2);
    for (const half of [parts.slice(0, middle), parts.slice(middle)]) {
      while (!(await this.#take(half)) && !this.#isClosing) await sleep(retryMs);
    }
    return true;
  }

  async #take(parts: readonly Buffer[]): Promise<boolean> {
    try {
      await this.#options.intake.take({
        signal: "logs",
        format: "syslog",
        body: new Uint8Array(Buffer.concat(parts)),
        encoding: "identity",
        sender: "syslog",
        environment: null,
        key: null,
      });
      return true;
    } catch (error) {
      if (error instanceof Refusal && error.status === 429) {
        this.#dropped.add(parts.length / 2, { reason: "limit" });
        return true;
      }
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log(`syslog cannot be stored: ${reason}`);
      if (error instanceof Refusal && error.status < 500) return this.#takeHalves(parts);
      return false;
    }
  }
}

/** Binds both sockets. Throws an Error with one sentence where the address is not available. */
export async function listenSyslog(options: SyslogOptions): Promise<SyslogListener> {
  const queue = new MessageQueue(options);
  const incomplete = new ByteBudget(syslogIncompleteBytesMax);
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    void readMessages(socket, queue, incomplete, options.log);
  });
  tcp.maxConnections = syslogConnectionsMax;
  const { host } = options.address;
  const port = await listenTcp(tcp, options.address);
  const udp = createSocket(host.includes(":") ? "udp6" : "udp4");
  udp.on("message", (message) => {
    if (queue.isFull) queue.drop();
    else queue.add([message]);
  });
  try {
    await bindUdp(udp, { host, port });
  } catch (error) {
    tcp.close();
    throw error;
  }
  return {
    port,
    close: async () => {
      tcp.close();
      udp.close();
      for (const socket of sockets) socket.destroy();
      await queue.close();
    },
  };
}

/** Reads a connection until it ends; never rejects. */
async function readMessages(
  socket: Socket,
  queue: MessageQueue,
  incomplete: ByteBudget,
  log: (message: string) => void,
): Promise<void> {
  const frames = new SyslogFrames();
  let bytesHeld = 0;
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      queue.add(frames.push(chunk));
      incomplete.give(bytesHeld);
      bytesHeld = 0;
      if (!incomplete.take(frames.incompleteBytes))
        throw new Error(
          `more than ${syslogIncompleteBytesMax} bytes of incomplete messages wait for their end`,
        );
      bytesHeld = frames.incompleteBytes;
      await queue.room();
    }
    queue.add(frames.end());
  } catch (error) {
    // The listener closed the connection itself.
    if (socket.destroyed && (error as NodeJS.ErrnoException).code === "ERR_STREAM_PREMATURE_CLOSE") return;
    const reason = error instanceof Error ? error.message : String(error);
    log(`a connection of syslog from ${socket.remoteAddress ?? "somebody"} ended: ${reason}`);
    socket.destroy();
  } finally {
    incomplete.give(bytesHeld);
  }
}

function listenTcp(server: Server, { host, port }: SyslogOptions["address"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(makeListenError(host, port, error)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function bindUdp(socket: UdpSocket, { host, port }: SyslogOptions["address"]): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", (error) => reject(makeListenError(host, port, error)));
    socket.bind(port, host, resolve);
  });
}

function makeListenError(host: string, port: number, error: NodeJS.ErrnoException): Error {
  const reason = error.code === "EADDRINUSE" ? "it is in use" : (error.code ?? error.message);
  return new Error(
    `cannot take syslog on ${host}:${port}: ${reason}; choose another with --syslog HOST:PORT`,
  );
}
