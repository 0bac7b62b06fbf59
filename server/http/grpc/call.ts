/** One call of gRPC, and its answer, on a stream of HTTP/2. */

import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import type { Reply } from "../../api/route.ts";
import { Refusal, tryLater } from "../../throttle/refusal.ts";
import type { Budget } from "../../throttle/shared-budget.ts";
import type { BodyReading } from "../body-receiver.ts";
import type { Head } from "../exchange.ts";
import {
  answerSendMsMax,
  bodyReceiveMsMax,
  grpcBodyIdleMsMax,
  grpcRefusalLingerMs,
  grpcRoomLookMs,
  grpcRoomWaitMsMax,
} from "../limits.ts";
import type { RequestExchange } from "../transport.ts";
import { frameMessage, MessageReader } from "./message.ts";
import { errorTrailers } from "./status.ts";

export const grpcType = "application/grpc";
/** The type that messages have over HTTP. */
export const messageType = "application/x-protobuf";

/** Headers of HTTP/2 and gRPC that say nothing about the message. */
const transportHeaders: ReadonlySet<string> = new Set(["accept-encoding", "content-length", "te"]);

/**
 * The head of the request over HTTP that a call stands for: metadata are headers. `address` is that of the client, its
 * bytes in hex.
 */
export function toHead(headers: IncomingHttpHeaders, address: string): Head {
  const sent = new Map<string, string>();
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const text = Array.isArray(value) ? value.join(", ") : (value ?? "");
    bytes += name.length + text.length + 4;
    if (!name.startsWith(":") && !transportHeaders.has(name)) sent.set(name, text);
  }
  sent.set("host", String(headers[":authority"] ?? headers.host ?? ""));
  sent.set("content-type", messageType);
  const encoding = sent.get("grpc-encoding");
  if (encoding === undefined) sent.delete("content-encoding");
  else sent.set("content-encoding", encoding);
  const path = String(headers[":path"] ?? "");
  return { method: String(headers[":method"] ?? ""), path, queryText: "", headers: sent, bytes, address };
}

export class GrpcCall implements RequestExchange {
  readonly #stream: ServerHttp2Stream;
  readonly #head: Head;
  readonly #abort = new AbortController();
  /** The part of the sender in the bytes of all bodies; set before the body is read. */
  #budget: Budget | undefined;
  #bytesHeld = 0;
  #isReading = false;
  #isGone = false;
  #hasAnswered = false;

