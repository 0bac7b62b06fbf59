/**
 * Listens over TCP and UDP for a protocol without answers, and stores messages in batches. Senders cannot be told of a
 * failure: while the store takes nothing, TCP connections are not read, and UDP messages are dropped and counted.
 */

import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { createServer, type Server, type Socket } from "node:net";
import { ByteBudget } from "../../throttle/byte-budget.ts";
import { syslogConnectionsMax, syslogIncompleteBytesMax } from "../limits.ts";
import { MessageQueue, type QueueOptions, type UnansweredProtocol } from "./message-queue.ts";

/** Splits a TCP stream into messages. */
interface MessageFrames {
  /** Bytes of the message whose end has not come yet. */
  readonly incompleteBytes: number;
  /** Returns the messages that are complete now. Throws Refusal where the framing is broken. */
  push(bytes: Uint8Array): Buffer[];
  /** The rest at the end of the stream. */
  end(): Buffer[];
}

interface SocketProtocol extends UnansweredProtocol {
  /** The flag of `svc serve` that gives the address. */
  flag: string;
  makeFrames(): MessageFrames;
  /** Joins the datagrams of one message, where the protocol splits messages; undefined while some are missing. */
  join?(datagram: Buffer): Buffer | undefined;
}

export interface SocketOptions extends QueueOptions {
  protocol: SocketProtocol;
  address: { host: string; port: number };
}

export interface MessageListener {
  /** The port in use, of TCP and UDP alike; differs from the address where that says 0. */
  port: number;
  /** Stores the messages received so far and closes every connection. */
  close(): Promise<void>;
}

/** Binds both sockets. Throws an Error with one sentence where the address is not available. */
export async function listenForMessages(options: SocketOptions): Promise<MessageListener> {
  const { protocol, address } = options;
  const queue = new MessageQueue(options);
  const incomplete = new ByteBudget(Math.min(syslogIncompleteBytesMax, options.bytesHeldMax / 2));
  const sockets = new Set<Socket>();
  const tcp = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    void readMessages(socket, queue, incomplete, options);
  });
  tcp.maxConnections = syslogConnectionsMax;
  const { host } = address;
  const failed = (error: NodeJS.ErrnoException) => makeListenError(options, error);
  const port = await listenTcp(tcp, address).catch((error: NodeJS.ErrnoException) =>
    Promise.reject(failed(error)),
  );
  const udp = createSocket(host.includes(":") ? "udp6" : "udp4");
  udp.on("message", (message) => {
    if (queue.isFull) queue.drop();
    else {
      const whole = protocol.join === undefined ? message : protocol.join(message);
      if (whole !== undefined) queue.add([whole]);
    }
  });
  try {
    await bindUdp(udp, { host, port });
  } catch (error) {
    tcp.close();
    throw failed(error as NodeJS.ErrnoException);
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
  { protocol, log }: SocketOptions,
): Promise<void> {
  const frames = protocol.makeFrames();
  let bytesHeld = 0;
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      queue.add(frames.push(chunk));
      incomplete.give(bytesHeld);
      bytesHeld = 0;
      if (!incomplete.take(frames.incompleteBytes))
        throw new Error(`more than ${incomplete.bytesMax} bytes of incomplete messages wait for their end`);
      bytesHeld = frames.incompleteBytes;
      await queue.room();
    }
    queue.add(frames.end());
  } catch (error) {
    // The listener closed the connection itself.
    if (socket.destroyed && (error as NodeJS.ErrnoException).code === "ERR_STREAM_PREMATURE_CLOSE") return;
    const reason = error instanceof Error ? error.message : String(error);
    log(`a connection of ${protocol.title} from ${socket.remoteAddress ?? "somebody"} ended: ${reason}`);
    socket.destroy();
  } finally {
    incomplete.give(bytesHeld);
  }
}

function listenTcp(server: Server, { host, port }: SocketOptions["address"]): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

function bindUdp(socket: UdpSocket, { host, port }: SocketOptions["address"]): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, host, resolve);
  });
}

function makeListenError(
  { protocol: { title, flag }, address: { host, port } }: SocketOptions,
  error: NodeJS.ErrnoException,
): Error {
  const reason = error.code === "EADDRINUSE" ? "it is in use" : (error.code ?? error.message);
  return new Error(
    `cannot take ${title} on ${host}:${port}: ${reason}; choose another with ${flag} HOST:PORT`,
  );
}
