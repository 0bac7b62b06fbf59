/**
 * Idempotency keys of batches: the keys in use, how many rows each batch added, and when each key expires. The
 * journal's records carry the keys; before a segment is removed, its keys are written to a key file.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../files/folder.ts";
import { decodeFrame, FrameKind, writeFrame } from "../files/frame.ts";
import { idempotencyKeysMax } from "../limits.ts";
import { keyFilePattern } from "./journal-reader.ts";

export interface UsedKey {
  /** Rows that its batch added. */
  rows: number;
  /** When the key expires, milliseconds since the epoch. */
  untilMs: number;
}

/** Expired keys are dropped from memory this often at most: it takes a look at each key. */
const expireEveryMs = 60_000;

interface KeyFile {
  /** When the last of its keys expires, milliseconds since the epoch. */
  expiryMs: number;
  keys: number;
}

/** A key file is one frame. Each entry: 32 bytes of hash, u32 rows, u32 zero, float64 `untilMs`. */
const entryBytes = 48;
const fileKey = Buffer.from("keys", "latin1");

export class IdempotencyKeys {
  readonly #dir: string;
  /** By hash, in order of insertion: beyond `keysMax` the oldest key is dropped. */
  readonly #used = new Map<string, UsedKey>();
  /**
   * Stands before the oldest key: what it has passed was deleted. One that began anew for each key would pass over all
   * the places of deleted keys, up to a million.
   */
  #oldest = this.#used.keys();
  /** Key files by name, oldest first. */
  readonly #files = new Map<string, KeyFile>();
  #expiredAtMs = Number.NEGATIVE_INFINITY;

  constructor(dir: string) {
    this.#dir = dir;
  }

  get size(): number {
    return this.#used.size;
  }

  /** Returns the key unless it is unknown or expired. */
  find(keyHash: string, nowMs: number): UsedKey | undefined {
    const used = this.#used.get(keyHash);
    return used !== undefined && used.untilMs > nowMs ? used : undefined;
  }

  add(keyHash: string, used: UsedKey): void {
    this.#used.delete(keyHash);
    this.#used.set(keyHash, used);
    if (this.#used.size > idempotencyKeysMax) this.#dropOldest();
  }

  /** Reads the key files. */
  async load(reportDamage: (where: string, problem: string) => void): Promise<void> {
    const names = (await readdir(this.#dir)).filter((name) => keyFilePattern.test(name)).sort();
    for (const name of names) {
      const frame = decodeFrame(await readFile(join(this.#dir, name)));
      if (frame === undefined) {
        reportDamage(`journal/${name}`, "the checksum does not match; batches sent again may be taken twice");
        continue;
      }
      this.#loadEntries(name, frame.payload);
    }
  }

  /** Names of the key files. */
  get files(): string[] {
    return [...this.#files.keys()];
  }

  /** Writes the unexpired keys of a segment to a key file beside it. */
  async writeKeyFile(segment: string, keyHashes: readonly string[], nowMs: number): Promise<void> {
    const live = keyHashes.filter((hash) => this.find(hash, nowMs) !== undefined);
    if (live.length === 0) return;
    const payload = Buffer.alloc(live.length * entryBytes);
    let expiryMs = 0;
    for (const [i, hash] of live.entries()) {
      const { rows, untilMs } = this.#used.get(hash)!;
      payload.write(hash, i * entryBytes, 32, "hex");
      payload.writeUInt32LE(rows, i * entryBytes + 32);
      payload.writeDoubleLE(untilMs, i * entryBytes + 40);
      expiryMs = Math.max(expiryMs, untilMs);
    }
    const name = segment.replace(/log$/, "keys");
    await replaceFile(join(this.#dir, name), writeFrame(FrameKind.state, fileKey, payload));
    this.#files.set(name, { expiryMs, keys: live.length });
  }

  /**
   * Drops expired keys. Returns the names of the key files that hold no others, or only keys that are older than all that
   * memory holds: the caller may remove them.
   */
  expire(nowMs: number): string[] {
    if (nowMs - this.#expiredAtMs >= expireEveryMs) {
      for (const [hash, used] of this.#used) if (used.untilMs <= nowMs) this.#used.delete(hash);
      this.#expiredAtMs = nowMs;
    }
    const expired: string[] = [];
    let newerKeys = 0;
    for (const [name, { expiryMs, keys }] of [...this.#files].reverse()) {
      if (expiryMs <= nowMs || newerKeys >= idempotencyKeysMax) expired.push(name);
      newerKeys += keys;
    }
    for (const name of expired) this.#files.delete(name);
    return expired;
  }

  #dropOldest(): void {
    let next = this.#oldest.next();
    if (next.done === true) {
      this.#oldest = this.#used.keys();
      next = this.#oldest.next();
    }
    if (next.done !== true) this.#used.delete(next.value);
  }

  #loadEntries(name: string, payload: Uint8Array): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    let expiryMs = 0;
    const keys = Math.floor(bytes.byteLength / entryBytes);
    for (let at = 0; at + entryBytes <= bytes.byteLength; at += entryBytes) {
      const untilMs = bytes.readDoubleLE(at + 40);
      this.add(bytes.toString("hex", at, at + 32), { rows: bytes.readUInt32LE(at + 32), untilMs });
      expiryMs = Math.max(expiryMs, untilMs);
    }
    this.#files.set(name, { expiryMs, keys });
  }
}
