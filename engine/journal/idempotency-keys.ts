/**
 * Idempotency keys of batches: which were taken, how many rows each added, and until when that is remembered.
 * While a batch is in the journal its record carries the key; when a segment is spent its keys move to a small file.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "../files/folder.ts";
import { FrameKind, openFrame, writeFrame } from "../files/frame.ts";
import { keysMax } from "../limits.ts";
import { keyFilePattern } from "./journal-reader.ts";

export interface UsedKey {
  rows: number;
  untilMs: number;
}

/** Key file: one frame; each entry 32 bytes of hash, u32 rows, u32 zero, float64 until. */
const entryBytes = 48;
const fileKey = Buffer.from("keys", "latin1");

export class IdempotencyKeys {
  readonly #dir: string;
  /** In order of insertion, so that the oldest is forgotten first. */
  readonly #taken = new Map<string, UsedKey>();
  readonly #files = new Map<string, number>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  get size(): number {
    return this.#taken.size;
  }

  find(keyHash: string, nowMs: number): UsedKey | undefined {
    const taken = this.#taken.get(keyHash);
    return taken !== undefined && taken.untilMs > nowMs ? taken : undefined;
  }

  add(keyHash: string, taken: UsedKey): void {
    this.#taken.delete(keyHash);
    this.#taken.set(keyHash, taken);
    if (this.#taken.size > keysMax) {
      for (const oldest of this.#taken.keys()) {
        this.#taken.delete(oldest);
        break;
      }
    }
  }

  async load(reportDamage: (where: string, problem: string) => void): Promise<void> {
    const names = (await readdir(this.#dir)).filter((name) => keyFilePattern.test(name)).sort();
    for (const name of names) {
      const frame = openFrame(await readFile(join(this.#dir, name)));
      if (frame === undefined) {
        reportDamage(`journal/${name}`, "the checksum does not match; batches sent again may be taken twice");
        continue;
      }
      this.#loadEntries(name, frame.payload);
    }
  }

  /** Names of its files. */
  get files(): string[] {
    return [...this.#files.keys()];
  }

  /** Writes the keys of a spent segment beside it. */
  async keep(segment: string, keyHashes: readonly string[], nowMs: number): Promise<void> {
    const live = keyHashes.filter((hash) => this.find(hash, nowMs) !== undefined);
    if (live.length === 0) return;
    const payload = Buffer.alloc(live.length * entryBytes);
    let lastMs = 0;
    for (const [i, hash] of live.entries()) {
      const { rows, untilMs } = this.#taken.get(hash)!;
      payload.write(hash, i * entryBytes, 32, "hex");
      payload.writeUInt32LE(rows, i * entryBytes + 32);
      payload.writeDoubleLE(untilMs, i * entryBytes + 40);
      lastMs = Math.max(lastMs, untilMs);
    }
    const name = segment.replace(/log$/, "keys");
    await replaceFile(join(this.#dir, name), writeFrame(FrameKind.state, fileKey, payload));
    this.#files.set(name, lastMs);
  }

  /** Forgets keys that are past their time; returns the names of files that hold no others, which may go. */
  expire(nowMs: number): string[] {
    for (const [hash, taken] of this.#taken) if (taken.untilMs <= nowMs) this.#taken.delete(hash);
    const expired = [...this.#files].filter(([, lastMs]) => lastMs <= nowMs).map(([name]) => name);
    for (const name of expired) this.#files.delete(name);
    return expired;
  }

  #loadEntries(name: string, payload: Uint8Array): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    let lastMs = 0;
    for (let at = 0; at + entryBytes <= bytes.byteLength; at += entryBytes) {
      const untilMs = bytes.readDoubleLE(at + 40);
      this.add(bytes.toString("hex", at, at + 32), { rows: bytes.readUInt32LE(at + 32), untilMs });
      lastMs = Math.max(lastMs, untilMs);
    }
    this.#files.set(name, lastMs);
  }
}
