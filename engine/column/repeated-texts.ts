/** Columns of attributes as the texts that variables of messages repeat. */
import { Failure } from "../failure.ts";
import type { RepeatedTexts } from "../template/variables/readable-slot.ts";
import { TextBuilder, type TextVector, toTextVector } from "../vector/text.ts";
import { type Column, columnText } from "./column.ts";

/**
 * The texts of a column. Where its encoding has none, `place` copies those that are made of it to where columns lie. Throws
 * Failure "damage" where the attribute has no column.
 */
export function toRepeatedTexts(
  column: Column,
  place: (make: () => TextVector) => TextVector,
): RepeatedTexts {
  switch (column.kind) {
    case "text":
      // Texts in blocks lie in memory that the next column may use.
      return { text: column.textOf === undefined ? column.text : place(() => column.text), codes: undefined };
    case "dictionary":
      return { text: column.values, codes: column.codes };
    case "constant":
      return { text: place(() => toTextVector([column.value])), codes: undefined };
    case "number":
    case "hex":
      return { text: place(() => makeTexts(column)), codes: undefined };
    default:
      throw new Failure("damage", "message: an attribute that it repeats is missing");
  }
}

/** A text for each row, empty where the row lacks the field. */
function makeTexts(column: Column): TextVector {
  const texts = new TextBuilder();
  for (let row = 0; row < column.rows; row++) texts.push(columnText(column, row) ?? "");
  return texts.finish();
}
