/** Applies an admission policy to the attributes of rows: makes room for stamped attributes, and finds exclusions. */

import type { ByteSource } from "../vector/text-table.ts";
import type { AdmissionPolicy } from "./admission-policy.ts";
import { ExclusionFilter } from "./exclusion.ts";
import type { RowRanges } from "./row-ranges.ts";

/** The value that every row gets under a key. */
interface Stamp {
  text: Buffer;
  /** Number of the key under which a different value of the row is kept. */
  sentKey: number;
}

/**
 * An admission policy prepared for one batch: the policy's attribute keys are replaced by the numbers that the batch
 * gives to keys.
 */
export class RowAdmission {
  /** The stamps, by the number of their key. */
  readonly #stamps = new Map<number, Stamp>();
  readonly #exclusions: ExclusionFilter | undefined;
  /** For each attribute key, by its number, the index of the field in the exclusion filter. */
  readonly #fieldOfKey: (number | undefined)[] = [];
  #levelField = -1;
  #messageField = -1;

  constructor({ stamps = {}, exclusions = [] }: AdmissionPolicy, numberKey: (key: string) => number) {
    for (const [key, text] of Object.entries(stamps)) {
      const sentKey = numberKey(`attributes.${key}`);
      this.#stamps.set(numberKey(key), { text: Buffer.from(text, "utf8"), sentKey });
    }
    if (exclusions.length === 0) return;
    this.#exclusions = new ExclusionFilter(exclusions);
    for (const [index, field] of this.#exclusions.fields.entries()) {
      if (field.kind === "attribute") this.#fieldOfKey[numberKey(field.key)] = index;
      else if (field.kind === "level") this.#levelField = index;
      else if (field.kind === "message") this.#messageField = index;
    }
  }

  /**
   * Makes room for stamped attributes. An attribute that the row already has under a stamped key gets the stamp's
   * `sentKey` instead. It is removed where its value equals the stamp, or the row has an attribute under `sentKey`
   * already.
   */
  renameStamped(row: RowRanges, bytes: Buffer): void {
    if (this.#stamps.size === 0) return;
    for (let i = row.attributes - 1; i >= 0; i--) {
      const stamp = this.#stamps.get(row.keys[i]!);
      if (stamp === undefined) continue;
      const isSame = stamp.text.compare(bytes, row.from[i], row.to[i]) === 0;
      if (isSame || hasKey(row, stamp.sentKey)) removeAttribute(row, i);
      else row.keys[i] = stamp.sentKey;
    }
  }

  /** Returns the index of the first exclusion that matches the row, or -1. */
  findExclusion(row: RowRanges, source: ByteSource): number {
    const exclusions = this.#exclusions;
    if (exclusions === undefined) return -1;
    exclusions.beginRow();
    if (this.#levelField >= 0) exclusions.setText(this.#levelField, row.levelFrom, row.levelTo);
    if (this.#messageField >= 0) exclusions.setText(this.#messageField, row.messageFrom, row.messageTo);
    for (let i = 0; i < row.attributes; i++) {
      const field = this.#fieldOfKey[row.keys[i]!];
      if (field !== undefined) exclusions.setText(field, row.from[i]!, row.to[i]!);
    }
    return exclusions.findExclusion(source);
  }
}

function hasKey({ attributes, keys }: RowRanges, key: number): boolean {
  for (let i = 0; i < attributes; i++) if (keys[i] === key) return true;
  return false;
}

/**
 * Removes an attribute. The row's own attributes come first, then those that it shares with other rows. The last own
 * attribute fills the gap of an own one; the last shared attribute fills the gap that is then left before or among the
 * shared ones.
 */
function removeAttribute(row: RowRanges, index: number): void {
  let gap = index;
  if (row.sharedSet !== 0 && index < row.sharedFrom) {
    row.sharedFrom--;
    moveAttribute(row, row.sharedFrom, gap);
    gap = row.sharedFrom;
  }
  row.attributes--;
  moveAttribute(row, row.attributes, gap);
}

function moveAttribute({ keys, from, to }: RowRanges, index: number, target: number): void {
  keys[target] = keys[index]!;
  from[target] = from[index]!;
  to[target] = to[index]!;
}
