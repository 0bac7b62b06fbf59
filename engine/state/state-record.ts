/**
 * A record of the state: one stored version of one entry. Its LMDB key, which is also its frame's key, is the table, a
 * zero byte and the id in UTF-8; the frame's payload is JSON. A deletion is a record too: otherwise an older value
 * salvaged from a damaged file would bring the entry back.
 */
import { Failure } from "../failure.ts";
import { decodeFrame, FrameKind, readFrameChecksum, writeFrame } from "../files/frame.ts";

/** A JSON value; deeply read-only. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

interface StateRecord {
  table: string;
  id: string;
  /** Number of the commit that wrote it. Of two records of an entry, the one with the greater number is current. */
  commit: number;
  /** "lost": the newest value was damaged beyond repair, and the entry has not been written since. */
  status: "value" | "deleted" | "lost";
  value: Json;
}

export interface StoredRecord extends StateRecord {
  /** Checksum of its frame. */
  checksum: number;
  /** Encodes it as it was stored. Does not parse the value. */
  encode(): EncodedRecord;
}

/** What a copy of the state must hold. It is a record itself, of the table "", and is written with every commit. */
export interface StateSummary {
  /** Number of records, deletions among them. */
  records: number;
  /** Sum of the checksums of all records. */
  checksums: number;
}

const summaryId = "summary";
const keyBytesMax = 1_024;

/** The name by which records are identified in memory; the key is the same text in UTF-8. */
export function toRecordName(table: string, id: string): string {
  return `${table}\0${id}`;
}

export const summaryName = toRecordName("", summaryId);

/** Throws Failure "input" where the id is too long or not valid Unicode. */
export function toRecordKey(table: string, id: string): Buffer {
  if (!id.isWellFormed()) throw new Failure("input", `the id ${JSON.stringify(id)} is not valid Unicode`);
  const key = Buffer.from(toRecordName(table, id));
  if (key.length <= keyBytesMax) return key;
  const problem = `an id may have ${keyBytesMax - table.length - 1} bytes, not ${Buffer.byteLength(id)}`;
  throw new Failure("input", problem);
}

/** The record name in a stored key; undefined where the key cannot be a record's. */
export function nameOfKey(key: Uint8Array): string | undefined {
  const name = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString();
  return name.includes("\0") ? name : undefined;
}

/** A record as LMDB stores it. */
export interface EncodedRecord {
  key: Buffer;
  frame: Buffer;
}

type RecordHead = Omit<StateRecord, "value">;

/** `json`: the value. */
function encodeJson({ table, id, commit, status }: RecordHead, json: string): EncodedRecord {
  const key = toRecordKey(table, id);
  const head = JSON.stringify({ table, id, commit, status });
  const payload = Buffer.from(`${head.slice(0, -1)}${valueMarker}${json}}`);
  return { key, frame: writeFrame(FrameKind.state, key, payload) };
}

/** Makes a record of the JSON of its value: as it is to be written, and as it would be read again. */
export function makeRecord(head: RecordHead, json: string): { encoded: EncodedRecord; stored: StoredRecord } {
  const encoded = encodeJson(head, json);
  return { encoded, stored: new DecodedRecord(head, json, readFrameChecksum(encoded.frame)) };
}

/** Precedes the value in a record's JSON. It cannot occur earlier: inside a string its quotes would be escaped. */
const valueMarker = ',"value":';

/**
 * Decodes the record in a frame; undefined where the bytes are not the intact frame of a record. Its value is frozen.
 */
export function decodeRecord(frame: Buffer): StoredRecord | undefined {
  const opened = decodeFrame(frame);
  if (opened?.kind !== FrameKind.state) return undefined;
  const payload = Buffer.copyBytesFrom(opened.payload);
  const at = payload.indexOf(valueMarker);
  const head = JSON.parse(`${payload.toString("utf8", 0, at)}}`) as RecordHead;
  return new DecodedRecord(head, payload.subarray(at + valueMarker.length, -1), readFrameChecksum(frame));
}

/**
 * A record whose value is parsed on first access: a start needs only the fields before it, and most values that are
 * written are never read again.
 */
class DecodedRecord implements StoredRecord {
  readonly table: string;
  readonly id: string;
  readonly commit: number;
  readonly status: StateRecord["status"];
  readonly checksum: number;
  /** The value's JSON, until it is parsed. */
  #json: Buffer | string | undefined;
  #value: Json = null;

  constructor(head: RecordHead, json: Buffer | string, checksum: number) {
    this.table = head.table;
    this.id = head.id;
    this.commit = head.commit;
    this.status = head.status;
    this.checksum = checksum;
    this.#json = json;
  }

  encode(): EncodedRecord {
    const { table, id, commit, status } = this;
    return encodeJson({ table, id, commit, status }, this.#json?.toString() ?? JSON.stringify(this.#value));
  }

  get value(): Json {
    if (this.#json !== undefined) {
      this.#value = deepFreeze(JSON.parse(this.#json.toString()) as Json);
      this.#json = undefined;
    }
    return this.#value;
  }
}

export function encodeSummary(summary: StateSummary, commit: number): EncodedRecord {
  const value = { records: summary.records, checksums: summary.checksums };
  return encodeJson({ table: "", id: summaryId, commit, status: "value" }, JSON.stringify(value));
}

function deepFreeze<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner as Json);
    Object.freeze(value);
  }
  return value;
}