  /** Must be made in the callback that hands out the stream. */
  constructor(stream: ServerHttp2Stream, head: Head) {
    this.#stream = stream;
    this.#head = head;
    // "close" follows, which does what is to be done.
    stream.on("error", () => undefined);
    stream.once("close", () => {
      if (this.#hasAnswered) return;
      this.#isGone = true;
      this.#abort.abort(new Refusal(503, "the client went away"));
      this.release();
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get gone(): boolean {
    return this.#isGone;
  }

  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  release(): void {
    this.#budget?.give(this.#bytesHeld);
    this.#bytesHeld = 0;
  }

  /**
   * Reads the one message of the call. Where the budget has no room for it, the stream is not read until there is some:
   * the sender then waits, since its flow-control window stays closed. Throws Refusal 503 where that takes too long.
   */
  readBody({ bytesMax, budget }: BodyReading): Promise<Uint8Array> {
    this.#budget = budget;
    this.#isReading = true;
    return new Promise((resolve, reject) => this.#receive(new MessageReader(bytesMax), resolve, reject));
  }

  #receive(
    reader: MessageReader,
    resolve: (body: Uint8Array) => void,
    reject: (error: unknown) => void,
  ): void {
    const stream = this.#stream;
    const end = (settle: () => void) => {
      this.#isReading = false;
      clearTimeout(late);
      clearTimeout(idle);
      stream.off("data", onData).off("end", onEnd).pause();
      settle();
    };
    const stop = (error: unknown) => end(() => reject(error));
    const refuseLate = (ms: number) =>
      stop(new Refusal(408, `the message did not arrive within ${ms / 1000} s`));
    const late = setTimeout(refuseLate, bodyReceiveMsMax, bodyReceiveMsMax);
    const idle = setTimeout(refuseLate, grpcBodyIdleMsMax, grpcBodyIdleMsMax);
    const onData = (piece: Buffer) => {
      idle.refresh();
      try {
        const length = reader.push(piece);
        if (length !== undefined) this.#makeRoom(reader, length, { stop, onWait: () => idle.refresh() });
      } catch (error) {
        stop(error);
      }
    };
    const onEnd = () => {
      end(() => {
        try {
          this.#settleEncoding(reader.isCompressed);
          resolve(reader.finish());
        } catch (error) {
          reject(error);
        }
      });
    };
    this.signal.addEventListener("abort", () => stop(this.signal.reason), { once: true });
    stream.on("data", onData).on("end", onEnd);
  }

  /** A call names an encoding, and its message says whether it is in that. Throws Refusal 400 where none is named. */
  #settleEncoding(isCompressed: boolean): void {
    const { headers } = this.#head;
    if (!isCompressed) headers.delete("content-encoding");
    else if (!headers.has("content-encoding"))
      throw new Refusal(400, "the message is compressed, and no grpc-encoding says how");
  }

  /** Takes the bytes of the message from the budget, and memory for it; the stream is not read until then. */
  #makeRoom(
    reader: MessageReader,
    length: number,
    { stop, onWait }: { stop: (error: unknown) => void; onWait: () => void },
  ): void {
    if (this.#take(length)) {
      reader.allocate();
      return;
    }
    this.#stream.pause();
    this.#waitForRoom(length, onWait)
      .then((hasRoom) => {
        if (!hasRoom) return;
        reader.allocate();
        this.#stream.resume();
      })
      .catch(stop);
  }

  /**
   * Takes the bytes of the message once there is room; returns false where it is not read any more. `onWait` is called
   * as long as it waits, since the client cannot send then.
   */
  async #waitForRoom(length: number, onWait: () => void): Promise<boolean> {
    const untilMs = performance.now() + grpcRoomWaitMsMax;
    do {
      if (performance.now() > untilMs)
        throw tryLater("too much is being sent to the server just now; try again", 1);
      await sleep(grpcRoomLookMs);
      if (!this.#isReading) return false;
      onWait();
    } while (!this.#take(length));
    return true;
  }

  #take(length: number): boolean {
    if (this.#budget?.take(length) !== true) return false;
    this.#bytesHeld = length;
    return true;
  }

  async send(reply: Reply): Promise<void> {
    const stream = this.#stream;
    this.#isGone ||= stream.destroyed || stream.closed;
    if (this.#isGone) return;
    this.#hasAnswered = true;
    if (reply.status === 200) this.#sendMessage(reply.body as string | Uint8Array);
    else this.#sendError(reply);
    // A client that takes no answer would hold the stream for ever.
    stream.setTimeout(answerSendMsMax, () => stream.close(constants.NGHTTP2_CANCEL));
  }

  /** Answers a request that is none of gRPC. */
  refuseRequest(status: number): void {
    if (this.#stream.closed) return;
    this.#hasAnswered = true;
    this.#sendHeaders({ ":status": status });
  }

  #sendMessage(body: string | Uint8Array): void {
    const stream = this.#stream;
    stream.respond({ ":status": 200, "content-type": grpcType }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(frameMessage(typeof body === "string" ? Buffer.from(body) : body));
  }

  /** An error is one block of headers. */
  #sendError(reply: Reply): void {
    const encodings = reply.headers?.["Accept-Encoding"];
    this.#sendHeaders({
      ":status": 200,
      "content-type": grpcType,
      ...errorTrailers(reply, String(reply.body)),
      ...(encodings === undefined ? {} : { "grpc-accept-encoding": encodings }),
    });
  }

  /**
   * Sends an answer without a message. What the client still sends is discarded, so that it gets to read the answer: a
   * reset at once would overtake it. Then the client is told to stop.
   */
  #sendHeaders(headers: OutgoingHttpHeaders): void {
    const stream = this.#stream;
    stream.respond(headers, { endStream: true });
    if (stream.readableEnded) return;
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), grpcRefusalLingerMs);
    stream.once("close", () => clearTimeout(timer)).resume();
  }
}
