/** Sends bodies to the hub. */

import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { readRetryAfter } from "../../throttle/retry-after.ts";
import type { OutgoingBody } from "./buffer-entry.ts";
import { answerBytesMax, retryAfterMsMax } from "./limits.ts";

export interface HubSenderOptions {
  /** Base of the hub's address; the paths of OTLP are added to it. */
  url: URL;
  /** The token of the cluster's environment, read again for each request: it may be rotated. */
  token: () => string;
  /** Certificates of the hub's authority, where it is none of the system's. */
  ca?: string;
}

/** What became of a body. */
export type HubOutcome =
  | { kind: "taken"; contentType: string; body: Buffer }
  /** The hub cannot take this body, now or later. */
  | { kind: "refused"; status: number; contentType: string; body: Buffer }
  | { kind: "retry"; problem: string; afterMs: number };

/** Answers that say that the body itself is wrong. All others, such as 401 for a token, pass by. */
const refusedStatuses: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export class HubSender {
  readonly #options: HubSenderOptions;
  readonly #isSecure: boolean;
  readonly #agent: HttpAgent;

  constructor(options: HubSenderOptions) {
    this.#options = options;
    this.#isSecure = options.url.protocol === "https:";
    const { ca } = options;
    this.#agent = this.#isSecure
      ? new HttpsAgent({ keepAlive: true, ...(ca === undefined ? {} : { ca }) })
      : new HttpAgent({ keepAlive: true });
  }

  /** Never throws: no answer is an outcome, too. */
  async send(body: OutgoingBody, timeoutMs: number): Promise<HubOutcome> {
    try {
      return await this.#send(body, AbortSignal.timeout(timeoutMs));
    } catch (error) {
      const { name, message } = error as Error;
      const problem = name === "TimeoutError" ? `no answer within ${timeoutMs / 1000} s` : message;
      return { kind: "retry", problem: `the hub was not reached: ${problem}`, afterMs: 0 };
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #send({ path: route, contentType, contentEncoding, key, body }: OutgoingBody, abort: AbortSignal) {
    const { url, token } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<HubOutcome>();
    const path = `${url.pathname.replace(/\/$/, "")}${route}`;
    const headers = {
      Authorization: `Bearer ${token()}`,
      "Content-Type": contentType,
      "Content-Length": String(body.length),
      "Idempotency-Key": key,
      ...(contentEncoding === "identity" ? {} : { "Content-Encoding": contentEncoding }),
    };
    const request = this.#isSecure ? requestHttps : requestHttp;
    const options = { method: "POST", agent: this.#agent, headers, signal: abort };
    const sent = request(new URL(path, url), options, (answer) => {
      readOutcome(answer).then(resolve, reject);
    });
    // The reason of the signal says more than the error of a request that it ended.
    const fail = (error: Error) => reject(abort.aborted ? abort.reason : error);
    sent.on("error", fail);
    abort.addEventListener("abort", () => fail(abort.reason as Error), { once: true });
    sent.end(body);
    return promise;
  }
}

async function readOutcome(answer: IncomingMessage): Promise<HubOutcome> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= answerBytesMax) chunks.push(chunk);
  }
  const status = answer.statusCode!;
  const contentType = answer.headers["content-type"] ?? "";
  const body = Buffer.concat(chunks);
  if (status >= 200 && status < 300) return { kind: "taken", contentType, body };
  if (refusedStatuses.has(status)) return { kind: "refused", status, contentType, body };
  const problem = `the hub answered ${status}${status === 401 || status === 403 ? ": its token is not valid there" : ""}`;
  return {
    kind: "retry",
    problem,
    afterMs: readRetryAfter(answer.headers["retry-after"], retryAfterMsMax) ?? 0,
  };
}
