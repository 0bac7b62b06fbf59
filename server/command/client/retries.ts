/** Asks a server again while what went wrong may pass: it begins anew, has too much to do, or the connection broke. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, ApiRequest, Client } from "./client.ts";
import { ask, ConnectionProblem, problemOf, tokenHint } from "./client.ts";

export interface RetryOptions {
  signal: AbortSignal;
  /** Hears each problem after which the request is sent again. */
  onProblem: (problem: string) => void;
  /** True for an answer that the caller wants as it is. */
  isFinal: (answer: Answer) => boolean;
  /** A server that is not running when it is asked first is reported at once. */
  mustRun?: boolean;
}

const triesMax = 12;
const waitMsMax = 15_000;
/** Statuses after which a retry may succeed. */
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504]);

/** Returns the first final answer. Throws an Error of one sentence after any other that no retry helps against. */
export async function askUntilFinal(
  client: Client,
  request: ApiRequest,
  { signal, onProblem, isFinal, mustRun = false }: RetryOptions,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await tryOnce(client, { ...request, signal });
    if (answer instanceof Error) {
      if (tries >= triesMax || signal.aborted) throw answer;
      if (mustRun && tries === 1 && answer.isRefused) throw answer;
      onProblem(answer.message);
    } else {
      if (isFinal(answer)) return answer;
      const problem = `${problemOf(answer)}${tokenHint(client, answer)}`;
      if (!retryableStatuses.has(answer.status) || tries >= triesMax) throw new Error(problem);
      onProblem(problem);
    }
    await sleep(retryWaitMs(tries, answer), undefined, { signal });
  }
}

async function tryOnce(client: Client, request: ApiRequest): Promise<Answer | ConnectionProblem> {
  try {
    return await ask(client, request);
  } catch (error) {
    if (error instanceof ConnectionProblem) return error;
    throw error;
  }
}

/** Exponential backoff from 250 ms, at least `Retry-After`, with jitter so that many clients do not retry at once. */
function retryWaitMs(tries: number, answer: Answer | ConnectionProblem): number {
  const retryAfterSeconds = answer instanceof Error ? null : answer.retryAfterSeconds;
  const doubling = Math.min(waitMsMax, 250 * 2 ** (tries - 1));
  return Math.max(doubling, (retryAfterSeconds ?? 0) * 1000) * (0.75 + Math.random() / 2);
}
