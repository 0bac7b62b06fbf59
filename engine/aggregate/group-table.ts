/** The groups of an aggregation, numbered in the order in which they are added. */
import { Failure } from "../failure.ts";
import { groupsMax, rankedGroupsMax, rankedLabelBytesMax, resultBytesMax } from "../limits.ts";
import { capAnswerBytes, type QueryControl } from "../plan/query-control.ts";
import { growArray } from "../vector/arrays.ts";
import { hashWithKey, probesMax, threadKey } from "../vector/keyed-hash.ts";
import { TextBuilder, type TextVector } from "../vector/text.ts";

/**
 * A hash table from lists of texts, one per field, to group numbers. It works on UTF-8 bytes, so texts from
 * dictionaries and from other threads' answers are never decoded. A list is staged text by text; then a lookup of the
 * staged list finds or adds its group and clears the stage.
 */
export class GroupTable {
  readonly #fields: number;
  readonly #caps: GroupCaps;
  /** Group g has the texts from g × fields on. */
  readonly #labels = new TextBuilder();
  /** Hash of each group: with a secret, once texts were found that were chosen to collide. */
  #hashes = new Int32Array(64);
  /** Group number plus 1, or 0 for an empty slot; a power of two, twice as long as the hashes. */
  #slots = new Int32Array(128);
  #isKeyed = false;
  #count = 0;
  #staged: Buffer = Buffer.allocUnsafeSlow(1024);
  #stagedBytes = 0;
  /** Where each staged text ends. */
  readonly #ends: Uint32Array;
  #stagedTexts = 0;

  constructor(fields: number, caps: GroupCaps) {
    this.#fields = fields;
    this.#ends = new Uint32Array(fields);
    this.#caps = caps;
  }

  get count(): number {
    return this.#count;
  }

  get byteLength(): number {
    return this.#labels.byteLength + this.#hashes.byteLength + this.#slots.byteLength;
  }

  /** Stages the text bytes[from, to). */
  stage(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve(to - from);
    const target = this.#staged;
    let at = this.#stagedBytes;
    // A loop is faster than `set` on texts as short as labels are.
    for (let i = from; i < to; i++) target[at++] = bytes[i]!;
    this.#endText(at);
  }

