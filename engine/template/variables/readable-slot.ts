/** Slots as queries read them: their texts, and which of these each row has. */
import { makeTruncatedFailure } from "../../kernels/decoding.ts";
import type { Codes } from "../../vector/codes.ts";
import type { TextVector } from "../../vector/text.ts";

/** The texts of an attribute's column: row r has text codes[r], the only text, or text r, where there are no codes. */
export interface RepeatedTexts {
  text: TextVector;
  codes: Codes | undefined;
}

/** Opens the column of an attribute that slots repeat. Throws Failure "damage" where there is none. */
export type ReadRepeated = (key: string) => RepeatedTexts;

/** A slot's texts are `count` of `text`, from number `first` on. */
export interface ReadableSlot {
  text: TextVector;
  first: number;
  count: number;
  /** Which of the texts each row has, from `codesFrom` on; undefined where all have the only one, or each has its own. */
  codes: Codes | undefined;
  codesFrom: number;
  /** Rows are numbered as in the chunk. Otherwise they are numbered by rank, among those of the slot's template. */
  isByRow: boolean;
}

/**
 * The index in `slot.text` of a row's value. `rank` is the index of the row among the rows of its template. Throws Failure
 * "damage" where the row lacks the attribute that the slot repeats.
 */
export function findText(slot: ReadableSlot, rank: number, row: number): number {
  const number = slot.isByRow ? row : rank;
  if (slot.codes !== undefined) {
    const code = slot.codes[slot.codesFrom + number]!;
    if (code >= slot.count) throw makeTruncatedFailure();
    return slot.first + code;
  }
  return slot.count === 1 ? slot.first : slot.first + number;
}

/** Whether each row has a text of its own, so that no two rows share one. */
export function hasOwnTexts({ codes, count }: ReadableSlot): boolean {
  return codes === undefined && count > 1;
}
