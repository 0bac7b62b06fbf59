/**
 * One entry of the state as it is stored: LMDB key and frame key are the table, a zero byte and the id in UTF-8; the
 * frame's payload is JSON. A deletion is a record too, so that an older value found in a damaged file stays deleted.
 */
import { Failure } from "../failure.ts";
import { FrameKind, frameChecksum, openFrame, writeFrame } from "../files/frame.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface StateRecord {
  table: string;
  id: string;
  /** Number of the commit that wrote it; of two records of one entry the greater holds. */
  commit: number;
  /** "lost" stands where the newest value was damaged beyond repair, until the entry is written again. */
  status: "value" | "deleted" | "lost";
  value: Json;
}

export interface StoredRecord extends StateRecord {
  /** Of its frame. */
  checksum: number;
}

/** What a copy of the state should hold; written with every commit, under the table "". */
export interface StateSummary {
  records: number;
  /** Sum of the checksums of all records. */
  checksums: number;
}

const summaryId = "summary";
const keyBytesMax = 1_024;

export function recordName(table: string, id: string): string {
  return `${table}\0${id}`;
}

export const summaryName = recordName("", summaryId);

/** Throws Failure "input" where the id cannot be a key. */
export function recordKey(table: string, id: string): Buffer {
  if (!id.isWellFormed()) throw new Failure("input", `the id ${JSON.stringify(id)} is not valid Unicode`);
  const key = Buffer.from(recordName(table, id));
  if (key.length <= keyBytesMax) return key;
  throw new Failure(
    "input",
    `an id may have ${keyBytesMax - table.length - 1} bytes, not ${Buffer.byteLength(id)}`,
  );
}

/** The name in a stored key, undefined where it is none. */
export function nameOfKey(key: Uint8Array): string | undefined {
  const name = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString();
  return name.includes("\0") ? name : undefined;
}

export interface EncodedRecord {
  key: Buffer;
  frame: Buffer;
}

export function encodeRecord({ value, ...head }: StateRecord): EncodedRecord {
  return encodeText(head, JSON.stringify(value));
}

type RecordHead = Omit<StateRecord, "value">;

/** `text`: the value as JSON. */
function encodeText({ table, id, commit, status }: RecordHead, text: string): EncodedRecord {
  const key = recordKey(table, id);
  const head = JSON.stringify({ table, id, commit, status });
  const payload = Buffer.from(`${head.slice(0, -1)}${valueMark}${text}}`);
  return { key, frame: writeFrame(FrameKind.state, key, payload) };
}

/** A record that is to be written, under the JSON of its value; and what will be read of it. */
export function newRecord(head: RecordHead, text: string): { encoded: EncodedRecord; stored: StoredRecord } {
  const encoded = encodeText(head, text);
  return { encoded, stored: new DecodedRecord(head, text, frameChecksum(encoded.frame)) };
}

/** What stands before the value of a record in its JSON. In a text before it, quotes would bear a backslash. */
const valueMark = ',"value":';

/** The record in a frame; undefined where it is no whole frame of a record. Its value is frozen. */
export function decodeRecord(frame: Buffer): StoredRecord | undefined {
  const opened = openFrame(frame);
  if (opened?.kind !== FrameKind.state) return undefined;
  const payload = Buffer.copyBytesFrom(opened.payload);
  const at = payload.indexOf(valueMark);
  const head = JSON.parse(`${payload.toString("utf8", 0, at)}}`) as RecordHead;
  return new DecodedRecord(head, payload.subarray(at + valueMark.length, -1), frameChecksum(frame));
}

/** Its value is read when it is first asked for: a start looks at heads alone, and most that is written is not read again. */
class DecodedRecord implements StoredRecord {
  readonly table: string;
  readonly id: string;
  readonly commit: number;
  readonly status: StateRecord["status"];
  readonly checksum: number;
  /** JSON, until it is read. */
  #text: Buffer | string | undefined;
  #value: Json = null;

  constructor(head: RecordHead, text: Buffer | string, checksum: number) {
    this.table = head.table;
    this.id = head.id;
    this.commit = head.commit;
    this.status = head.status;
    this.checksum = checksum;
    this.#text = text;
  }

  get value(): Json {
    if (this.#text !== undefined) {
      this.#value = frozen(JSON.parse(this.#text.toString()) as Json);
      this.#text = undefined;
    }
    return this.#value;
  }
}

export function encodeSummary(summary: StateSummary, commit: number): EncodedRecord {
  const value = { records: summary.records, checksums: summary.checksums };
  return encodeRecord({ table: "", id: summaryId, commit, status: "value", value });
}

function frozen<T extends Json>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner as Json);
    Object.freeze(value);
  }
  return value;
}
