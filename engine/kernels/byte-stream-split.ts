/**
 * Numbers of several bytes as planes: first the lowest byte of each, then the next ones. High bytes, which change little, lie
 * together so, and pack better.
 */
import { Failure } from "../failure.ts";
import type { Heap } from "./heap.ts";

/** Non-negative whole numbers below 2^53, in as few planes as the largest needs (0 where all are 0). */
export function writeSplitBytes(values: Float64Array): { width: number; bytes: Uint8Array } {
  let largest = 0;
  for (const value of values) if (value > largest) largest = value;
  let width = 0;
  for (let bound = 1; bound <= largest; bound *= 256) width++;
  const count = values.length;
  const bytes = new Uint8Array(count * width);
  for (let row = 0; row < count; row++) {
    let value = values[row]!;
    for (let at = row; at < bytes.length; at += count) {
      const rest = Math.floor(value / 256);
      bytes[at] = value - rest * 256;
      value = rest;
    }
  }
  return { width, bytes };
}

/** Adds to each value what its planes say. Throws Failure "damage" where they are not as many as the values. */
export function readSplitBytes(bytes: Uint8Array, width: number, values: Float64Array): void {
  const count = values.length;
  if (bytes.byteLength !== count * width) throw new Failure("damage", "column: numbers cut short");
  let factor = 1;
  for (let plane = 0; plane < width; plane++, factor *= 256) {
    const from = plane * count;
    for (let row = 0; row < count; row++) values[row] = values[row]! + bytes[from + row]! * factor;
  }
}

/** Planes of numbers of `width` bytes that lie one after the other. */
export function splitByteStreams(bytes: Uint8Array, width: number): Uint8Array {
  if (width === 1) return bytes;
  const planes = new Uint8Array(bytes.byteLength);
  const count = bytes.byteLength / width;
  for (let plane = 0, target = 0; plane < width; plane++)
    for (let row = 0, at = plane; row < count; row++, at += width) planes[target++] = bytes[at]!;
  return planes;
}

/** The numbers again, on a heap. */
export function joinByteStreams(planes: Uint8Array, width: number, heap: Heap): Uint8Array {
  if (width === 1) return heap.place(planes);
  const bytes = heap.uint8(planes.byteLength);
  const count = planes.byteLength / width;
  for (let plane = 0, at = 0; plane < width; plane++)
    for (let row = 0, target = plane; row < count; row++, target += width) bytes[target] = planes[at++]!;
  return bytes;
}