  /** Stages a text given as a string. */
  stageText(text: string): void {
    this.#reserve(text.length * 3);
    const target = this.#staged;
    const start = this.#stagedBytes;
    // Most labels are short and ASCII: this loop ends before a call of the native encoder would.
    let i = 0;
    for (; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= 0x80) break;
      target[start + i] = unit;
    }
    this.#endText(start + (i === text.length ? i : target.write(text, start, "utf8")));
  }

  /**
   * Finds or adds the group of the staged texts. Throws Failure "limit" where there are too many groups or their texts
   * are too long.
   */
  findOrAddStaged(): number {
    const hash = this.#hashStaged();
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    let probes = 0;
    for (let taken = this.#slots[slot]!; taken !== 0; taken = this.#slots[slot]!) {
      if (this.#hashes[taken - 1] === hash && this.#equalsStaged(taken - 1))
        return this.#clearStaged(taken - 1);
      if (++probes > probesMax && !this.#isKeyed) {
        this.#goOverToKeyedHash();
        return this.findOrAddStaged();
      }
      slot = (slot + 1) & mask;
    }
    this.#checkCaps();
    if (this.#count === this.#hashes.length) {
      this.#grow();
      return this.findOrAddStaged();
    }
    this.#slots[slot] = this.#count + 1;
    this.#hashes[this.#count] = hash;
    this.#pushStaged();
    return this.#clearStaged(this.#count++);
  }

  /**
   * Adds the staged texts as a group that is known to be new, without a lookup. Such a group is not in the hash table,
   * so a table takes all of its groups this way or none.
   */
  addStaged(): number {
    this.#checkCaps();
    this.#pushStaged();
    return this.#clearStaged(this.#count++);
  }

  /** The texts of all groups: group g has those from g × fields on. */
  finish(): TextVector {
    const { offsets, bytes } = this.#labels.finish();
    // Copied, because a message to another thread carries the whole underlying buffer.
    return { offsets, bytes: bytes.slice() };
  }

  #pushStaged(): void {
    for (let field = 0, from = 0; field < this.#fields; from = this.#ends[field++]!) {
      this.#labels.pushBytes(this.#staged.subarray(from, this.#ends[field]!));
    }
  }

  #endText(at: number): void {
    this.#stagedBytes = at;
    this.#ends[this.#stagedTexts++] = at;
  }

  #clearStaged(group: number): number {
    this.#stagedBytes = 0;
    this.#stagedTexts = 0;
    return group;
  }

  /** Includes where texts end: "ab", "c" is another list than "a", "bc". */
  #hashStaged(): number {
    if (this.#isKeyed) return hashTexts(viewOf(this.#staged), 0, this.#stagedBytes, this.#ends);
    let hash = 0x811c9dc5;
    const staged = this.#staged;
    for (let i = 0; i < this.#stagedBytes; i++) hash = Math.imul(hash ^ staged[i]!, 0x01000193);
    for (let i = 0; i < this.#fields; i++) hash = Math.imul(hash ^ this.#ends[i]!, 0x01000193);
    return hash ^ (hash >>> 15);
  }

  #goOverToKeyedHash(): void {
    this.#isKeyed = true;
    const view = viewOf(this.#labels.bytes);
    const ends = new Uint32Array(this.#fields);
    for (let group = 0; group < this.#count; group++) {
      const first = group * this.#fields;
      const from = this.#labels.startOf(first);
      for (let field = 0; field < this.#fields; field++)
        ends[field] = this.#labels.startOf(first + field + 1) - from;
      this.#hashes[group] = hashTexts(view, from, this.#labels.startOf(first + this.#fields), ends);
    }
    this.#placeIn(new Int32Array(this.#slots.length));
  }

  #equalsStaged(group: number): boolean {
    const first = group * this.#fields;
    const start = this.#labels.startOf(first);
    for (let field = 0; field < this.#fields; field++) {
      if (this.#labels.startOf(first + field + 1) - start !== this.#ends[field]) return false;
    }
    const { bytes } = this.#labels;
    const staged = this.#staged;
    for (let i = 0; i < this.#stagedBytes; i++) if (bytes[start + i] !== staged[i]) return false;
    return true;
  }

  #checkCaps(): void {
    checkGroups(this.#count + 1, this.#labels.byteLength + this.#stagedBytes, this.#caps);
  }

  #reserve(byteLength: number): void {
    if (this.#stagedBytes + byteLength <= this.#staged.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#stagedBytes + byteLength) * 2);
    this.#staged.copy(larger, 0, 0, this.#stagedBytes);
    this.#staged = larger;
  }

  #grow(): void {
    this.#hashes = growArray(this.#hashes, this.#count * 2);
    this.#placeIn(new Int32Array(this.#hashes.length * 2));
  }

  /** Places all groups in these slots, which are free. */
  #placeIn(slots: Int32Array<ArrayBuffer>): void {
    const mask = slots.length - 1;
    for (let group = 0; group < this.#count; group++) {
      let slot = this.#hashes[group]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = group + 1;
    }
    this.#slots = slots;
  }
}

/** A hash with a secret of texts that lie one after the other in [from, to), and of where each ends. */
function hashTexts(view: DataView, from: number, to: number, ends: Uint32Array): number {
  const ofBytes = hashWithKey(view, from, to, threadKey);
  return hashWithKey(viewOf(ends), 0, ends.byteLength, [ofBytes, threadKey[1]]) | 0;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array | Uint32Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Limits on the groups of a query. */
export interface GroupCaps {
  groupsMax: number;
  /** Bytes of the texts of all groups together. */
  bytesMax: number;
}

/** The limits of a query. With `isRanked` the caller keeps only a few groups, so more may be formed. */
export function groupCapsOf(control: QueryControl, isRanked = false): GroupCaps {
  return {
    groupsMax: isRanked ? rankedGroupsMax : groupsMax,
    bytesMax: capAnswerBytes(control, isRanked ? rankedLabelBytesMax : resultBytesMax),
  };
}

/** Throws Failure "limit" where there are too many groups or their labels are too large together. */
export function checkGroups(count: number, labelBytes: number, caps: GroupCaps): void {
  if (count > caps.groupsMax) {
    const problem = `the query gives more than ${caps.groupsMax} groups`;
    throw new Failure("limit", `${problem}; group by fewer labels or select fewer rows`);
  }
  if (labelBytes > caps.bytesMax) {
    const problem = `the labels of the groups are larger than ${caps.bytesMax} bytes together`;
    throw new Failure("limit", `${problem}; group by fewer labels`);
  }
}
