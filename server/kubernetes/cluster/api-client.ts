/** A client of one API server: requests with JSON bodies, and answers that stream. All share a few connections. */

import { type Agent, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { request as secureRequest, Agent as TlsAgent } from "node:https";
import { withJoinedSignal } from "../../throttle/joined-signal.ts";
import { readRetryAfter } from "../../throttle/retry-after.ts";
import { ApiError } from "./api-error.ts";
import type { ConnectionSettings } from "./connection-settings.ts";
import { answerBytesMax, answerMsMax, keepAliveMs, retryAfterMsMax, tokenMsMax } from "./limits.ts";

interface RequestOptions {
  method?: string;
  body?: unknown;
  contentType?: string;
  signal?: AbortSignal;
}

/** Sent with server-side apply: the fields that this process owns. */
const fieldManager = "svc-exporter";

/** Throws ApiError from every method. */
export class ApiClient {
  readonly #settings: ConnectionSettings;
  readonly #agent: Agent;
  #token: { value: string | undefined; readAtMs: number } | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    const options = { keepAlive: true, keepAliveMsecs: keepAliveMs, maxFreeSockets: 8 };
    const { certificate: cert, key, isInsecure } = settings;
    this.#agent = settings.server.startsWith("https:")
      ? new TlsAgent({
          ...options,
          ...(cert === undefined ? {} : { cert }),
          ...(key === undefined ? {} : { key }),
          rejectUnauthorized: !isInsecure,
        })
      : new PlainAgent(options);
  }

  /** Ends all connections, watches too. */
  close(): void {
    this.#agent.destroy();
  }

  /** The answer of a request, parsed. */
  async send<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const timeout = AbortSignal.timeout(answerMsMax);
    const sources = options.signal === undefined ? [timeout] : [options.signal, timeout];
    const text = await withJoinedSignal(sources, async (signal) => {
      return readText(await this.open(path, { ...options, signal }), signal);
    });
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new ApiError("the API server's answer is no JSON", 0);
    }
  }

  /** Server-side apply of an object, or of one of its subresources such as `/status`. */
  apply(path: string, object: object): Promise<unknown> {
    return this.send(`${path}?fieldManager=${fieldManager}&force=true`, {
      method: "PATCH",
      body: object,
      contentType: "application/apply-patch+yaml",
    });
  }

  /** Sends a request and resolves with its answer when the answer's head is there: a status of 2xx. */
  async open(path: string, options: RequestOptions = {}): Promise<IncomingMessage> {
    let response = await this.#open(path, options);
    if (response.statusCode === 401) {
      // The token was rotated since it was read.
      response.resume();
      this.#token = undefined;
      response = await this.#open(path, options);
    }
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const message = await readProblem(response);
    const retryAfterMs = readRetryAfter(response.headers["retry-after"], retryAfterMsMax);
    throw new ApiError(`the API server answered ${status}: ${message}`, status, retryAfterMs);
  }

  #open(path: string, { method = "GET", body, contentType, signal }: RequestOptions) {
    const { server } = this.#settings;
    return new Promise<IncomingMessage>((resolve, reject) => {
      const fail = (error: unknown) => reject(unreachable(error));
      try {
        const send = server.startsWith("https:") ? secureRequest : plainRequest;
        const text = body === undefined ? undefined : JSON.stringify(body);
        const ca = this.#settings.ca();
        const request = send(`${server}${path}`, {
          method,
          agent: this.#agent,
          headers: this.#headers(text, contentType),
          ...(ca === undefined ? {} : { ca }),
          ...(signal === undefined ? {} : { signal }),
        });
        request.on("error", fail);
        request.on("response", resolve);
        request.end(text);
      } catch (error) {
        fail(error);
      }
    });
  }

  #headers(text: string | undefined, contentType = "application/json"): Record<string, string | number> {
    const token = this.#readToken();
    return {
      Accept: "application/json",
      "User-Agent": "svc-exporter",
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(text === undefined
        ? {}
        : { "Content-Type": contentType, "Content-Length": Buffer.byteLength(text) }),
    };
  }

  #readToken(): string | undefined {
    const now = performance.now();
    if (this.#token === undefined || now - this.#token.readAtMs > tokenMsMax)
      this.#token = { value: this.#settings.token(), readAtMs: now };
    return this.#token.value;
  }
}

async function readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      bytes += piece.length;
      if (bytes > answerBytesMax) throw new ApiError("the API server's answer is too long", 0);
      pieces.push(piece);
    }
  } catch (error) {
    throw unreachable(error);
  } finally {
    response.destroy();
  }
  return Buffer.concat(pieces).toString();
}

async function readProblem(response: IncomingMessage): Promise<string> {
  const text = await readText(response, AbortSignal.timeout(answerMsMax));
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" ? message.slice(0, 1_000) : "no reason was given";
  } catch {
    return text.slice(0, 200);
  }
}

function unreachable(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const { code, message } = error as Error & { code?: string };
  return new ApiError(`the API server cannot be reached: ${code ?? message}`, 0);
}
