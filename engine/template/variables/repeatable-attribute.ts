/** Attributes whose values the variables of messages repeat. */
import type { TextVector } from "../../vector/text.ts";
import type { SlotValues } from "./slot-encoding.ts";

/**
 * An attribute of the same rows. A slot (the place of a variable in a template) whose values all equal the attribute's
 * stores only a reference to the attribute.
 */
export interface RepeatableAttribute {
  key: string;
  values: TextVector;
  /** For each row the index of its value, or -1 where the row lacks the attribute. */
  codes: Int32Array;
}

export type RepeatableAttributes = readonly RepeatableAttribute[];

/** A slot with fewer values is not compared with attributes: that would cost more than it saves. */
const repeatedMin = 32;

/** The first attribute whose values all rows of a slot repeat. */
export function findRepeatedAttribute(
  values: SlotValues,
  rows: Uint32Array,
  attributes: RepeatableAttributes,
): RepeatableAttribute | undefined {
  if (values.count < repeatedMin) return undefined;
  return attributes.find((attribute) => {
    for (let i = 0; i < values.count; i++) if (!isValueOf(values, i, attribute, rows[i]!)) return false;
    return true;
  });
}

/** Returns whether the i-th value is that of an attribute in a row. */
function isValueOf(
  { bytes, starts, ends }: SlotValues,
  i: number,
  { values, codes }: RepeatableAttribute,
  row: number,
): boolean {
  const code = codes[row]!;
  if (code < 0) return false;
  const from = values.offsets[code]!;
  const length = values.offsets[code + 1]! - from;
  const start = starts[i]!;
  if (length !== ends[i]! - start) return false;
  for (let at = 0; at < length; at++) if (values.bytes[from + at] !== bytes[start + at]) return false;
  return true;
}
