/** Delivers batches, several at once. A server gets each batch again until it has accepted or refused the rows. */

import { createCipheriv, createHash } from "node:crypto";
import { type RefusedLine, sumBytes } from "../../ingest/decode-task.ts";
import type { IntakeResult, PiecesResult } from "../../ingest/intake.ts";
import { piecesHeader, piecesMax } from "../../ingest/pieces/group-size.ts";
import type { Batch } from "./batches.ts";
import { type Answer, type Client, problemOf } from "./client.ts";
import { canDivide, divideBatch, dividedBytesMin, takeBody } from "./request-body.ts";
import { askUntilFinal } from "./retries.ts";

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

export interface SenderOptions extends KeyScope {
  client: Client;
  /** Path of the ingestion route. */
  path: string;
  /** The server takes bodies in pieces, each with its key. */
  takesPieces: boolean;
  signal: AbortSignal;
  onProblem: (problem: string) => void;
}

/**
 * Yields what became of a group of batches, or of parts of it, once its rows are stored or refused. Refused lines are
 * numbered as in the input. Calls `onRead` as soon as the bytes of the group are not needed any more, if that is before the
 * end. Throws an Error of one sentence where that is impossible.
 */
export type DeliverGroup = (group: readonly Batch[], onRead: () => void) => AsyncGenerator<Tally>;

/** The first body is small, so that a person soon sees how fast it goes. It usually has enough rows for a chunk. */
const bodyBytesFirst = 8 * 1024 * 1024;
/** Others follow it before it is answered only if it is sent in this time. */
const sentSoonMs = 500;
/** The next bodies are to be answered in this time, but grow by these factors at least and at most. */
const soonMs = 2_000;
const growthMin = 2;
const growthMax = 16;
/** Bodies that take longer are followed by smaller ones. */
const slowBodyMs = 4_000;
const refusalsListedMax = 10;
/** The body is too large for the server, or for a proxy before it. */
const tooLarge = 413;
/** Statuses after which fewer batches may succeed: the body is too large, or did not arrive in time. */
const tooLargeStatuses = new Set([408, tooLarge]);

export function createTally(): Tally {
  return { accepted: 0, duplicates: 0, refused: 0, dropped: 0, refusals: [], bytes: 0 };
}

/**
 * Delivers groups of batches, at most so many at once. The next one is read while they are delivered, but not before one of
 * them needs its bytes no more. Throws the first error of `deliver` once no other group is in flight.
 */
export async function sendAll(
  groups: AsyncGenerator<Batch[]>,
  tally: Tally,
  deliver: DeliverGroup,
  inFlightMax: number,
): Promise<void> {
  const inFlight = new Set<Promise<void>>();
  /** For each group whose bytes are still needed, when they are no more. */
  const unread = new Set<Promise<void>>();
  let failure: unknown;
  const send = (group: Batch[]): void => {
    const read = Promise.withResolvers<void>();
    const isRead = read.promise.finally(() => unread.delete(isRead));
    unread.add(isRead);
    const sent = addUp(tally, deliver(group, read.resolve))
      .catch((error: unknown) => {
        failure ??= error;
      })
      .finally(() => {
        read.resolve();
        inFlight.delete(sent);
      });
    inFlight.add(sent);
  };
  try {
    for (let next = groups.next(), read = await next; read.done !== true; read = await next) {
      send(read.value);
      if (unread.size >= inFlightMax) await Promise.race(unread);
      next = groups.next();
      // Reported when it is awaited, which does not happen after a failure.
      next.catch(() => undefined);
      if (inFlight.size >= inFlightMax) await Promise.race(inFlight);
      if (failure !== undefined) break;
    }
  } finally {
    // Not awaited: an input that stays silent may still be read.
    void groups.return(undefined).catch(() => undefined);
    await Promise.all(inFlight);
  }
  if (failure !== undefined) throw failure;
}

/**
 * How large a body may be: large enough for a chunk where bodies are answered soon, small where the connection is slow, so
 * that there is progress to show. Larger groups are divided. Until the first body tells how fast the connection is, the other
 * groups wait.
 */
