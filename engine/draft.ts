/** Rows on their way to a chunk: columns that grow, then are put in order of time. */
import type { AttributeVector } from "./encoding.ts";
import type { TextVector } from "./text.ts";
import { TextDraft } from "./text.ts";

/** One attribute over the rows so far: rows that have it, ascending, and the code of each one's value. */
export class AttributeDraft {
  readonly values: string[] = [];
  readonly rows: number[] = [];
  readonly codes: number[] = [];
  readonly #codeOf = new Map<string, number>();

  push(row: number, value: string): void {
    this.rows.push(row);
    this.codes.push(this.codeOf(value));
  }

  codeOf(value: string): number {
    let code = this.#codeOf.get(value);
    if (code === undefined) {
      code = this.values.length;
      this.values.push(value);
      this.#codeOf.set(value, code);
    }
    return code;
  }
}

export interface ChunkDraft {
  rows: number;
  /** Nanoseconds since the start of the partition's day. */
  timeNs: number[];
  arrival: number[];
  level: AttributeDraft;
  message: TextDraft;
  attributes: Map<string, AttributeDraft>;
}

export function emptyDraft(): ChunkDraft {
  return {
    rows: 0,
    timeNs: [],
    arrival: [],
    level: new AttributeDraft(),
    message: new TextDraft(),
    attributes: new Map(),
  };
}

export function attributeOf(draft: ChunkDraft, key: string): AttributeDraft {
  let attribute = draft.attributes.get(key);
  if (attribute === undefined) {
    attribute = new AttributeDraft();
    draft.attributes.set(key, attribute);
  }
  return attribute;
}

/** Places of the rows in order of time, ties by arrival; undefined where they stand in order already. */
export function timeOrder(draft: ChunkDraft): Uint32Array | undefined {
  const { timeNs, arrival } = draft;
  let sorted = true;
  for (let row = 1; row < draft.rows && sorted; row++) {
    const difference = timeNs[row]! - timeNs[row - 1]! || arrival[row]! - arrival[row - 1]!;
    sorted = difference >= 0;
  }
  if (sorted) return undefined;
  const order = Uint32Array.from({ length: draft.rows }, (_, row) => row);
  return order.sort((a, b) => timeNs[a]! - timeNs[b]! || arrival[a]! - arrival[b]!);
}

/** The attribute over all rows, put in order; codes of rows that lack it are -1. */
export function denseAttribute(
  attribute: AttributeDraft,
  rows: number,
  placeOf: Uint32Array | undefined,
): AttributeVector {
  const codes = new Int32Array(rows).fill(-1);
  for (let i = 0; i < attribute.rows.length; i++) {
    const row = attribute.rows[i]!;
    codes[placeOf === undefined ? row : placeOf[row]!] = attribute.codes[i]!;
  }
  return { values: attribute.values, codes };
}

/** order[place] = row turned into place[row]. */
export function invertOrder(order: Uint32Array): Uint32Array {
  const places = new Uint32Array(order.length);
  for (let place = 0; place < order.length; place++) places[order[place]!] = place;
  return places;
}

export function reorderNumbers(values: readonly number[], order: Uint32Array | undefined): Float64Array {
  if (order === undefined) return Float64Array.from(values);
  const result = new Float64Array(order.length);
  for (let place = 0; place < order.length; place++) result[place] = values[order[place]!]!;
  return result;
}

export function reorderText(text: TextVector, order: Uint32Array | undefined): TextVector {
  if (order === undefined) return text;
  const offsets = new Uint32Array(text.offsets.length);
  const bytes = new Uint8Array(text.bytes.byteLength);
  let at = 0;
  for (let place = 0; place < order.length; place++) {
    const row = order[place]!;
    const slice = text.bytes.subarray(text.offsets[row]!, text.offsets[row + 1]!);
    bytes.set(slice, at);
    at += slice.byteLength;
    offsets[place + 1] = at;
  }
  return { offsets, bytes };
}
