/**
 * A chunk: rows of one signal and day in order of time, stored column by column, with a header that describes the
 * columns.
 */
import type { AttributeVector, EncodingName } from "../column/encoding.ts";
import { Failure } from "../failure.ts";
import { align8 } from "../files/column-payload.ts";
import { textAt, textCount } from "../vector/text.ts";
import type { ChunkExtent } from "./chunk-entry.ts";

/**
 * What a column holds. The names are part of the format.
 * - `variables`: one group of the variables of messages that are stored as templates.
 * - `rest`: overflow attributes, those without a column of their own.
 * - From `name` on: columns of metric chunks, whose `attribute` and `rest` columns have a value for each series instead
 * of each row;
 *   see metrics/sample-chunk-encoder.ts.
 */
export type ColumnRole =
  | "time"
  | "arrival"
  | "level"
  | "message"
  | "variables"
  | "attribute"
  | "rest"
  | "name"
  | "type"
  | "unit"
  | "fingerprint"
  | "samples"
  | "clock"
  | "value";

/** Describes one column of a chunk; stored as JSON in the chunk header. */
export interface ColumnHeader {
  role: ColumnRole;
  /** Attribute key, name of a group of variables, or first series of a `value` column; "" for the other roles. */
  key: string;
  encoding: EncodingName;
  /** Rows (series, for attributes of metrics) that have a value. */
  present: number;
  /**
   * Every distinct value with its count, where there are at most `headerValuesMax` of at most `headerValueBytesMax`
   * bytes together.
   */
  values?: [string, number][];
  /** Least and greatest value, where every value is a decimal number. */
  min?: number;
  max?: number;
  /** Bytes before compression of the payload, and of the filter (0: none). */
  payloadBytes: number;
  filterBytes: number;
  /** Sealed chunks only: checksums and stored bytes of the frames of payload and filter. */
  checksum?: number;
  filterChecksum?: number;
  filterStoredBytes?: number;
  storedBytes?: number;
}

/** Describes a chunk; stored as JSON. */
export interface ChunkHeader extends ChunkExtent {
  /** Number of series; chunks of metrics only. */
  series?: number;
  columns: ColumnHeader[];
}

/** An encoded chunk in memory: payloads and filters are in the order of the header's columns. */
export interface EncodedChunk {
  header: ChunkHeader;
  payloads: Uint8Array[];
  filters: (Uint8Array | undefined)[];
}

/** A source of encoded columns: a part in memory, or a sealed chunk in a partition. */
export interface ChunkSource {
  readonly header: ChunkHeader;
  /** Added to every value of the arrival column. */
  readonly arrivalBase: number;
  /** Decompressed payload of a column, by its index in the header. Throws Failure "damage". */
  payload(column: number): Uint8Array;
  /**
   * Decompressed filter of a column, valid until the next call of either method; undefined where it has none. Throws
   * Failure "damage".
   */
  filter(column: number): Uint8Array | undefined;
}

/**
 * For each header, the index of the first column of each role and key. Cached: every query asks several times for every
 * chunk.
 */
const columnIndexes = new WeakMap<ChunkHeader, Map<ColumnRole, Map<string, number>>>();

/** Index of the first column with this role and key; -1 where there is none. */
export function findColumn(header: ChunkHeader, role: ColumnRole, key = ""): number {
  let indexes = columnIndexes.get(header);
  if (indexes === undefined) {
    indexes = new Map();
    for (const [i, column] of header.columns.entries()) {
      const byKey = indexes.get(column.role) ?? new Map<string, number>();
      indexes.set(column.role, byKey);
      if (!byKey.has(column.key)) byKey.set(column.key, i);
    }
    columnIndexes.set(header, indexes);
  }
  return indexes.get(role)?.get(key) ?? -1;
}

/** Attribute keys of a chunk or of several. */
export interface ListedKeys {
  keys: string[];
  /** False where rows have more keys than `keys` lists. */
  isWhole: boolean;
}

/** The attribute keys that a chunk header names. Keys of overflow attributes are not among them. */
export function listAttributeKeys(header: ChunkHeader): ListedKeys {
  const keys = header.columns.flatMap((column) => (column.role === "attribute" ? [column.key] : []));
  return { keys, isWhole: !header.columns.some(({ role }) => role === "rest") };
}

