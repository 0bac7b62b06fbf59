/**
 * The identity of a series: the bytes of its name, then of each label key and value in the order of the keys' bytes,
 * each text followed by 0xff (which never occurs in UTF-8). So different series never have the same bytes, and series
 * of one name are neighbours when sorted by them.
 */
import { type ByteSource, toByteSource } from "../vector/text-table.ts";

const separator = 0xff;

/** Unsorted labels as byte ranges of a source; the first `count` elements of the arrays. */
export interface LabelRanges {
  count: number;
  keyFrom: Uint32Array;
  keyTo: Uint32Array;
  from: Uint32Array;
  to: Uint32Array;
}

/** A growing buffer of texts, each followed by the separator. */
export class IdentityWriter {
  source: ByteSource = toByteSource(Buffer.allocUnsafeSlow(1024));
  length = 0;

  clear(): void {
    this.length = 0;
  }

  /** Appends source[from, to) and the separator. */
  push(source: Uint8Array, from: number, to: number): void {
    const end = this.length + to - from + 1;
    if (end > this.source.bytes.length) this.#grow(end);
    const target = this.source.bytes;
    let at = this.length;
    // A loop is faster than a call of `copy` on texts as short as labels are.
    for (let i = from; i < to; i++) target[at++] = source[i]!;
    target[at] = separator;
    this.length = end;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(length * 2);
    this.source.bytes.copy(larger, 0, 0, this.length);
    this.source = toByteSource(larger);
  }
}

/**
 * Indexes of the labels in the order of their keys' bytes. Labels with empty values are left out; of two with one key
 * the later counts.
 */
export function orderLabels({ bytes }: ByteSource, labels: LabelRanges): number[] {
  const { keyFrom, keyTo, from, to } = labels;
  const order: number[] = [];
  for (let label = 0; label < labels.count; label++) {
    let position = order.length;
    let comparison = 1;
    // Insertion sort: labels are few, and mostly in order already.
    while (position > 0) {
      const other = order[position - 1]!;
      comparison = bytes.compare(bytes, keyFrom[other]!, keyTo[other]!, keyFrom[label]!, keyTo[label]!);
      if (comparison >= 0) break;
      position--;
    }
    if (comparison === 0) order[position - 1] = label;
    else order.splice(position, 0, label);
  }
  return order.filter((label) => from[label]! < to[label]!);
}

/** Calls back with index and range of each text of the identity at [from, to): name, key, value, key, value … */
export function forEachText(
  bytes: Uint8Array,
  from: number,
  to: number,
  onText: (index: number, from: number, to: number) => void,
): void {
  let start = from;
  let index = 0;
  for (let at = from; at < to; at++) {
    if (bytes[at] !== separator) continue;
    onText(index++, start, at);
    start = at + 1;
  }
}
