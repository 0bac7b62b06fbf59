/**
 * Listens for Fluent's forward protocol over TCP. A message is stored before the next one of its connection is read, and
 * acknowledged once it is stored, where it asks for that. While the store takes nothing, connections are not read.
 */

import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Counter, Metrics } from "../../metrics/metrics.ts";
import { ByteBudget } from "../../throttle/byte-budget.ts";
import { Refusal } from "../../throttle/refusal.ts";
import { DecoderFault } from "../decode-pool.ts";
import type { Intake } from "../intake.ts";
import {
  fluentConnectionsMax,
  fluentHandshakeBytesMax,
  fluentHandshakeMs,
  fluentRetryMs,
} from "../limits.ts";
import { bareTagOf, ForwardFrames, halveMessages } from "./frames.ts";
import { Handshake } from "./handshake.ts";
import { writeMessagePack } from "./message-pack-writer.ts";

export interface FluentOptions {
  address: { host: string; port: number };
  /** What senders must have, too; undefined: nothing. */
  key: string | undefined;
  /** Bytes of messages of all connections that are incomplete or being stored. One that would exceed it is closed. */
  bytesHeldMax: number;
  intake: Intake;
  metrics: Metrics;
  log: (message: string) => void;
}

export interface FluentListener {
  /** The port in use; differs from the address where that says 0. */
  port: number;
  /** Closes every connection. What was acknowledged is stored. */
  close(): Promise<void>;
}

/** What all connections share. */
interface Listening {
  options: FluentOptions;
  bytes: ByteBudget;
  /** Counts messages that cannot be stored. */
  dropped: Counter;
  /** Aborted when the listener closes. */
  closing: AbortSignal;
}

/** Binds the socket. Throws an Error with one sentence where the address is not available. */
export async function listenFluent(options: FluentOptions): Promise<FluentListener> {
  const closing = new AbortController();
  const listening: Listening = {
    options,
    bytes: new ByteBudget(options.bytesHeldMax),
    dropped: options.metrics.counter(
      "svc_fluent_dropped_messages_total",
      "Messages of Fluent's that were dropped: without options and refused, or the decoder failed on them.",
    ),
    closing: closing.signal,
  };
  listening.dropped.add(0);
  const connections = new Map<Socket, Promise<void>>();
  const server = createServer((socket) => {
    const reading = readConnection(socket, listening).finally(() => connections.delete(socket));
    connections.set(socket, reading);
  });
  server.maxConnections = fluentConnectionsMax;
  const help = "Connections of Fluent's forward protocol.";
  options.metrics.gauge("svc_fluent_connections", help, () => connections.size);
  const port = await listen(server, options.address);
  return {
    port,
    close: async () => {
      server.close();
      closing.abort();
      for (const socket of connections.keys()) socket.destroy();
      await Promise.all(connections.values());
    },
  };
}

/** Reads a connection until it ends; never rejects. */
async function readConnection(socket: Socket, listening: Listening): Promise<void> {
  const { options, closing } = listening;
  const held = new HeldBytes(listening.bytes);
  // Reading reports it, too.
  socket.on("error", () => undefined);
  try {
    const frames = new ForwardFrames();
    const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    const first = options.key === undefined ? [] : await shakeHands(options.key, socket, chunks, frames);
    await storeAll(first, socket, listening);
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const bodies = frames.push(next.value);
      held.change(bodies.reduce((sum, { length }) => sum + length, frames.incompleteBytes));
      await storeAll(bodies, socket, listening);
      held.change(frames.incompleteBytes);
    }
  } catch (error) {
    if (closing.aborted || isGone(error)) return;
    const reason = error instanceof Error ? error.message : String(error);
    options.log(`a connection of Fluent's from ${socket.remoteAddress ?? "somebody"} ended: ${reason}`);
  } finally {
    held.change(0);
    socket.destroy();
  }
}

/** What one connection holds of the bytes of all. */
class HeldBytes {
  readonly #budget: ByteBudget;
  #bytes = 0;

  constructor(budget: ByteBudget) {
    this.#budget = budget;
  }