/** Counts the rows that have a value and, up to the caps, the rows of each distinct value. */
export function countValues(
  vector: AttributeVector,
  caps: { values: number; bytes: number },
): Pick<ColumnHeader, "present" | "values"> {
  let present = 0;
  const { values, codes } = vector;
  const counts = new Uint32Array(textCount(values));
  for (let row = 0; row < codes.length; row++) {
    const code = codes[row]!;
    if (code < 0) continue;
    counts[code] = counts[code]! + 1;
    present++;
  }
  if (counts.length > caps.values || values.bytes.byteLength > caps.bytes) return { present };
  return { present, values: Array.from(counts, (count, code) => [textAt(values, code), count]) };
}

/**
 * A serialized part, in memory and in the journal: u32 magic "SVCI", u32 length of the header's JSON, the JSON, then
 * each column's payload and filter, each of these padded to 8 bytes.
 */
const partMagic = 0x49435653;

/** A part that is measured but not written yet. */
export interface SerializedPart {
  chunk: EncodedChunk;
  /** The header's JSON. */
  json: Buffer;
  /** Length of the serialized part. */
  byteLength: number;
}

/** Measures a part; `writePart` then writes it. */
export function serializePart(chunk: EncodedChunk): SerializedPart {
  const values = [...chunk.payloads, ...chunk.filters.filter((filter) => filter !== undefined)];
  const json = Buffer.from(JSON.stringify(chunk.header), "utf8");
  const headBytes = 8 + align8(json.byteLength);
  const byteLength = values.reduce((sum, value) => sum + align8(value.byteLength), headBytes);
  return { chunk, json, byteLength };
}

/** Writes a part at `offset`, a multiple of 8, into zeroed bytes; returns the offset after it. */
export function writePart({ chunk, json }: SerializedPart, target: Uint8Array, offset: number): number {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  view.setUint32(offset, partMagic, true);
  view.setUint32(offset + 4, json.byteLength, true);
  target.set(json, offset + 8);
  let at = offset + 8 + align8(json.byteLength);
  for (const [i, payload] of chunk.payloads.entries()) {
    for (const value of [payload, chunk.filters[i]]) {
      if (value === undefined) continue;
      target.set(value, at);
      at += align8(value.byteLength);
    }
  }
  return at;
}

/** Opens a serialized part in place, without a copy. Throws Failure "damage" where the bytes are not a part. */
export function openPart(bytes: Uint8Array, arrivalBase: number): ChunkSource {
  const json = readPartJson(bytes);
  const header = parseHeader(json);
  const offsets: { payload: number; filter: number }[] = [];
  let at = 8 + align8(json.byteLength);
  for (const column of header.columns) {
    const filter = at + align8(column.payloadBytes);
    offsets.push({ payload: at, filter });
    at = filter + align8(column.filterBytes);
  }
  return {
    header,
    arrivalBase,
    payload: (i) => sliceColumn(bytes, offsets[i]!.payload, header.columns[i]!.payloadBytes),
    filter: (i) => {
      const { filterBytes } = header.columns[i]!;
      return filterBytes === 0 ? undefined : sliceColumn(bytes, offsets[i]!.filter, filterBytes);
    },
  };
}

/**
 * Reads what the header of a serialized part says before its columns. They are most of it, and a start that reads
 * thousands of parts needs none of them. Throws as `openPart`.
 */
export function readPartExtent(bytes: Uint8Array): ChunkExtent {
  const json = readPartJson(bytes);
  const end = json.indexOf(beforeColumns);
  return end < 0 ? parseHeader(json) : (JSON.parse(`${json.toString("latin1", 0, end)}}`) as ChunkExtent);
}

/** Encoders write the columns last. What stands before them are numbers, so this is found in no text. */
const beforeColumns = ',"columns":[';

/** Parses the JSON of a chunk header whose frame or batch was verified. */
export function parseHeader(json: Uint8Array): ChunkHeader {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8");
  return JSON.parse(text) as ChunkHeader;
}

/** The JSON of a serialized part's header. Throws Failure "damage" where the bytes are not a part. */
function readPartJson(bytes: Uint8Array): Buffer {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 8 || view.getUint32(0, true) !== partMagic) {
    throw new Failure("damage", "batch: no chunk stands where one should");
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset + 8, view.getUint32(4, true));
}

function sliceColumn(bytes: Uint8Array, from: number, byteLength: number): Uint8Array {
  if (from + byteLength > bytes.byteLength) throw new Failure("damage", "batch: a column passes the end");
  return bytes.subarray(from, from + byteLength);
}
