/** One request and its answer on a socket. */

import type { Reply, Stream } from "../api/route.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Budget } from "../throttle/shared-budget.ts";
import { type BodyReading, BodyReceiver, tooLarge } from "./body-receiver.ts";
import { answerSendMsMax, lingerBytesMax, lingerIdleMs, lingerMsMax } from "./limits.ts";
import type { HttpRequest, HttpResponse } from "./sockets.ts";
import { statusLine } from "./status.ts";

/** The head of a request, copied, since uWebSockets.js frees its request when the callback returns. */
export interface Head {
  method: string;
  path: string;
  queryText: string;
  /** Names in lower case; values of a repeated header are joined with commas. */
  headers: Map<string, string>;
  /** Length of path, query and headers as they were sent; approximate where a text is not ASCII. */
  bytes: number;
  /** Address of the client's socket, its bytes in hex: 4 of them, or 16. */
  address: string;
}

/** Copies the head of a request. */
export function readHead(res: HttpResponse, req: HttpRequest): Head {
  const headers = new Map<string, string>();
  const path = req.getUrl();
  const queryText = req.getQuery();
  let bytes = path.length + (queryText?.length ?? 0);
  req.forEach((name, value) => {
    // A colon, a space, and the end of the line.
    bytes += name.length + value.length + 4;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  });
  return {
    method: req.getCaseSensitiveMethod(),
    path,
    queryText,
    headers,
    bytes,
    address: Buffer.from(res.getRemoteAddress()).toString("hex"),
  };
}

function writeHead(res: HttpResponse, { status, headers, cookies = [] }: Reply): void {
  res.writeStatus(statusLine(status));
  for (const [name, value] of Object.entries(headers ?? {})) res.writeHeader(name, value);
  for (const cookie of cookies) res.writeHeader("Set-Cookie", cookie);
}

/**
 * Returns whether a body is coded in another way than in chunks alone. The library takes every body with a
 * Transfer-Encoding for chunks, and a proxy before the server may see a request where the library sees bytes of a body.
 */
export function hasUnknownCoding({ headers }: Head): boolean {
  const coding = headers.get("transfer-encoding");
  return coding !== undefined && coding.trim().toLowerCase() !== "chunked";
}

type BodyState = "none" | "unread" | "reading" | "complete";

/**
 * A request's body and its answer. Must be made in the callback that hands out `res`: an abort handler is due there.
 */
export class Exchange {
  readonly #res: HttpResponse;
  /** The part of the sender in the bytes of all bodies; set before the body is read. */
  #budget: Budget | undefined;
  readonly #abort = new AbortController();
  #body: BodyState;
  #bytesHeld = 0;
  #isGone = false;
  #hasEnded = false;
  #resume: (() => void) | null = null;

  constructor(res: HttpResponse, head: Head) {
    this.#res = res;
    this.#body = hasBody(head) ? "unread" : "none";
    res.onAborted(() => {
      this.#isGone = true;
      this.#abort.abort(new Refusal(503, "the client went away"));
      this.release();
      this.#resume?.();
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The connection is lost: nothing can be sent any more. */
  get gone(): boolean {
    return this.#isGone;
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Gives the body's bytes back to the budget; may be called twice. */
  release(): void {
    this.#budget?.give(this.#bytesHeld);
    this.#bytesHeld = 0;
  }

  /**
   * Reads the body. Of one that is taken in parts, resolves to what no part has taken. Must be called in the event-loop
   * turn in which the exchange was made. Throws Refusal 413 as soon as more than `bytesMax` bytes are held, or announced
   * where there are no parts; 503 where the budget of all requests is spent; 408 after `bodyReceiveMsMax`; and what
   * taking a part throws.
   */
  readBody(reading: BodyReading): Promise<Uint8Array> {
    const { bytesMax, announced, parts } = reading;
    if (this.#body === "none") return Promise.resolve(new Uint8Array(0));
    if (parts === undefined && announced !== null && announced > bytesMax) throw tooLarge(bytesMax);
    this.#body = "reading";
    this.#budget = reading.budget;
    return new Promise((resolve, reject) => {
      const receiver = new BodyReceiver({
        ...reading,
        reject,
        pause: (isPaused) => this.#withClient((res) => void (isPaused ? res.pause() : res.resume())),
        onHeld: (bytes) => {
          this.#bytesHeld = bytes;
        },
        resolve: (body) => {
          this.#body = "complete";
          resolve(body);
        },
      });
      this.signal.addEventListener("abort", () => receiver.stop(this.signal.reason), { once: true });
      this.#res.onData((chunk, isLast) => receiver.add(chunk, isLast));
    });
  }

  /**
   * Writes the answer. Resolves when its last byte is handed over, or the client is gone. Rejects where its pieces
   * throw.
   */
  async send(reply: Reply, options: { withoutBody: boolean; closing: boolean }): Promise<void> {
    if (this.#isGone || this.#hasEnded) return;
    const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
    if (this.#body === "unread" || this.#body === "reading") {
      return this.#sendEarly(reply, body instanceof Uint8Array ? body : new Uint8Array(0));
    }
    if (!(body instanceof Uint8Array) && !options.withoutBody) return this.#sendPieces(reply, body);
    this.#end((res) => {
      writeHead(res, reply);
      if (!(body instanceof Uint8Array)) res.endWithoutBody(undefined, options.closing);
      // The library waits for the body whose length it names, and would drop the connection at the next request.
      else if (options.withoutBody) res.endWithoutBody(body.length, true);
      else res.end(body, options.closing);
    });
  }

  /**
   * Runs `act` while the client is there and the answer has not ended. The library throws at any other use of the
   * response, so whatever happens after an await or in a timer goes through here.
   */
  #withClient(act: (res: HttpResponse) => void): void {
    if (!this.#isGone && !this.#hasEnded) act(this.#res);
  }

  #cork(write: (res: HttpResponse) => void): void {
    this.#withClient((res) => void res.cork(() => write(res)));
  }

  /** Writes what ends the answer. */
  #end(write: (res: HttpResponse) => void): void {
    this.#cork(write);
    this.#hasEnded = true;
  }

  async #sendPieces(reply: Reply, pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
    this.#res.onWritable(() => {
      this.#resume?.();
      return true;
    });
    this.#cork((res) => writeHead(res, reply));
    const watchdog = this.#startWatchdog(reply);
    try {
      for await (const piece of pieces) {
        if (piece.length > 0) await this.#write(piece, reply.stream?.ending);
        if (this.#isGone) return;
        watchdog.onTaken();
      }
      this.#end((res) => void res.end());
    } catch (error) {
      // The status is sent: only a broken connection can still show the client that the answer is incomplete.
      this.#withClient((res) => void res.close());
      throw error;
    } finally {
      watchdog.end();
    }
  }

