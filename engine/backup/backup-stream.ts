/**
 * The stream in which a backup is sent: items, each with a checksum, the last of kind "end". A store's content is sent
 * as values and records, not as its files; the receiver writes files of its own.
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
import {
  type Check,
  type FieldChecks,
  findWrongField,
  isCount,
  isListOf,
  isNumber,
  isText,
} from "../files/json-shape.ts";
import { daysMax } from "../model/day.ts";
import { type Signal, signals } from "../model/signal.ts";
import { isManifest, type Manifest } from "../partition/manifest.ts";

/** The items of a stream, in this order: start, journal, state, partitions with their chunks, files, end. */
export type BackupItem =
  | { kind: "start"; version: 1; takenAtMs: number; bytesTotal: number }
  /** A partition, whose manifest names the chunks that follow. */
  | { kind: "partition"; signal: Signal; day: number; manifest: Manifest }
  /** Payload: the frames of the chunk's values, concatenated. */
  | { kind: "chunk"; id: number }
  /** `problem`: a sentence about a chunk that is lost because it is damaged. */
  | { kind: "lost"; problem: string }
  | { kind: "journal"; seqNext: number; arrivalNext: number; segments: string[]; keys: string[] }
  /** Payload: the intact records of a journal segment. */
  | { kind: "segment"; name: string }
  /** Payload: a file of idempotency keys. */
  | { kind: "keys"; name: string }
  | { kind: "state" }
  /** Payload: frames of records of the state, concatenated. */
  | { kind: "records" }
  /** Payload: the content of a file that lies beside the store's own files, such as the admin token. */
  | { kind: "file"; name: string }
  | { kind: "end" };

/** The fields of each kind of item. */
const itemChecks: { [K in BackupItem["kind"]]: FieldChecks<Omit<Extract<BackupItem, { kind: K }>, "kind">> } =
  {
    start: { version: isNumber, takenAtMs: isNumber, bytesTotal: isCount },
    journal: { seqNext: isCount, arrivalNext: isCount, segments: isListOf(isText), keys: isListOf(isText) },
    segment: { name: isText },
    keys: { name: isText },
    state: {},
    records: {},
    partition: {
      signal: (value) => signals.includes(value as Signal),
      day: (value) => isCount(value) && (value as number) <= daysMax,
      manifest: isManifest,
    },
    chunk: { id: isCount },
    lost: { problem: isText },
    file: { name: isText },
    end: {},
  };

export interface ReceivedItem {
  item: BackupItem;
  payload: Buffer;
}

const magic = Buffer.from("SVCB", "latin1");
const headBytes = 16;
/** Longest item as JSON: a manifest may name tens of thousands of chunks. */
const itemBytesMax = 256 * 2 ** 20;
/** Longest payload: a segment of the journal, or a chunk of long messages. */
const payloadBytesMax = 2 ** 31 - 1;
/**
 * Longest piece that `encodeItem` yields: a slow receiver leaves at most this much of a large item in the socket's
 * buffer.
 */
const pieceBytes = 1024 * 1024;

/** Encodes an item as pieces of bytes. */
export function* encodeItem(
  item: BackupItem,
  payload: Uint8Array = Buffer.alloc(0),
): Generator<Uint8Array, void, undefined> {
  const json = Buffer.from(JSON.stringify(item));
  const head = Buffer.alloc(headBytes + json.byteLength);
  head.set(magic, 0);
  head.writeUInt32LE(json.byteLength, 8);
  head.writeUInt32LE(payload.byteLength, 12);
  head.set(json, headBytes);
  head.writeUInt32LE(computeChecksum(head.subarray(8), payload), 4);
  yield head;
  for (let at = 0; at < payload.byteLength; at += pieceBytes) yield payload.subarray(at, at + pieceBytes);
}

/**
 * The checksum of the head and the payload, concatenated. An empty payload is left out, because zlib's crc32 would
 * start anew at it.
 */
function computeChecksum(head: Uint8Array, payload: Uint8Array): number {
  const checksum = crc32(head);
  return payload.byteLength === 0 ? checksum : crc32(payload, checksum);
}

/** Decodes items from pieces of any length. */
export class BackupStreamReader {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #buffered: Uint8Array[] = [];
  #bufferedBytes = 0;
  #next: ReceivedItem | undefined;

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /**
   * Returns the item that `take` will return next. Throws Failure "damage" where the stream has ended or the item is
   * damaged.
   */
  async peek(): Promise<ReceivedItem> {
    this.#next ??= await this.#readItem();
    return this.#next;
  }

  async take(): Promise<ReceivedItem> {
    const next = await this.peek();
    this.#next = undefined;
    return next;
  }

  /** Ends the stream; the sender stops. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  async #readItem(): Promise<ReceivedItem> {
    const head = await this.#readBytes(headBytes);
    const jsonBytes = head.readUInt32LE(8);
    const payloadBytes = head.readUInt32LE(12);
    if (!head.subarray(0, 4).equals(magic) || jsonBytes > itemBytesMax || payloadBytes > payloadBytesMax) {
      throw new Failure("damage", "what came is no backup of svc");
    }
    const json = await this.#readBytes(jsonBytes);
    const payload = await this.#readBytes(payloadBytes);
    if (computeChecksum(Buffer.concat([head.subarray(8), json]), payload) !== head.readUInt32LE(4)) {
      throw new Failure("damage", "a part of the backup was damaged on its way");
    }
    return { item: parseItem(json.toString()), payload };
  }

  async #readBytes(length: number): Promise<Buffer> {
    while (this.#bufferedBytes < length) {
      const { value, done } = await this.#pieces.next();
      if (done === true) throw new Failure("damage", "the backup ended before it was whole");
      this.#buffered.push(value);
      this.#bufferedBytes += value.byteLength;
    }
    const all = this.#buffered.length === 1 ? this.#buffered[0]! : Buffer.concat(this.#buffered);
    const rest = all.subarray(length);
    this.#buffered = rest.byteLength > 0 ? [rest] : [];
    this.#bufferedBytes = rest.byteLength;
    return Buffer.from(all.buffer, all.byteOffset, length);
  }
}

/** Throws Failure "damage" where the JSON is no item: the sender's checksum does not say that it is one. */
function parseItem(json: string): BackupItem {
  let item: Partial<BackupItem> | null = null;
  try {
    item = JSON.parse(json) as Partial<BackupItem> | null;
  } catch {
    // Text that is no JSON is no item.
  }
  const { kind } = item ?? {};
  if (kind === undefined || !Object.hasOwn(itemChecks, kind)) {
    throw new Failure("damage", "the backup holds an item of no known kind");
  }
  const wrong = findWrongField(item, itemChecks[kind] as Record<string, Check>);
  if (wrong === undefined) return item as BackupItem;
  throw new Failure("damage", `the backup holds an item ${kind} whose field ${wrong} is wrong`);
}
