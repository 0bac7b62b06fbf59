/**
 * A chunk: rows of one signal and day in order of time, stored column by column, with a header that describes the
 * columns.
 */
import type { AttributeVector, EncodingName } from "../column/encoding.ts";
import type { ValueBlocks } from "../files/value-blocks.ts";
import type { ValuePages } from "../files/value-pages.ts";
import type { PayloadAllocator } from "../files/zstd.ts";
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

/** Describes one column of a chunk, without its values. */
export interface ColumnOutline {
  role: ColumnRole;
  /** Attribute key, name of a group of variables, or first series of a `value` column; "" for the other roles. */
  key: string;
  encoding: EncodingName;
  /** Rows (series, for attributes of metrics) that have a value. */
  present: number;
  /** Least and greatest value, where every value is a decimal number. */
  min?: number;
  max?: number;
  /** Bytes before compression of the payload, and of the filter (0: none). */
  payloadBytes: number;
  filterBytes: number;
  /** Of a filter that is not compressed, so that pages of it can be read: see `listPageChecksums`. */
  filterPages?: string;
  /** Of a payload that is compressed in blocks: how many there are. */
  blocks?: number;
  /** Sealed chunks only: checksums and stored bytes of the frames of payload and filter. */
  checksum?: number;
  filterChecksum?: number;
  filterStoredBytes?: number;
  storedBytes?: number;
}

/** A value of a column, and the rows (series, for attributes of metrics) that have it. */
export type ListedValue = [value: string, count: number];

/** Describes one column of a chunk; stored as JSON in the chunk header. */
export interface ColumnHeader extends ColumnOutline {
  /**
   * Every distinct value, where there are at most `headerValuesMax` of at most `headerValueBytesMax` bytes together.
   */
  values?: ListedValue[];
}

/** What a header says of a chunk as a whole. */
interface ChunkFacts extends ChunkExtent {
  /** Added to all arrival numbers, those of the header included; absent: 0. */
  arrivalBase?: number;
  /** Number of series; chunks of metrics only. */
  series?: number;
}

/** Describes a chunk; stored as JSON. */
export interface ChunkHeader extends ChunkFacts {
  columns: ColumnHeader[];
}

/** Descriptions of the columns of a chunk, by index. A description may be parsed on first use. */
export interface ColumnOutlines {
  readonly length: number;
  /** Undefined where there is no such column. */
  get(index: number): ColumnOutline | undefined;
  all(): readonly ColumnOutline[];
  /** Index of the first column with this role and key; -1 where there is none. */
  find(role: ColumnRole, key?: string): number;
}

/** Describes an opened chunk. */
export interface ChunkOutline extends ChunkFacts {
  columns: ColumnOutlines;
}

/** An encoded chunk in memory: payloads and filters are in the order of the header's columns. */
export interface EncodedChunk {
  header: ChunkHeader;
  payloads: Uint8Array[];
  filters: (Uint8Array | undefined)[];
}

/** A source of encoded columns: a part in memory, or a sealed chunk in a partition. */
export interface ChunkSource {
  readonly header: ChunkOutline;
  /** The distinct values of a column, where the header lists them. */
  listedValues(column: number): ListedValue[] | undefined;
  /** Added to every value of the arrival column. */
  readonly arrivalBase: number;
  /**
   * Decompressed payload of a column, by its index in the header. A payload that has to be decompressed is written to the
   * memory that `allocate` returns. Throws Failure "damage".
   */
  payload(column: number, allocate?: PayloadAllocator): Uint8Array;
  /**
   * Decompressed filter of a column, valid until the next call of either method; undefined where it has none. Throws
   * Failure "damage".
   */
  filter(column: number): Uint8Array | undefined;
  /** The payload of a column, to be read in blocks; undefined where it can only be read as a whole. */
  payloadBlocks?(column: number): ValueBlocks | undefined;
  /** The filter of a column, to be read in pages; undefined where it can only be read as a whole. */
  filterPages?(column: number): ValuePages | undefined;
}

/** Attribute keys of a chunk or of several. */
export interface ListedKeys {
  keys: string[];
  /** False where rows have more keys than `keys` lists. */
  isWhole: boolean;
}

/** The attribute keys that a chunk header names. Keys of overflow attributes are not among them. */
export function listAttributeKeys(columns: readonly ColumnOutline[]): ListedKeys {
  const keys = columns.flatMap(({ role, key }) => (role === "attribute" ? [key] : []));
  return { keys, isWhole: !columns.some(({ role }) => role === "rest") };
}

/** Counts the rows that have a value. Without a branch, which is mispredicted where half of the rows have one. */
export function countPresent({ codes }: AttributeVector): number {
  let lacking = 0;
  for (let row = 0; row < codes.length; row++) lacking += codes[row]! >>> 31;
  return codes.length - lacking;
}

/** Counts the rows that have a value and, up to the caps, the rows of each distinct value. */
export function countValues(
  vector: AttributeVector,
  caps: { values: number; bytes: number },
): Pick<ColumnHeader, "present" | "values"> {
  const { values, codes } = vector;
  const valueCount = textCount(values);
  if (valueCount > caps.values || values.bytes.byteLength > caps.bytes)
    return { present: countPresent(vector) };
  // The first counts the rows without a value, whose code is -1.
  const counts = new Uint32Array(1 + valueCount);
  for (let row = 0; row < codes.length; row++) counts[codes[row]! + 1]!++;
  return {
    present: codes.length - counts[0]!,
    values: Array.from({ length: valueCount }, (_, code) => [textAt(values, code), counts[code + 1]!]),
  };
}

/** Parses the JSON of a chunk header whose frame or batch was verified. */
export function parseHeader(json: Uint8Array): ChunkHeader {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8");
  return JSON.parse(text) as ChunkHeader;
}
