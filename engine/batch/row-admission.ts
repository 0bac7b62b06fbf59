/** Applies the terms of entry to the attributes of rows: what they are stamped with, and what leaves them out. */

import type { ByteSource } from "../vector/text-table.ts";
import type { EntryTerms } from "./admission-policy.ts";
import { ExclusionFilter } from "./exclusion.ts";
import type { RowRanges } from "./row-ranges.ts";

interface Stamp {
  text: Buffer;
  /** The key under which stands what the row brought. */
  sentKey: number;
}

export class RowAdmission {
  /** By the number of the key that is stamped. */
  readonly #stamps = new Map<number, Stamp>();
  readonly #excluder: ExclusionFilter | undefined;
  /** Fields of the excluder by the number of the attribute's key. */
  readonly #placeOfKey: (number | undefined)[] = [];
  #levelPlace = -1;
  #messagePlace = -1;

  constructor({ stamps = {}, exclusions = [] }: EntryTerms, numberOf: (key: string) => number) {
    for (const [key, text] of Object.entries(stamps)) {
      const sentKey = numberOf(`attributes.${key}`);
      this.#stamps.set(numberOf(key), { text: Buffer.from(text, "utf8"), sentKey });
    }
    if (exclusions.length === 0) return;
    this.#excluder = new ExclusionFilter(exclusions);
    for (const [place, field] of this.#excluder.fields.entries()) {
      if (field.kind === "attribute") this.#placeOfKey[numberOf(field.key)] = place;
      else if (field.kind === "level") this.#levelPlace = place;
      else if (field.kind === "message") this.#messagePlace = place;
    }
  }

  /** Makes way for the stamps: what the row brought under their keys gets another name, unless it says the same. */
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

  /** The place of the first exclusion that holds for the row, or -1. */
  findExclusion(row: RowRanges, source: ByteSource): number {
    const excluder = this.#excluder;
    if (excluder === undefined) return -1;
    excluder.beginRow();
    if (this.#levelPlace >= 0) excluder.setText(this.#levelPlace, row.levelFrom, row.levelTo);
    if (this.#messagePlace >= 0) excluder.setText(this.#messagePlace, row.messageFrom, row.messageTo);
    for (let i = 0; i < row.attributes; i++) {
      const place = this.#placeOfKey[row.keys[i]!];
      if (place !== undefined) excluder.setText(place, row.from[i]!, row.to[i]!);
    }
    return excluder.findExclusion(source);
  }
}

function hasKey({ attributes, keys }: RowRanges, key: number): boolean {
  for (let i = 0; i < attributes; i++) if (keys[i] === key) return true;
  return false;
}

/** The last attribute takes its place, of the row's own or of the shared ones. */
function removeAttribute(row: RowRanges, place: number): void {
  let hole = place;
  if (row.sharedBy !== 0 && place < row.sharedFrom) {
    row.sharedFrom--;
    moveAttribute(row, row.sharedFrom, hole);
    hole = row.sharedFrom;
  }
  row.attributes--;
  moveAttribute(row, row.attributes, hole);
}

function moveAttribute({ keys, from, to }: RowRanges, place: number, hole: number): void {
  keys[hole] = keys[place]!;
  from[hole] = from[place]!;
  to[hole] = to[place]!;
}
