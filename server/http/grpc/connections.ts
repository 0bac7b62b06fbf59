/** The connections of gRPC's listener. Those that are silent, idle or a nuisance are closed. */

import { constants, type Http2Session, type Http2Stream } from "node:http2";
import { addressBytes } from "../address.ts";
import {
  grpcIdleMsMax,
  grpcPingsMax,
  grpcSilentMsMax,
  grpcSweepMs,
  grpcWindowBytesOfConnection,
} from "../limits.ts";

interface Connection {
  /** Address of the client, its bytes in hex. */
  address: string;
  /** It has shown that it speaks HTTP/2. */
  hasSpoken: boolean;
  openStreams: number;
  /** When it was opened, or its last stream closed. */
  sinceMs: number;
  /** Pings since the last stream. */
  pings: number;
}

export class Connections {
  readonly #open = new Map<Http2Session, Connection>();
  readonly #timer = setInterval(() => this.#sweep(), grpcSweepMs).unref();
  #onEmpty: (() => void) | undefined;
  #isClosing = false;

  get count(): number {
    return this.#open.size;
  }

  add(session: Http2Session): void {
    if (this.#isClosing) {
      session.destroy();
      return;
    }
    const address = addressBytes(session.socket.remoteAddress ?? "");
    const connection: Connection = {
      address,
      hasSpoken: false,
      openStreams: 0,
      sinceMs: performance.now(),
      pings: 0,
    };
    this.#open.set(session, connection);
    // "close" follows.
    session.on("error", () => undefined);
    session.once("close", () => {
      this.#open.delete(session);
      if (this.#open.size === 0) this.#onEmpty?.();
    });
    session.once("remoteSettings", () => {
      connection.hasSpoken = true;
    });
    session.on("ping", () => {
      if (++connection.pings === grpcPingsMax) closeForPings(session);
    });
    if (!session.destroyed) session.setLocalWindowSize(grpcWindowBytesOfConnection);
  }

  /** Counts a stream until it closes; returns the address of its client. */
  addStream(stream: Http2Stream): string {
    const connection = stream.session && this.#open.get(stream.session);
    if (connection === undefined) return "";
    connection.openStreams++;
    connection.pings = 0;
    stream.once("close", () => {
      connection.openStreams--;
      connection.sinceMs = performance.now();
    });
    return connection.address;
  }

  /** Sends GOAWAY on every connection: the calls that run go on, and no client begins one. */
  announceEnd(): void {
    this.#isClosing = true;
    clearInterval(this.#timer);
    for (const session of this.#open.keys()) session.close();
  }

  /** Waits until the clients have closed their connections, for `msMax` at most; then closes them. */
  async close(msMax: number): Promise<void> {
    if (this.#open.size > 0) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve;
        timer = setTimeout(resolve, msMax);
      });
      clearTimeout(timer);
    }
    for (const session of this.#open.keys()) session.destroy();
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const [session, { hasSpoken, openStreams, sinceMs }] of this.#open) {
      if (openStreams > 0) continue;
      const idleMs = nowMs - sinceMs;
      if (!hasSpoken && idleMs > grpcSilentMsMax) session.destroy();
      else if (idleMs > grpcIdleMsMax) session.close();
    }
  }
}

/** As gRPC's own servers do (https://github.com/grpc/proposal/blob/master/A8-client-side-keepalive.md). */
function closeForPings(session: Http2Session): void {
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from("too_many_pings"));
  session.destroy();
}
