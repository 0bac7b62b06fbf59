/**
 * Exclusions: tests on texts of a row that keep it from being stored. Each distinct text of a field is tested once a
 * batch.
 */

import type { ByteSource } from "../vector/text-table.ts";
import { TextTable } from "../vector/text-table.ts";

/** The field whose text is tested. Only metrics have a name; only other rows have a level and a message. */
export type TextField = { kind: "level" | "message" | "name" } | { kind: "attribute"; key: string };

/** A test of one field. */
export interface TextTest {
  field: TextField;
  /** Called with the row's text. A row without the attribute does not match. Must always answer the same for a text. */
  matches(text: string): boolean;
}

/** Matches a row where every test does; without tests it matches every row. */
export interface Exclusion {
  tests: readonly TextTest[];
}

/** One field: its tests, their cached results, and the text of the current row. */
interface FieldTexts {
  field: TextField;
  tests: TextTest["matches"][];
  /** Distinct texts so far. Undefined for messages, whose texts hardly ever repeat. */
  values: TextTable | undefined;
  /** Result of each test on each distinct text, at `code * tests.length + test`. */
  cachedMatches: CachedMatch[];
  /**
   * Number of the row that the members below belong to. The current row has no text here where this is another number.
   */
  rowSerial: number;
  from: number;
  to: number;
  /** Code of the text in `values`; -1 until it is needed. */
  code: number;
  /** The decoded text, where there are no `values`; undefined until it is needed. */
  text: string | undefined;
}

const CachedMatch = { unknown: 0, no: 1, yes: 2 } as const;
type CachedMatch = (typeof CachedMatch)[keyof typeof CachedMatch];

/** One test of an exclusion: index `test` of a field's tests. */
interface FieldTest {
  texts: FieldTexts;
  test: number;
}

/** For each row: `beginRow`, then `setText` for the fields that it has, then `findExclusion`. */
export class ExclusionFilter {
  readonly #fields: FieldTexts[] = [];
  readonly #exclusions: readonly (readonly FieldTest[])[];
  #rowSerial = 0;

  constructor(exclusions: readonly Exclusion[]) {
    this.#exclusions = exclusions.map(({ tests }) =>
      tests.map((test) => this.#addTest(test)).sort((a, b) => costOf(a) - costOf(b)),
    );
  }

  /** The fields that are tested; `setText` names a field by its index here. */
  get fields(): readonly TextField[] {
    return this.#fields.map(({ field }) => field);
  }

  beginRow(): void {
    this.#rowSerial++;
  }

  /** The row's text of a field is at [from, to) of the source. Of two texts of one field the later one counts. */
  setText(field: number, from: number, to: number): void {
    const texts = this.#fields[field]!;
    texts.rowSerial = this.#rowSerial;
    texts.from = from;
    texts.to = to;
    texts.code = -1;
    texts.text = undefined;
  }

  /** Index of the first exclusion that matches the row, whose texts are in `source`; -1 for none. */
  findExclusion(source: ByteSource): number {
    for (let i = 0; i < this.#exclusions.length; i++) {
      if (this.#matchesAll(this.#exclusions[i]!, source)) return i;
    }
    return -1;
  }

  #matchesAll(exclusion: readonly FieldTest[], source: ByteSource): boolean {
    for (const { texts, test } of exclusion) {
      if (texts.rowSerial !== this.#rowSerial || !this.#matches(texts, test, source)) return false;
    }
    return true;
  }

  #matches(texts: FieldTexts, test: number, source: ByteSource): boolean {
    const { values, cachedMatches, tests, from, to } = texts;
    if (values === undefined) {
      texts.text ??= source.bytes.toString("utf8", from, to);
      return tests[test]!(texts.text);
    }
    if (texts.code < 0) texts.code = addText(texts, values, source);
    const at = texts.code * tests.length + test;
    if (cachedMatches[at] === CachedMatch.unknown) {
      cachedMatches[at] = tests[test]!(source.bytes.toString("utf8", from, to))
        ? CachedMatch.yes
        : CachedMatch.no;
    }
    return cachedMatches[at] === CachedMatch.yes;
  }

  #addTest({ field, matches }: TextTest): FieldTest {
    let texts = this.#fields.find((each) => isSameField(each.field, field));
    if (texts === undefined) {
      const values = field.kind === "message" ? undefined : new TextTable();
      texts = {
        ...{ field, tests: [], values, cachedMatches: [] },
        ...{ rowSerial: 0, from: 0, to: 0, code: -1, text: undefined },
      };
      this.#fields.push(texts);
    }
    return { texts, test: texts.tests.push(matches) - 1 };
  }
}

/** The code of the field's current text; a new text gets unknown results. */
function addText(texts: FieldTexts, values: TextTable, source: ByteSource): number {
  const { cachedMatches, tests, from, to } = texts;
  const { size } = values;
  const code = values.intern(source, from, to);
  if (values.size > size) for (let i = 0; i < tests.length; i++) cachedMatches.push(CachedMatch.unknown);
  return code;
}

/** Tests whose results cannot be cached come last. */
function costOf({ texts }: FieldTest): number {
  return texts.values === undefined ? 1 : 0;
}

function isSameField(a: TextField, b: TextField): boolean {
  return a.kind === "attribute" ? b.kind === "attribute" && a.key === b.key : a.kind === b.kind;
}
