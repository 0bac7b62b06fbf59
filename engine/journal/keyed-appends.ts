/** Appends under idempotency keys: a key that was used before, or is being used now, adds nothing. */
import { createHash } from "node:crypto";
import { Failure } from "../failure.ts";
import type { PieceKey } from "../files/piece-keys.ts";
import { keyAgeMs } from "../limits.ts";
import type { IdempotencyKeys } from "./idempotency-keys.ts";

/** A key as the journal stores it. */
export interface StoredKey {
  /** SHA-256 of the key, hexadecimal; absent without a key, and for a batch whose pieces have keys of their own. */
  keyHash?: string;
  /** Unix milliseconds; 0 without any key. */
  keyUntilMs: number;
}

/** What the caller of an append chooses. */
interface KeyOptions {
  key?: string;
  keyAgeMs?: number;
}

/** The outcome of an append. `rows` are those of the first batch with the key. */
interface KeyedAppend {
  rows: number;
  duplicate: boolean;
}

type WriteBatch = (key: StoredKey) => Promise<{ rows: number }>;

/**
 * Returns a clock of Unix milliseconds that begins at `now` and goes on by the monotonic clock `elapsed`, however the
 * wall clock is set: keys neither expire at once nor live for ever.
 */
export function startSteadyClock(now: () => number, elapsed: () => number): () => number {
  const offsetMs = now() - elapsed();
  return () => offsetMs + elapsed();
}

/** The hash under which a key is stored. */
export function hashKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

export class KeyedAppends {
  readonly #keys: IdempotencyKeys;
  readonly #now: () => number;
  readonly #pending = new Map<string, Promise<{ rows: number }>>();

  /** `now`: Unix milliseconds that go on steadily. */
  constructor(keys: IdempotencyKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * Calls `write` where the batch has no key or a new one; else resolves with the rows of the first append, once they are
   * on disk. A batch of pieces has their keys. Throws Failure "input" where one of these was used before: the caller leaves
   * such pieces out.
   */
  async append(
    { key, keyAgeMs: ageMs = keyAgeMs }: KeyOptions,
    pieces: readonly PieceKey[] | undefined,
    write: WriteBatch,
  ): Promise<KeyedAppend> {
    const keyUntilMs = this.#now() + ageMs;
    if (key !== undefined) return this.#appendOnce(hashKey(key), keyUntilMs, write);
    if (pieces !== undefined) return this.#appendPieces(pieces, keyUntilMs, write);
    return { ...(await write({ keyUntilMs: 0 })), duplicate: false };
  }

  async #appendPieces(
    pieces: readonly PieceKey[],
    keyUntilMs: number,
    write: WriteBatch,
  ): Promise<KeyedAppend> {
    const hashes = pieces.map(({ hash }) => hash);
    const used = this.findRows(hashes).findIndex(
      (rows, i) => rows !== undefined || this.#pending.has(hashes[i]!),
    );
    if (used >= 0) throw new Failure("input", `piece ${used + 1} of the batch is stored already`);
    return this.#hold(hashes, write({ keyUntilMs }));
  }

  async #appendOnce(keyHash: string, keyUntilMs: number, write: WriteBatch): Promise<KeyedAppend> {
    const pending = this.#pending.get(keyHash);
    if (pending !== undefined) return { ...(await pending), duplicate: true };
    const used = this.#keys.find(keyHash, this.#now());
    if (used !== undefined) return { rows: used.rows, duplicate: true };
    return this.#hold([keyHash], write({ keyHash, keyUntilMs }));
  }

  /** Notes that these keys are being stored, until `written` is settled. */
  async #hold(hashes: readonly string[], written: Promise<{ rows: number }>): Promise<KeyedAppend> {
    for (const hash of hashes) this.#pending.set(hash, written);
    try {
      return { ...(await written), duplicate: false };
    } finally {
      for (const hash of hashes) this.#pending.delete(hash);
    }
  }

  /** The rows that each of these keys added; undefined for those that are new. */
  findRows(hashes: readonly string[]): (number | undefined)[] {
    const now = this.#now();
    return hashes.map((hash) => this.#keys.find(hash, now)?.rows);
  }
}
