/**
 * What a scan keeps, as plain data: it is structured-cloned to the scan workers as it stands.
 * A row passes a list of steps in order; an `extract` step adds attributes that later steps see.
 */

/**
 * Where a value stands in a row. The text of a level is the level in lower case; that of a time is its whole milliseconds;
 * that of a template is the id of the message's template, 16 hexadecimal digits (FORMAT.md).
 */
export type Field =
  | { kind: "time" }
  | { kind: "level" }
  | { kind: "message" }
  | { kind: "template" }
  | { kind: "attribute"; key: string };

export type CompareOp = ">" | ">=" | "<" | "<=";

export type Filter =
  | { kind: "always" }
  | { kind: "never" }
  | { kind: "and"; of: Filter[] }
  | { kind: "or"; of: Filter[] }
  | { kind: "not"; of: Filter }
  /** The field's text is exactly `value`; a field that a row lacks has the text "". */
  | { kind: "equals"; field: Field; value: string }
  /** The row has the field at all, be it empty. */
  | { kind: "present"; field: Field }
  /** Field and `number` are both numbers (decimal notation) and compare so. */
  | { kind: "compares"; field: Field; op: CompareOp; number: number }
  | { kind: "contains"; field: Field; text: string; ignoreCase: boolean }
  /** RE2 syntax; `whole` anchors at both ends. A field that a row lacks has the text "". */
  | { kind: "matches"; field: Field; pattern: string; whole: boolean };

/** One part of a `pattern` extractor: literal text, or a capture up to the next literal (`name` null: thrown away). */
export type PatternPart = { kind: "literal"; text: string } | { kind: "capture"; name: string | null };

/** How attributes are read out of the message. A name that stands already gets `_extracted` behind it. */
export type Extractor =
  | { kind: "json" }
  | { kind: "logfmt" }
  | { kind: "pattern"; parts: PatternPart[] }
  /** RE2 syntax; every named group becomes an attribute. */
  | { kind: "regexp"; pattern: string };

export type Step = { kind: "filter"; filter: Filter } | { kind: "extract"; extractor: Extractor };
