/** Hands batches over, several at once; to a server again and again until each is taken or refused. */

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Batch } from "./batches.ts";
import type { Answer, Client } from "./client.ts";
import { ask, ConnectionProblem, problemOf, tokenHint } from "./client.ts";

interface Refused {
  line: number;
  reason: string;
}

/** What has become of an input up to now. */
export interface Tally {
  taken: number;
  /** Rows that an earlier run, or an earlier try, had stored. */
  repeated: number;
  refused: number;
  /** Rows that ingestion rules left out. */
  dropped: number;
  /** The first ones that were refused. */
  refusals: Refused[];
  /** Unpacked bytes that were answered. */
  bytes: number;
}

export interface SenderOptions {
  client: Client;
  /** Where the rows go. */
  path: string;
  signal: AbortSignal;
  /** Goes into every batch's key: "" lets a second run find what the first has stored. */
  scope: string;
  onProblem: (problem: string) => void;
}

/** What has become of a batch. */
interface IngestAnswer {
  accepted: number;
  refused: number;
  errors: Refused[];
  dropped?: number;
  duplicate: boolean;
}

/** Resolves once the batch is stored or refused. Throws an Error of one sentence when it can be neither. */
export type Deliver = (batch: Batch) => Promise<IngestAnswer>;

const batchesInFlightMax = 4;
const triesMax = 12;
const refusalsKept = 10;
const waitMsMax = 15_000;
/** Statuses that another try may change. */
const passing = new Set([408, 429, 500, 502, 503, 504]);

export function emptyTally(): Tally {
  return { taken: 0, repeated: 0, refused: 0, dropped: 0, refusals: [], bytes: 0 };
}

/** Throws what `deliver` throws, once no other batch is under way. */
export async function sendAll(batches: AsyncIterable<Batch>, tally: Tally, deliver: Deliver): Promise<void> {
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

/** Over HTTP. */
export function deliveryTo(options: SenderOptions): Deliver {
  return async (batch) => JSON.parse((await untilAnswered(batch, options)).text) as IngestAnswer;
}

async function sendOne(batch: Batch, tally: Tally, deliver: Deliver): Promise<void> {
  const result = await deliver(batch);
  if (result.duplicate) tally.repeated += result.accepted;
  else tally.taken += result.accepted;
  tally.refused += result.refused;
  tally.dropped += result.dropped ?? 0;
  // Batches may be answered out of order, so each keeps its own first refusals; the summary sorts and cuts them.
  const listed = result.errors.slice(0, refusalsKept);
  for (const { line, reason } of listed) tally.refusals.push({ line: batch.firstLine + line - 1, reason });
  if (tally.refusals.length > 100 * refusalsKept) {
    tally.refusals.sort((a, b) => a.line - b.line).length = refusalsKept;
  }
  tally.bytes += batch.bytes.length;
}

/** An answer that says what was taken and what was refused. */
async function untilAnswered(batch: Batch, options: SenderOptions): Promise<Answer> {
  const headers = { "Content-Type": "application/x-ndjson", "Idempotency-Key": keyOf(batch, options.scope) };
  for (let tries = 1; ; tries++) {
    const answer = await tryOnce(batch, headers, options);
    if (answer instanceof Error) {
      if (tries >= triesMax || options.signal.aborted) throw answer;
      options.onProblem(answer.message);
    } else {
      if (answer.status === 200 || (answer.status === 400 && isTally(answer))) return answer;
      const problem = `${problemOf(answer)}${tokenHint(options.client, answer)}`;
      if (!passing.has(answer.status) || tries >= triesMax) throw new Error(problem);
      options.onProblem(problem);
    }
    await sleep(waitMs(tries, answer), undefined, { signal: options.signal });
  }
}

async function tryOnce(batch: Batch, headers: Record<string, string>, options: SenderOptions) {
  try {
    const body = batch.bytes as Uint8Array<ArrayBuffer>;
    return await ask(options.client, {
      method: "POST",
      path: options.path,
      headers,
      body,
      signal: options.signal,
    });
  } catch (error) {
    if (error instanceof ConnectionProblem) return error;
    throw error;
  }
}

/** Doubling from a quarter second, with jitter so that many clients do not come back at once; or as the server asks. */
function waitMs(tries: number, answer: Answer | ConnectionProblem): number {
  const asked = answer instanceof Error ? null : answer.retryAfterSeconds;
  const doubling = Math.min(waitMsMax, 250 * 2 ** (tries - 1));
  return Math.max(doubling, (asked ?? 0) * 1000) * (0.75 + Math.random() / 2);
}

/** All rows of the batch were refused: an error to the server, but one that says which lines and why. */
function isTally(answer: Answer): boolean {
  const body = JSON.parse(answer.text) as Partial<IngestAnswer>;
  return typeof body.refused === "number" && Array.isArray(body.errors);
}

/** The same for the same bytes at the same place, so that a batch which was stored without our learning of it is not stored again. */
export function keyOf(batch: Batch, scope: string): string {
  const hash = createHash("sha256").update(`${scope} ${batch.offset} `).update(batch.bytes);
  return hash.digest("base64url");
}
