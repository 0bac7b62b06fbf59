/** Filters and extractors of a query as plain data, which is structured-cloned to the scan threads. */

import type { Quantity } from "../vector/quantity.ts";

/**
 * A field of a row. Filters and groups compare its text: of a level the level in lower case, of a time its whole
 * milliseconds since the epoch, of a template the id of the message's template (16 hexadecimal digits, see FORMAT.md).
 * With `asRange`, which only filters and `groupBy` may set, the text of a level is the name of its severity range; a
 * level that belongs to none keeps its text.
 */
export type Field =
  | { kind: "time" }
  | { kind: "level"; asRange?: true }
  | { kind: "message" }
  | { kind: "template" }
  | { kind: "attribute"; key: string };

/** A key under which the column of a field is found in maps; levels have one key, with and without `asRange`. */
export function fieldKey(field: Field): string {
  return field.kind === "attribute" ? `attribute ${field.key}` : field.kind;
}

/** An order comparison of numbers. */
export type CompareOp = ">" | ">=" | "<" | "<=";

/** A condition on a row. */
export type Filter =
  | { kind: "always" }
  | { kind: "never" }
  | { kind: "and"; of: Filter[] }
  | { kind: "or"; of: Filter[] }
  | { kind: "not"; of: Filter }
  /** The field's text is `value`; a field that a row lacks has the text "". */
  | { kind: "equals"; field: Field; value: string }
  /** The row has the field, which may be empty. */
  | { kind: "present"; field: Field }
  /**
   * The field's text is a number in decimal notation, and `field op number` holds. With a unit the text is a quantity of
   * that unit, which is compared in it.
   */
  | { kind: "compares"; field: Field; op: CompareOp; number: number; unit?: Quantity["unit"] }
  /** The field's text contains `text`; a field that a row lacks has the text "". */
  | { kind: "contains"; field: Field; text: string; ignoreCase: boolean }
  /**
   * The field's text matches a pattern in RE2 syntax; `whole` anchors it at both ends. A missing field has the text "".
   */
  | { kind: "matches"; field: Field; pattern: string; whole: boolean }
  /** The row has one of these arrival numbers, which ascend. Stands before the first step that is no filter. */
  | { kind: "arrived"; numbers: Float64Array };

/**
 * A part of a `pattern` extractor: literal text, or a capture up to the next literal; without a name it is discarded.
 */
export type PatternPart = { kind: "literal"; text: string } | { kind: "capture"; name: string | null };

/** How attributes are extracted from the message. A name that the row was stored with gets the suffix `_extracted`. */
export type Extractor =
  | { kind: "json" }
  | { kind: "logfmt" }
  | { kind: "pattern"; parts: PatternPart[] }
  /** RE2 syntax; every named group becomes an attribute. */
  | { kind: "regexp"; pattern: string };

/** An attribute of several rows: row i has the text `values[codes[i]]`, or lacks the attribute where that is "". */
export interface AttachedAttribute {
  key: string;
  codes: Uint32Array;
  values: readonly string[];
}

/** How the text of a field is changed before it is inserted. */
export type TextChange =
  | { op: "upper" | "lower" | "trim" }
  /** Keeps the first `length` characters. */
  | { op: "trunc"; length: number }
  /** Stands for an empty or missing text. */
  | { op: "default"; text: string }
  | { op: "replace"; from: string; to: string };

/** A part of a text that is made of the fields of a row. */
export type FormatPart =
  | { kind: "literal"; text: string }
  | { kind: "field"; field: Field; changes: readonly TextChange[] };

/** A text that is made of the fields of a row, and where it goes. All parts are read before any text is written. */
export interface RowFormat {
  /** The message, or the attribute that gets the text. */
  to: { kind: "message" } | { kind: "attribute"; key: string };
  parts: readonly FormatPart[];
  /** An attribute that is taken away. */
  removes?: string;
}

/**
 * A row goes through a list of steps in order. An `extract` step adds attributes that later steps see. So does an
 * `attach` step, to the rows with the arrival numbers `arrivals`, which ascend; its attributes take the place of those
 * that a row has. So do the texts of a `format` step, which may also take the place of the message.
 */
export type Step =
  | { kind: "filter"; filter: Filter }
  | { kind: "extract"; extractor: Extractor }
  | { kind: "format"; formats: readonly RowFormat[] }
  | { kind: "attach"; arrivals: Float64Array; attributes: readonly AttachedAttribute[] };

/** What passes `steps` in a time range. */
export interface RangeSelection {
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
  /** Counts what each condition leaves of the rows, which takes a little longer. */
  isExplained?: boolean;
}
