/**
 * What makes a series: the bytes of its name and of its labels in order of their keys, 0xff (which no UTF-8 holds) behind each text.
 * So two lists of labels never give the same bytes, and series of one name lie together in the order of these bytes.
 */
import { type ByteSource, byteSource } from "../vector/text-table.ts";

const separator = 0xff;

/** Texts of labels before they are in order: places in a source. */
export interface LabelRanges {
  count: number;
  keyFrom: Uint32Array;
  keyTo: Uint32Array;
  from: Uint32Array;
  to: Uint32Array;
}

/** Bytes that a writer of identities fills. */
export class IdentityWriter {
  source: ByteSource = byteSource(Buffer.allocUnsafeSlow(1024));
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
    this.source = byteSource(larger);
  }
}

/** Places of the labels in order of their keys, without empty values; of two labels with one key the later one. */
export function orderLabels({ bytes }: ByteSource, labels: LabelRanges): number[] {
  const { keyFrom, keyTo, from, to } = labels;
  const order: number[] = [];
  for (let label = 0; label < labels.count; label++) {
    let place = order.length;
    let found = 1;
    // Insertion: labels are few, and mostly in order already.
    while (place > 0) {
      const other = order[place - 1]!;
      found = bytes.compare(bytes, keyFrom[other]!, keyTo[other]!, keyFrom[label]!, keyTo[label]!);
      if (found >= 0) break;
      place--;
    }
    if (found === 0) order[place - 1] = label;
    else order.splice(place, 0, label);
  }
  return order.filter((label) => from[label]! < to[label]!);
}

/** Calls back with the range of each text of an identity: the name, then key, value, key, value … */
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