class BodySize {
  bytesMax = bodyBytesFirst;
  /** The fewest bytes that were too many for the server or a proxy, however much time they have. */
  #bytesTooMany = Number.POSITIVE_INFINITY;
  /** Less than was too large for the server, for a proxy, or for the connection. */
  #ceiling = Number.POSITIVE_INFINITY;
  #hasBegun = false;
  readonly #first = Promise.withResolvers<void>();

  constructor() {
    // A rejection that no group waits for would end the process.
    this.#first.promise.catch(() => undefined);
  }

  /** Returns at once the first time, and later once the first body has told how fast the connection is. */
  async begin(): Promise<void> {
    if (this.#hasBegun) await this.#first.promise;
    this.#hasBegun = true;
  }

  /** A body was sent after this time, and is not answered yet. */
  noteSent(ms: number): void {
    if (ms <= sentSoonMs) this.#first.resolve();
  }

  /** The others are not sent if they still wait for the first body. */
  noteFailed(error: unknown): void {
    this.#first.reject(error);
  }

  /** The first group is done, perhaps without any body that was answered. */
  noteEnded(): void {
    this.#first.resolve();
  }

  divide(batches: readonly Batch[]): readonly Batch[] {
    return batches.flatMap((batch) => divideBatch(batch, this.#bytesTooMany));
  }

  noteTooLarge(bytes: number, status: number): void {
    if (status === tooLarge) this.#bytesTooMany = Math.min(this.#bytesTooMany, bytes);
    this.#ceiling = Math.min(this.#ceiling, bytes / 2);
    this.bytesMax = Math.min(this.bytesMax, this.#ceiling);
  }

  noteAnswered(bytes: number, ms: number): void {
    const growth = Math.min(growthMax, Math.max(growthMin, soonMs / ms));
    if (ms > slowBodyMs) this.bytesMax = (bytes * slowBodyMs) / ms;
    else if (bytes * 2 > this.bytesMax) this.bytesMax = Math.min(this.#ceiling, this.bytesMax * growth);
    this.#first.resolve();
  }
}

/** Makes the delivery over HTTP, of groups of one batch where the server does not take pieces. */
export function makeServerDelivery(
  options: SenderOptions,
): (group: readonly Batch[]) => AsyncGenerator<Tally> {
  const size = new BodySize();
  const batchesMax = options.takesPieces ? piecesMax : 1;
  return async function* (group) {
    await size.begin();
    try {
      let left = size.divide(group);
      while (left.length > 0) {
        const body = takeBody(left, { bytesMax: size.bytesMax, batchesMax });
        const rest = left.slice(body.length);
        const bytes = sumBytes(body);
        const startMs = performance.now();
        const onSent = () => size.noteSent(performance.now() - startMs);
        const answer = await sendUntilAnswered(body, options, onSent);
        if (!tooLargeStatuses.has(answer.status)) {
          size.noteAnswered(bytes, performance.now() - startMs);
          yield toTally(JSON.parse(answer.text), body);
          left = rest;
          continue;
        }
        size.noteTooLarge(bytes, answer.status);
        if (body.length === 1 && !canDivide(body[0]!)) {
          yield refuseLine(body[0]!, answer);
          left = rest;
        } else left = size.divide(left);
      }
    } catch (error) {
      size.noteFailed(error);
      throw error;
    } finally {
      size.noteEnded();
    }
  };
}

/** Refuses a line that is too long by itself. Throws an Error where short lines are not taken either. */
function refuseLine({ bytes, firstLine }: Batch, answer: Answer): Tally {
  const problem = problemOf(answer);
  if (bytes.length < dividedBytesMin) throw new Error(problem);
  const reason = `its ${bytes.length} bytes are too much for the server, or for a proxy before it: ${problem}`;
  return { ...createTally(), refused: 1, refusals: [{ line: firstLine, reason }], bytes: bytes.length };
}

/** What became of the batches of a body. */
function toTally(
  { accepted, refused, dropped = 0, errors, ...taken }: PiecesResult,
  body: readonly Batch[],
): Tally {
  const duplicates = taken.duplicates ?? (taken.duplicate ? accepted : 0);
  const refusals = errors.map(({ line, reason }) => ({ line: lineOf(body, line), reason }));
  return { accepted: accepted - duplicates, duplicates, refused, dropped, refusals, bytes: sumBytes(body) };
}

/** Number in the input of a line of a group; lines that were too long may be missing between its batches. */
function lineOf(group: readonly Batch[], line: number): number {
  let before = 0;
  for (const { firstLine, lines } of group) {
    if (line <= before + lines) return firstLine - 1 + line - before;
    before += lines;
  }
  const last = group.at(-1)!;
  return last.firstLine - 1 + last.lines + line - before;
}

/** Adds what became of batches to the tally of their input. */
async function addUp(tally: Tally, delivered: AsyncGenerator<Tally>): Promise<void> {
  for await (const { accepted, duplicates, refused, dropped, refusals, bytes } of delivered) {
    tally.accepted += accepted;
    tally.duplicates += duplicates;
    tally.refused += refused;
    tally.dropped += dropped;
    // Groups may be answered out of order, so the first refusals of each are kept; the summary sorts and cuts the list.
    tally.refusals.push(...refusals.slice(0, refusalsListedMax));
    if (tally.refusals.length > 100 * refusalsListedMax) {
      tally.refusals.sort((a, b) => a.line - b.line).length = refusalsListedMax;
    }
    tally.bytes += bytes;
  }
}

/** Retries until an answer says which rows were accepted and which refused, or that the group is too large. */
function sendUntilAnswered(
  group: readonly Batch[],
  options: SenderOptions,
  onSent: () => void,
): Promise<Answer> {
  const { client, path, signal, onProblem } = options;
  const headers = { "Content-Type": "application/x-ndjson", ...keysOf(group, options) };
  const body = group.map(({ bytes }) => bytes);
  const isFinal = (answer: Answer) =>
    answer.status === 200 ||
    (answer.status === 400 && isIngestAnswer(answer)) ||
    answer.status === tooLarge ||
    (tooLargeStatuses.has(answer.status) && group.length > 1);
  return askUntilFinal(
    client,
    { method: "POST", path, headers, body, onSent },
    { signal, onProblem, isFinal },
  );
}

function keysOf(group: readonly Batch[], options: SenderOptions): Record<string, string> {
  if (!options.takesPieces) return { "Idempotency-Key": keyOf(group[0]!, options) };
  const pieces = group.map((batch) => `${batch.bytes.length} ${keyOf(batch, options)}`);
  return { [piecesHeader]: pieces.join(", ") };
}

/** True for a status 400 that names refused lines: all rows of the batch were refused. */
function isIngestAnswer(answer: Answer): boolean {
  const body = JSON.parse(answer.text) as Partial<IntakeResult>;
  return typeof body.refused === "number" && Array.isArray(body.errors);
}

/** What idempotency keys depend on, besides the bytes of a batch and their offset. */
export interface KeyScope {
  /** Runs with the same scope share the keys of equal batches. */
  scope: string;
  /** 16 bytes that nobody knows who writes what is sent; public bytes where the sender owns the store. */
  secret: Uint8Array;
}

/** Where the sender owns the store, nobody would make two files with one key. */
export const publicSecret = new Uint8Array(16);

/** The secret of a sender with a token: who writes the lines of a file does not know it. */
export function secretOf(token: string | null): Uint8Array {
  if (token === null) return publicSecret;
  return createHash("sha256").update(`keys of batches ${token}`).digest().subarray(0, 16);
}

/**
 * Idempotency key: equal for equal bytes at the same offset, so that a batch whose answer was lost is stored once. GMAC
 * takes a tenth of the time of SHA-256, and its tags are not shown to anybody.
 */
export function keyOf({ bytes, offset }: Batch, { scope, secret }: KeyScope): string {
  const cipher = createCipheriv("aes-128-gcm", secret, new Uint8Array(12));
  cipher.setAAD(bytes).final();
  return createHash("sha256").update(`${scope} ${offset} `).update(cipher.getAuthTag()).digest("base64url");
}
