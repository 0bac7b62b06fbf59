import { growArray } from "../vector/text.ts";

/** Where the parts of one row lie in the bytes that a BatchDraft reads; filled anew for each row. */
export class RowRanges {
  /** Whole seconds since the epoch, and nanoseconds of the second. */
  seconds = 0;
  nanos = 0;
  levelFrom = 0;
  levelTo = 0;
  messageFrom = 0;
  messageTo = 0;
  /** Attributes of the row; the arrays are longer. */
  attributes = 0;
  /** The last ones of the attributes, from this place on, stand in every row of a set, with one value each. */
  sharedFrom = 0;
  /** Number of the set, from 1; 0 where the row is of none. */
  sharedBy = 0;
  /** Numbers of the keys, from BatchDraft.addKey. */
  keys = new Uint32Array(64);
  from = new Uint32Array(64);
  to = new Uint32Array(64);

  /** Makes this a row without level, message and attributes. */
  clear(): void {
    this.levelFrom = 0;
    this.levelTo = 0;
    this.messageFrom = 0;
    this.messageTo = 0;
    this.attributes = 0;
    this.sharedBy = 0;
  }

  addAttribute(key: number, from: number, to: number): void {
    const place = this.attributes++;
    if (place === this.keys.length) {
      this.keys = growArray(this.keys, place * 2);
      this.from = growArray(this.from, place * 2);
      this.to = growArray(this.to, place * 2);
    }
    this.keys[place] = key;
    this.from[place] = from;
    this.to[place] = to;
  }
}
