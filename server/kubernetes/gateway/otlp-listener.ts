/** OTLP over HTTP for the workloads of a cluster: POST /v1/logs, /v1/traces and /v1/metrics. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { idempotencyKeyLengthMax, ingestBodyBytesMax } from "../../ingest/limits.ts";
import { ByteBudget } from "../../throttle/byte-budget.ts";
import { Refusal, tryLater } from "../../throttle/refusal.ts";
import type { Gateway, GatewayAnswer } from "./gateway.ts";
import { bytesInFlightMax, headBytesMax, receiveMsMax, requestsInFlightMax } from "./limits.ts";
import type { GatewaySignal } from "./wire/tested-fields.ts";

const signalOfPath: ReadonlyMap<string, GatewaySignal> = new Map([
  ["/v1/logs", "logs"],
  ["/v1/traces", "traces"],
  ["/v1/metrics", "metrics"],
]);

export class OtlpListener {
  readonly #gateway: Gateway;
  readonly #server: Server;
  /** Bytes of bodies that are being received. */
  readonly #budget = new ByteBudget(bytesInFlightMax);
  #requests = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
    const options = {
      requestTimeout: receiveMsMax,
      headersTimeout: receiveMsMax,
      maxHeaderSize: headBytesMax,
    };
    this.#server = createServer({ ...options, connectionsCheckingInterval: 1_000 }, (request, response) => {
      void this.#answer(request, response);
    });
  }

  /** Resolves to the port. */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more connections, and resolves once every request is answered. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const contentType = request.headers["content-type"] ?? "";
    this.#requests++;
    // A connection that breaks off is no answer's fault: `close` of the response follows.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    try {
      const answer = await this.#take(request, contentType).catch((error: unknown) =>
        this.#gateway.refuse(error, contentType),
      );
      send(request, response, answer);
    } finally {
      this.#requests--;
    }
  }

  async #take(request: IncomingMessage, contentType: string): Promise<GatewayAnswer> {
    const signal = signalOfPath.get((request.url ?? "").split("?", 1)[0]!);
    if (signal === undefined) throw new Refusal(404, "the path must be /v1/logs, /v1/traces or /v1/metrics");
    if (request.method !== "POST") {
      throw new Refusal(405, "the method must be POST", { headers: { Allow: "POST" } });
    }
    if (this.#requests > requestsInFlightMax)
      throw tryLater("the exporter has too many requests to answer", 1);
    const key = request.headers["idempotency-key"];
    if (key !== undefined && (key.length === 0 || key.length > idempotencyKeyLengthMax)) {
      throw new Refusal(400, `Idempotency-Key must have 1 to ${idempotencyKeyLengthMax} characters`);
    }
    const body = await this.#receive(request);
    const source = { peer: plainAddress(request.socket.remoteAddress), key: key as string | undefined };
    return this.#gateway.accept(signal, contentType, request.headers["content-encoding"] ?? "", body, source);
  }

  async #receive(request: IncomingMessage): Promise<Buffer> {
    const tooLarge = new Refusal(
      413,
      `the body has more than ${ingestBodyBytesMax} bytes: send it in smaller parts`,
    );
    if (Number(request.headers["content-length"] ?? 0) > ingestBodyBytesMax) throw tooLarge;
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      const chunksOf = request.iterator({ destroyOnReturn: false });
      for await (const chunk of chunksOf as AsyncIterable<Buffer>) {
        if (bytes + chunk.length > ingestBodyBytesMax) throw tooLarge;
        if (!this.#budget.take(chunk.length)) throw tryLater("the exporter receives too many bodies", 1);
        bytes += chunk.length;
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw new Refusal(400, "the connection ended before the body");
    } finally {
      this.#budget.give(bytes);
    }
  }
}

function send(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: GatewayAnswer,
): void {
  // What is left of a body that was refused early is read and forgotten, so that simple clients get to the answer.
  request.resume();
  const closing = request.complete ? {} : { Connection: "close" };
  response.writeHead(status, { ...headers, ...closing, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

/** An IPv4 address as the API server writes it, without the prefix of a socket that takes both kinds. */
function plainAddress(address: string | undefined): string | undefined {
  return address?.replace(/^::ffff:(?=\d+\.)/, "");
}
