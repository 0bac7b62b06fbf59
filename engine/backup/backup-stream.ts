/**
 * A backup on its way: items one after the other, each with a checksum, the last of them "end". What a store is made of
 * goes as values and records, so that whoever receives it writes files of his own.
 *
 *  offset  size  what (integers little-endian)
 *       0     4  magic "SVCB"
 *       4     4  CRC-32 of every byte from offset 8 to the end
 *       8     4  length of the item as JSON
 *      12     4  length of the payload
 *      16        the item as JSON, then the payload
 */
import { crc32 } from "node:zlib";
import { Failure } from "../failure.ts";
import type { Signal } from "../model/signal.ts";
import type { Manifest } from "../partition/manifest.ts";

/** In this order: start, partitions with their chunks, journal, state, files, end. */
export type BackupItem =
  | { kind: "start"; version: 1; takenAtMs: number; bytesTotal: number }
  /** Its manifest names the chunks that follow. */
  | { kind: "partition"; signal: Signal; day: number; manifest: Manifest }
  /** Payload: the frames of its values, one behind the other. */
  | { kind: "chunk"; id: number }
  /** A chunk that damage took, in a sentence. */
  | { kind: "lost"; problem: string }
  | { kind: "journal"; seqNext: number; arrivalNext: number; segments: string[]; keys: string[] }
  /** Payload: its whole records. */
  | { kind: "segment"; name: string }
  /** Payload: a file of idempotency keys. */
  | { kind: "keys"; name: string }
  | { kind: "state" }
  /** Payload: frames of records of the state. */
  | { kind: "records" }
  /** Payload: a file that stands beside the store's own. */
  | { kind: "file"; name: string }
  | { kind: "end" };

export interface ReceivedItem {
  item: BackupItem;
  payload: Buffer;
}

const magic = Buffer.from("SVCB", "latin1");
const headBytes = 16;
/** An item as JSON: a manifest names tens of thousands of chunks. */
const itemBytesMax = 256 * 2 ** 20;
/** A segment of the journal, or a chunk of long messages. */
const payloadBytesMax = 2 ** 31 - 1;
/** What is handed over at a time: a slow reader holds no more of a large item than this in the socket. */
const pieceBytes = 1024 * 1024;

export function* toPieces(
  item: BackupItem,
  payload: Uint8Array = Buffer.alloc(0),
): Generator<Uint8Array, void, undefined> {
  const json = Buffer.from(JSON.stringify(item));
  const head = Buffer.alloc(headBytes + json.byteLength);
  head.set(magic, 0);
  head.writeUInt32LE(json.byteLength, 8);
  head.writeUInt32LE(payload.byteLength, 12);
  head.set(json, headBytes);
  head.writeUInt32LE(checksumOf(head.subarray(8), payload), 4);
  yield head;
  for (let at = 0; at < payload.byteLength; at += pieceBytes) yield payload.subarray(at, at + pieceBytes);
}

/** Of both, one behind the other; zlib takes an empty part for a new beginning. */
function checksumOf(head: Uint8Array, payload: Uint8Array): number {
  const checksum = crc32(head);
  return payload.byteLength === 0 ? checksum : crc32(payload, checksum);
}

/** Reads items out of pieces of any length. */
export class BackupReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #next: ReceivedItem | undefined;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** The item that `take` gives next. Throws Failure "damage" where there is none, or it is not whole. */
  async peek(): Promise<ReceivedItem> {
    this.#next ??= await this.#read();
    return this.#next;
  }

  async take(): Promise<ReceivedItem> {
    const next = await this.peek();
    this.#next = undefined;
    return next;
  }

  /** Tells the sender that nothing more is wanted. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  async #read(): Promise<ReceivedItem> {
    const head = await this.#bytes(headBytes);
    const jsonBytes = head.readUInt32LE(8);
    const payloadBytes = head.readUInt32LE(12);
    if (!head.subarray(0, 4).equals(magic) || jsonBytes > itemBytesMax || payloadBytes > payloadBytesMax) {
      throw new Failure("damage", "what came is no backup of svc");
    }
    const json = await this.#bytes(jsonBytes);
    const payload = await this.#bytes(payloadBytes);
    if (checksumOf(Buffer.concat([head.subarray(8), json]), payload) !== head.readUInt32LE(4)) {
      throw new Failure("damage", "a part of the backup was damaged on its way");
    }
    return { item: JSON.parse(json.toString()) as BackupItem, payload };
  }

  async #bytes(length: number): Promise<Buffer> {
    while (this.#heldBytes < length) {
      const { value, done } = await this.#pieces.next();
      if (done === true) throw new Failure("damage", "the backup ended before it was whole");
      this.#held.push(value);
      this.#heldBytes += value.byteLength;
    }
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    const rest = all.subarray(length);
    this.#held = rest.byteLength > 0 ? [rest] : [];
    this.#heldBytes = rest.byteLength;
    return Buffer.from(all.buffer, all.byteOffset, length);
  }
}
