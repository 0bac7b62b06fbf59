/** A chunk: rows of one signal and day in order of time, each column apart, with a header that describes them. */
import type { AttributeVector, EncodingName } from "../column/encoding.ts";
import { Failure } from "../failure.ts";
import { align8 } from "../files/payload.ts";
import { textAt, textCount } from "../vector/text.ts";

/**
 * `variables`: a group of the variables of messages that are stored as templates. From `name` on: of chunks of metrics, which
 * have attributes and the rest for each series; see metrics/build.ts.
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

export interface ColumnHeader {
  role: ColumnRole;
  /** Attribute key, or name of a group of variables; "" for the other roles. */
  key: string;
  encoding: EncodingName;
  /** Rows that have a value. */
  present: number;
  /** Every distinct value with its count, where they are few and short. */
  values?: [string, number][];
  /** Least and greatest, where every value is a number. */
  min?: number;
  max?: number;
  /** Bytes of the payload, and of the membership filter (0: none). */
  payloadBytes: number;
  filterBytes: number;
  /** Where the column is sealed: the checksums of its frames and their bytes. */
  checksum?: number;
  filterChecksum?: number;
  filterStoredBytes?: number;
  storedBytes?: number;
}

export interface ChunkHeader {
  rows: number;
  /** Of a chunk of metrics, whose rows are samples. */
  series?: number;
  /** Nanoseconds since the start of the partition's day. */
  timeNsMin: number;
  timeNsMax: number;
  arrivalMin: number;
  arrivalMax: number;
  columns: ColumnHeader[];
}

/** A chunk as it is built: payloads and filters stand in the order of the header's columns. */
export interface EncodedChunk {
  header: ChunkHeader;
  payloads: Uint8Array[];
  filters: (Uint8Array | undefined)[];
}

/** Something that columns can be read from: an chunk in memory, or a chunk in a partition. */
export interface ChunkSource {
  readonly header: ChunkHeader;
  /** Added to every value of the arrival column. */
  readonly arrivalBase: number;
  payload(column: number): Uint8Array;
  filter(column: number): Uint8Array | undefined;
}

/** Of each header that was asked the first column of each role and key: every query asks for several, in every chunk. */
const columnIndexes = new WeakMap<ChunkHeader, Map<ColumnRole, Map<string, number>>>();

/** -1 where there is none. */
export function findColumn(header: ChunkHeader, role: ColumnRole, key = ""): number {
  let places = columnIndexes.get(header);
  if (places === undefined) {
    places = new Map();
    for (const [i, column] of header.columns.entries()) {
      const ofRole = places.get(column.role) ?? new Map<string, number>();
      places.set(column.role, ofRole);
      if (!ofRole.has(column.key)) ofRole.set(column.key, i);
    }
    columnIndexes.set(header, places);
  }
  return places.get(role)?.get(key) ?? -1;
}

/** Attribute keys as far as a chunk's header names them: not those of the rarest in a chunk that has very many. */
export interface ListedKeys {
  keys: string[];
  isWhole: boolean;
}

export function listAttributeKeys(header: ChunkHeader): ListedKeys {
  const keys = header.columns.flatMap((column) => (column.role === "attribute" ? [column.key] : []));
  return { keys, isWhole: !header.columns.some(({ role }) => role === "rest") };
}

/** Counts and bounds of an attribute's values, as far as they are worth their place in the header. */
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
 * An chunk as one run of bytes, which is also what the journal holds:
 * u32 magic "SVCI", u32 length of the header's JSON, the JSON, then each column's payload and filter,
 * every part padded to 8 bytes.
 */
const partMagic = 0x49435653;

export interface SerializedPart {
  chunk: EncodedChunk;
  /** The header's JSON. */
  json: Buffer;
  byteLength: number;
}

export function serializePart(chunk: EncodedChunk): SerializedPart {
  const values = [...chunk.payloads, ...chunk.filters.filter((filter) => filter !== undefined)];
  const json = Buffer.from(JSON.stringify(chunk.header), "utf8");
  const byteLength = values.reduce(
    (sum, value) => sum + align8(value.byteLength),
    8 + align8(json.byteLength),
  );
  return { chunk, json, byteLength };
}

/** Writes an chunk at `offset`, a multiple of 8; returns the offset behind it. */
export function writePart({ chunk, json }: SerializedPart, target: Uint8Array, offset: number): number {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  view.setUint32(offset, partMagic, true);
  view.setUint32(offset + 4, json.byteLength, true);
  target.set(json, offset + 8);
  let at = offset + 8 + align8(json.byteLength);
  for (const [i, payload] of chunk.payloads.entries()) {
    for (const part of [payload, chunk.filters[i]]) {
      if (part === undefined) continue;
      target.set(part, at);
      at += align8(part.byteLength);
    }
  }
  return at;
}

/** Opens an chunk in place. Throws Failure "damage" where the bytes are none. */
export function openPart(bytes: Uint8Array, arrivalBase: number): ChunkSource {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.byteLength < 8 || view.getUint32(0, true) !== partMagic) {
    throw new Failure("damage", "batch: no chunk stands where one should");
  }
  const jsonBytes = view.getUint32(4, true);
  const header = parseHeader(bytes.subarray(8, 8 + jsonBytes));
  const places: { payload: number; filter: number }[] = [];
  let at = 8 + align8(jsonBytes);
  for (const column of header.columns) {
    const filter = at + align8(column.payloadBytes);
    places.push({ payload: at, filter });
    at = filter + align8(column.filterBytes);
  }
  return {
    header,
    arrivalBase,
    payload: (i) => sliceColumn(bytes, places[i]!.payload, header.columns[i]!.payloadBytes),
    filter: (i) => {
      const { filterBytes } = header.columns[i]!;
      return filterBytes === 0 ? undefined : sliceColumn(bytes, places[i]!.filter, filterBytes);
    },
  };
}

export function parseHeader(json: Uint8Array): ChunkHeader {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8");
  return JSON.parse(text) as ChunkHeader;
}

function sliceColumn(bytes: Uint8Array, from: number, byteLength: number): Uint8Array {
  if (from + byteLength > bytes.byteLength) throw new Failure("damage", "batch: a column passes the end");
  return bytes.subarray(from, from + byteLength);
}
