/** Sends messages over plain sockets: of Fluent's forward protocol, each acknowledged, and of syslog, which has no answers. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { decode } from "@msgpack/msgpack";

export class SocketSender {
  readonly #port: number;
  readonly #isAcknowledged: boolean;
  readonly #idle: Socket[] = [];
  readonly #all: Socket[] = [];

  constructor(port: number, { isAcknowledged }: { isAcknowledged: boolean }) {
    this.#port = port;
    this.#isAcknowledged = isAcknowledged;
  }

  /** Resolves once the message is acknowledged, or handed over where it never is. */
  async send(message: Uint8Array): Promise<void> {
    const socket = this.#idle.pop() ?? (await this.#open());
    if (this.#isAcknowledged) {
      socket.write(message);
      const [answer] = (await once(socket, "data")) as [Buffer];
      if (typeof (decode(answer) as { ack?: unknown }).ack !== "string")
        throw new Error("no acknowledgement");
    } else await new Promise<void>((resolve) => socket.write(message, () => resolve()));
    this.#idle.push(socket);
  }

  close(): void {
    for (const socket of this.#all) socket.destroy();
  }

  async #open(): Promise<Socket> {
    const socket = connect(this.#port, "127.0.0.1");
    this.#all.push(socket);
    await once(socket, "connect");
    return socket;
  }
}
