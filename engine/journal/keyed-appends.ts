/** Appends under idempotency keys: a key that was used before, or is being used now, adds nothing. */
import { createHash } from "node:crypto";
import type { IdempotencyKeys } from "./idempotency-keys.ts";

/** A key as the journal stores it. */
interface StoredKey {
  /** SHA-256 of the key, hexadecimal. */
  keyHash: string;
  /** Unix milliseconds. */
  keyUntilMs: number;
}

/**
 * Returns a clock of Unix milliseconds that begins at `now` and goes on by the monotonic clock `elapsed`, however the
 * wall clock is set: keys neither expire at once nor live for ever.
 */
export function startSteadyClock(now: () => number, elapsed: () => number): () => number {
  const offsetMs = now() - elapsed();
  return () => offsetMs + elapsed();
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

  /** Calls `write` where the key is new; else resolves with the rows of the first append, once they are on disk. */
  async append(
    key: string,
    ageMs: number,
    write: (key: StoredKey) => Promise<{ rows: number }>,
  ): Promise<{ rows: number; duplicate: boolean }> {
    const keyHash = createHash("sha256").update(key).digest("hex");
    const pending = this.#pending.get(keyHash);
    if (pending !== undefined) return { ...(await pending), duplicate: true };
    const used = this.#keys.find(keyHash, this.#now());
    if (used !== undefined) return { rows: used.rows, duplicate: true };
    const written = write({ keyHash, keyUntilMs: this.#now() + ageMs });
    this.#pending.set(keyHash, written);
    try {
      return { ...(await written), duplicate: false };
    } finally {
      this.#pending.delete(keyHash);
    }
  }
}