  /** Throws an Error where all connections together would hold too much. */
  change(bytes: number): void {
    this.#budget.give(this.#bytes);
    this.#bytes = 0;
    if (!this.#budget.take(bytes))
      throw new Error(`more than ${this.#budget.bytesMax} bytes of messages wait to be stored`);
    this.#bytes = bytes;
  }
}

/**
 * Asks for the key, and waits for the answer. Returns the messages that came after it. Throws an Error where the client
 * does not have the key, or does not answer in time.
 */
async function shakeHands(
  key: string,
  socket: Socket,
  chunks: AsyncIterator<Buffer>,
  frames: ForwardFrames,
): Promise<Uint8Array[]> {
  const handshake = new Handshake(key);
  const late = setTimeout(() => socket.destroy(new Error("no handshake in time")), fluentHandshakeMs);
  try {
    socket.write(handshake.greeting);
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const [message, ...others] = frames.push(next.value);
      if (message !== undefined) {
        const { isAccepted, reply } = handshake.answer(message);
        if (!isAccepted) {
          await new Promise<void>((resolve) => socket.end(reply, resolve));
          throw new Error("the shared key is not the server's");
        }
        socket.write(reply);
        return others;
      }
      if (frames.incompleteBytes > fluentHandshakeBytesMax)
        throw new Error("the first message is no answer to the handshake");
    }
    throw new Error("it has shown no key");
  } finally {
    clearTimeout(late);
  }
}

async function storeAll(bodies: readonly Uint8Array[], socket: Socket, listening: Listening): Promise<void> {
  for (const body of bodies) await storeMessages(body, socket, listening);
}

/**
 * Stores messages and acknowledges them. Tries again while the store takes nothing, or the sender is over its limits.
 * Throws Refusal as `storeReadable` does.
 */
async function storeMessages(body: Uint8Array, socket: Socket, listening: Listening): Promise<void> {
  const { options, closing } = listening;
  for (;;) {
    try {
      const { answer = "[]" } = await options.intake.take({
        signal: "logs",
        format: "fluent forward",
        // The body is transferred to another thread, so each attempt needs a copy.
        body: new Uint8Array(body),
        encoding: "identity",
        sender: "fluent",
        environment: null,
        key: null,
      });
      for (const chunk of JSON.parse(answer) as string[]) socket.write(writeMessagePack({ ack: chunk }));
      return;
    } catch (error) {
      const isRefused = error instanceof Refusal && error.status < 500 && error.status !== 429;
      if (isRefused || error instanceof DecoderFault) return storeReadable(body, error, socket, listening);
      if (closing.aborted || socket.destroyed) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      options.log(`messages of Fluent's wait: ${reason}`);
      await sleep(fluentRetryMs, undefined, { signal: closing });
    }
  }
}

/**
 * Stores what can be read of messages that were refused with `error`. Of several the halves are tried, so that only those
 * at fault are dropped. Nobody waits for the acknowledgement of one without options: it is dropped, and its connection
 * goes on. Throws the Refusal of any other: it is not acknowledged.
 */
async function storeReadable(
  body: Uint8Array,
  error: Refusal | DecoderFault,
  socket: Socket,
  listening: Listening,
): Promise<void> {
  const halves = halveMessages(body);
  if (halves !== undefined) {
    for (const half of halves) await storeMessages(half, socket, listening);
    return;
  }
  const tag = bareTagOf(body);
  if (tag === undefined && error instanceof Refusal) throw error;
  listening.dropped.add(1);
  const ofTag = tag === undefined ? "" : ` with the tag ${JSON.stringify(tag)}`;
  listening.options.log(`a message of Fluent's${ofTag} is dropped: ${error.message}`);
}

/** Whether the client closed or lost the connection. */
function isGone(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ERR_STREAM_PREMATURE_CLOSE", "ECONNRESET", "EPIPE"].includes(code);
}

function listen(server: Server, { host, port }: FluentOptions["address"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "it is in use" : (error.code ?? error.message);
      reject(
        new Error(
          `cannot take Fluent's forward protocol on ${host}:${port}: ${reason}; choose another with --fluent HOST:PORT`,
        ),
      );
    });
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}
