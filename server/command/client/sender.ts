/** Delivers batches, several at once. A server gets each batch again until it has accepted or refused the rows. */

import { createCipheriv, createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { RefusedLine } from "../../ingest/decode-task.ts";
import type { IntakeResult } from "../../ingest/intake.ts";
import type { Batch } from "./batches.ts";
import type { Answer, Client } from "./client.ts";
import { ask, ConnectionProblem, problemOf, tokenHint } from "./client.ts";

/** The outcome of an input so far. */
export interface Tally {
  /** Rows that were stored. */
  accepted: number;
  /** Rows that an earlier run or an earlier try had stored. */
  duplicates: number;
  refused: number;
  /** Rows that ingestion rules dropped. */
  dropped: number;
  /** The first refused rows. */
  refusals: RefusedLine[];
  /** Decompressed bytes of the batches that were answered. */
  bytes: number;
}

export interface SenderOptions {
  client: Client;
  /** Path of the ingestion route. */
  path: string;
  signal: AbortSignal;
  /** Part of every idempotency key: runs with the same scope share the keys of equal batches. */
  scope: string;
  onProblem: (problem: string) => void;
}

/** Resolves once the rows are stored or refused. Throws an Error of one sentence where that is impossible. */
export type DeliverBatch = (batch: Batch) => Promise<IntakeResult>;

const batchesInFlightMax = 4;
const triesMax = 12;
const refusalsListedMax = 10;
const waitMsMax = 15_000;
/** Statuses after which a retry may succeed. */
const retryableStatuses = new Set([408, 429, 500, 502, 503, 504]);

export function createTally(): Tally {
  return { accepted: 0, duplicates: 0, refused: 0, dropped: 0, refusals: [], bytes: 0 };
}

/** Delivers all batches. Throws the first error of `deliver` once no other batch is in flight. */
export async function sendAll(
  batches: AsyncIterable<Batch>,
  tally: Tally,
  deliver: DeliverBatch,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  let failure: unknown;
  for await (const batch of batches) {
    const sent = sendOne(batch, tally, deliver)
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => inFlight.delete(sent));
    inFlight.add(sent);
    if (inFlight.size >= batchesInFlightMax) await Promise.race(inFlight);
    if (failure !== undefined) break;
  }
  await Promise.all(inFlight);
  if (failure !== undefined) throw failure;
}

/** Makes the delivery over HTTP. */
export function makeServerDelivery(options: SenderOptions): DeliverBatch {
  return async (batch) => JSON.parse((await sendUntilAnswered(batch, options)).text) as IntakeResult;
}

async function sendOne(batch: Batch, tally: Tally, deliver: DeliverBatch): Promise<void> {
  const result = await deliver(batch);
  if (result.duplicate) tally.duplicates += result.accepted;
  else tally.accepted += result.accepted;
  tally.refused += result.refused;
  tally.dropped += result.dropped ?? 0;
  // Batches may be answered out of order, so the first refusals of each are kept; the summary sorts and cuts the list.
  const refusals = result.errors.slice(0, refusalsListedMax);
  for (const { line, reason } of refusals) tally.refusals.push({ line: batch.firstLine + line - 1, reason });
  if (tally.refusals.length > 100 * refusalsListedMax) {
    tally.refusals.sort((a, b) => a.line - b.line).length = refusalsListedMax;
  }
  tally.bytes += batch.bytes.length;
}

/** Retries until an answer says which rows were accepted and which refused. */
async function sendUntilAnswered(batch: Batch, options: SenderOptions): Promise<Answer> {
  const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": keyOf(batch, options.scope) };
  for (let tries = 1; ; tries++) {
    const answer = await tryOnce(batch, headers, options);
    if (answer instanceof Error) {
      if (tries >= triesMax || options.signal.aborted) throw answer;
      options.onProblem(answer.message);
    } else {
      if (answer.status === 200 || (answer.status === 400 && isIngestAnswer(answer))) return answer;
      const problem = `${problemOf(answer)}${tokenHint(options.client, answer)}`;
      if (!retryableStatuses.has(answer.status) || tries >= triesMax) throw new Error(problem);
      options.onProblem(problem);
    }
    await sleep(retryWaitMs(tries, answer), undefined, { signal: options.signal });
  }
}

async function tryOnce(
  batch: Batch,
  headers: Record<string, string>,
  { client, path, signal }: SenderOptions,
) {
  try {
    const body = batch.bytes as Uint8Array<ArrayBuffer>;
    return await ask(client, { method: "POST", path, headers, body, signal });
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

/** True for a status 400 that names refused lines: all rows of the batch were refused. */
function isIngestAnswer(answer: Answer): boolean {
  const body = JSON.parse(answer.text) as Partial<IntakeResult>;
  return typeof body.refused === "number" && Array.isArray(body.errors);
}

/** Idempotency key: equal for equal bytes at the same offset, so that a batch whose answer was lost is stored once. */
function keyOf(batch: Batch, scope: string): string {
  return hashKey(batch, scope, batch.bytes);
}

/**
 * As `keyOf`, where the sender owns the store: nobody would make two files with one key. GMAC takes a tenth of the time
 * of SHA-256. Under a key that everybody knows, its 128 bits tell bytes apart that nobody chose to be confused.
 */
export function localKeyOf(batch: Batch, scope: string): string {
  const cipher = createCipheriv("aes-128-gcm", new Uint8Array(16), new Uint8Array(12));
  cipher.setAAD(batch.bytes).final();
  return hashKey(batch, scope, cipher.getAuthTag());
}

function hashKey({ offset }: Batch, scope: string, content: Uint8Array): string {
  return createHash("sha256").update(`${scope} ${offset} `).update(content).digest("base64url");
}
