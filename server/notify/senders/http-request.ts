/**
 * Sends one HTTP request to a receiver: without redirects, only to allowed addresses, and with limits on the time and
 * the size of the answer.
 */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { readRetryAfter } from "../../throttle/retry-after.ts";
import { answerBytesMax, retryAfterMsMax, tryMsMax } from "../limits.ts";
import type { AddressGuard } from "./address-guard.ts";
import { NotReached, type Outcome } from "./sender.ts";

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

export interface HttpAnswer {
  status: number;
  /** The pause that the receiver asks for before the next request. */
  retryAfterMs: number | undefined;
  /** The beginning of the body, at most `answerBytesMax` bytes. */
  text: string;
}

/**
 * Throws NotReached where no connection was made, RefusedAddress, or another Error where no answer comes in time.
 */
export async function sendHttp(
  { method, url, headers, body }: HttpRequest,
  guard: AddressGuard,
  timeoutMs = tryMsMax,
): Promise<HttpAnswer> {
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new Error(`${url.protocol} is neither http nor https`);
  guard.checkLiteral(url);
  const request = url.protocol === "https:" ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeoutMs);
  const isBare = body === "" && (method === "GET" || method === "DELETE");
  const length = isBare ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const sent = request(
    url,
    { method, headers: { ...headers, ...length }, lookup: guard.lookup, agent: false, signal },
    (answer) => readAnswer(answer).then(resolve, reject),
  );
  let isReached = false;
  sent.on("socket", (socket) => {
    socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
      isReached = true;
    });
  });
  sent.on("error", reject);
  // As bytes: Node would write the headers before a text in the text's encoding, and so encode them twice.
  sent.end(isBare ? undefined : Buffer.from(body));
  try {
    return await promise;
  } catch (error) {
    if (error instanceof NotReached) throw error;
    const problem = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : (error as Error).message;
    throw isReached ? new Error(problem, { cause: error }) : new NotReached(problem, { cause: error });
  } finally {
    sent.destroy();
  }
}

async function readAnswer(answer: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= answerBytesMax) break;
  }
  const text = Buffer.concat(chunks).subarray(0, answerBytesMax).toString();
  return {
    status: answer.statusCode!,
    retryAfterMs: readRetryAfter(answer.headers["retry-after"], retryAfterMsMax),
    text,
  };
}

/** The outcome of an answer after which the message is tried again, after the pause that the receiver asked for. */
export function retryOutcome({ status, retryAfterMs: afterMs, text }: HttpAnswer): Outcome {
  const problem = describeAnswer(status, text);
  // Behind any other status the message may have been taken all the same, as by a program behind a proxy.
  const isRefused = (status >= 400 && status < 500) || status === 501 || status === 503;
  return {
    kind: "retry",
    problem,
    ...(afterMs === undefined ? {} : { afterMs }),
    ...(isRefused ? { isRefused } : {}),
  };
}

export function describeAnswer(status: number, text: string): string {
  const line = text.replace(/\s+/g, " ").trim().slice(0, 120);
  return `the receiver answered ${status}${line === "" ? "" : `: ${line}`}`;
}