  /** Closes the connection of a reader that is too slow; a stream has heartbeats instead. */
  #startWatchdog({ stream, stallMsMax }: Reply): { onTaken(): void; end(): void } {
    if (stream !== undefined) return { onTaken: () => undefined, end: this.#startHeartbeats(stream) };
    const tooSlow = setTimeout(
      () => this.#withClient((res) => void res.close()),
      stallMsMax ?? answerSendMsMax,
    );
    return {
      onTaken: () => void (stallMsMax !== undefined && tooSlow.refresh()),
      end: () => clearTimeout(tooSlow),
    };
  }

  /** Sends heartbeats that keep a stream's connection open. Returns the function that ends them. */
  #startHeartbeats({ heartbeat, heartbeatMs, ending }: Stream): () => void {
    const sendHeartbeat = () => {
      // The library closes a connection that takes nothing for ten seconds; pause and resume restart that time.
      this.#withClient((res) => void res.pause());
      this.#withClient((res) => void res.resume());
      this.#cork((res) => void res.write(heartbeat()));
    };
    const timer = setInterval(sendHeartbeat, heartbeatMs);
    const stop = () => this.#resume?.();
    ending.addEventListener("abort", stop, { once: true });
    return () => {
      clearInterval(timer);
      ending.removeEventListener("abort", stop);
    };
  }

  /** Writes one piece, waits until the reader has caught up, and then lets other requests run. */
  async #write(piece: Uint8Array, ending: AbortSignal | undefined): Promise<void> {
    let hasRoom = true;
    this.#cork((res) => {
      hasRoom = res.write(piece);
    });
    if (!hasRoom && !this.#isGone && ending?.aborted !== true) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
      this.#resume = null;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  /**
   * Answers while the client is still sending. Closing at once would reset the connection, and most clients would see
   * "broken pipe" instead of the reason. So all but the last byte is sent now, and what still arrives is discarded
   * within bounds. Then the last byte ends the answer, and a client that goes on sending is cut off. An answer without
   * a body has no last byte to hold back.
   */
  #sendEarly(reply: Reply, body: Uint8Array): Promise<void> {
    const writeMost = (res: HttpResponse) => {
      writeHead(res, reply);
      res.writeHeader("Connection", "close");
      res.tryEnd(body.subarray(0, -1), body.length);
    };
    if (body.length === 0) {
      this.#end(writeMost);
      return Promise.resolve();
    }
    this.#cork(writeMost);
    return new Promise((resolve) => {
      let discarded = 0;
      const finish = (isLast: boolean) => {
        clearTimeout(idle);
        clearTimeout(deadline);
        if (!isLast) this.#withClient((res) => void res.pause());
        this.#end((res) => void res.tryEnd(body.subarray(-1), body.length));
        resolve();
      };
      const deadline = setTimeout(finish, lingerMsMax, false);
      let idle = setTimeout(finish, lingerIdleMs, false);
      this.#resume = () => finish(false);
      this.#res.onData((chunk, isLast) => {
        if (this.#hasEnded) return;
        discarded += chunk.byteLength;
        clearTimeout(idle);
        idle = setTimeout(finish, lingerIdleMs, false);
        if (isLast || discarded > lingerBytesMax) finish(isLast);
      });
    });
  }
}

/** The length that Content-Length announces; null without that header. Throws Refusal 400 unless it is a number. */
export function announcedBytes(head: Head): number | null {
  const text = head.headers.get("content-length");
  if (text === undefined) return null;
  if (!/^\d{1,15}$/.test(text)) throw new Refusal(400, "Content-Length must be a number of bytes");
  return Number(text);
}

function hasBody(head: Head): boolean {
  const length = head.headers.get("content-length");
  return (length !== undefined && length !== "0") || head.headers.has("transfer-encoding");
}
