/** A row as byte ranges. */
import { growArray } from "../vector/arrays.ts";

/**
 * Byte ranges of one row's texts, half-open, in the bytes that a batch reads. One object is filled anew for each row.
 */
export class RowRanges {
  /** Whole seconds since the epoch, and nanoseconds of the second. */
  seconds = 0;
  nanos = 0;
  levelFrom = 0;
  levelTo = 0;
  messageFrom = 0;
  messageTo = 0;
  /** Number of attributes; the arrays below are longer. */
  attributes = 0;
  /**
   * Attributes from this index on are shared: every row of the set has them with the same values, as OTLP resources
   * have.
   */
  sharedFrom = 0;
  /** Number of that set, from 1; 0 where the row shares no attributes. */
  sharedSet = 0;
  /** Numbers of the keys, from `addKey` of the batch. */
  keys = new Uint32Array(64);
  /** Ranges of the values. */
  from = new Uint32Array(64);
  to = new Uint32Array(64);

  /** Makes this a row without level, message and attributes. */
  clear(): void {
    this.levelFrom = 0;
    this.levelTo = 0;
    this.messageFrom = 0;
    this.messageTo = 0;
    this.attributes = 0;
    this.sharedSet = 0;
  }

  /** `key` is the number of the key, [from, to) the value. */
  addAttribute(key: number, from: number, to: number): void {
    const index = this.attributes++;
    if (index === this.keys.length) {
      this.keys = growArray(this.keys, index * 2);
      this.from = growArray(this.from, index * 2);
      this.to = growArray(this.to, index * 2);
    }
    this.keys[index] = key;
    this.from[index] = from;
    this.to[index] = to;
  }
}
