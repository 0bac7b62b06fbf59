/** Rows that are not to be stored, by their texts: each distinct text of a field is asked once in a batch. */

import type { ByteSource } from "../vector/text-table.ts";
import { TextTable } from "../vector/text-table.ts";

/** Where a row has the text that is asked: a metric has a name, other rows a level and a message. */
export type TextField = { kind: "level" | "message" | "name" } | { kind: "attribute"; key: string };

export interface TextTest {
  field: TextField;
  /** Of a text that the row has; a row without that attribute does not match. */
  matches(text: string): boolean;
}

/** Holds where every test does, so one without tests holds for each row. */
export interface Exclusion {
  tests: readonly TextTest[];
}

/** The texts of one field. */
interface FieldTexts {
  field: TextField;
  tests: TextTest["matches"][];
  /** Undefined where texts hardly ever repeat. */
  values: TextTable | undefined;
  /** At `code * tests.length + test`; 0 where it was not asked yet. */
  cachedMatches: CachedMatch[];
  /** Of the row at hand, which has none where the serial number is another's. */
  rowSerial: number;
  from: number;
  to: number;
  code: number;
  text: string | undefined;
}

const CachedMatch = { unknown: 0, no: 1, yes: 2 } as const;
type CachedMatch = (typeof CachedMatch)[keyof typeof CachedMatch];

interface FieldTest {
  texts: FieldTexts;
  test: number;
}

/** Takes the places of a row's texts field by field, then decides. */
export class ExclusionFilter {
  readonly #fields: FieldTexts[] = [];
  readonly #exclusions: readonly (readonly FieldTest[])[];
  #serial = 0;

  constructor(exclusions: readonly Exclusion[]) {
    this.#exclusions = exclusions.map(({ tests }) =>
      tests.map((test) => this.#askedOf(test)).sort((a, b) => costOf(a) - costOf(b)),
    );
  }

  /** Which are looked at; `set` names them by their places here. */
  get fields(): readonly TextField[] {
    return this.#fields.map(({ field }) => field);
  }

  beginRow(): void {
    this.#serial++;
  }

  /** The row has this text; of two in one field the later one counts. */
  setText(place: number, from: number, to: number): void {
    const texts = this.#fields[place]!;
    texts.rowSerial = this.#serial;
    texts.from = from;
    texts.to = to;
    texts.code = -1;
    texts.text = undefined;
  }

  /** The place of the first exclusion that holds for the row, whose texts lie in `source`; -1 for none. */
  findExclusion(source: ByteSource): number {
    for (let i = 0; i < this.#exclusions.length; i++) {
      if (this.#holds(this.#exclusions[i]!, source)) return i;
    }
    return -1;
  }

  #holds(exclusion: readonly FieldTest[], source: ByteSource): boolean {
    for (const { texts, test } of exclusion) {
      if (texts.rowSerial !== this.#serial || !this.#matches(texts, test, source)) return false;
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

  #askedOf({ field, matches }: TextTest): FieldTest {
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

function addText(
  { cachedMatches, tests, from, to }: FieldTexts,
  values: TextTable,
  source: ByteSource,
): number {
  const { size } = values;
  const code = values.codeOf(source, from, to);
  if (values.size > size) for (let i = 0; i < tests.length; i++) cachedMatches.push(CachedMatch.unknown);
  return code;
}

/** What is asked of each row anew comes last. */
function costOf({ texts }: FieldTest): number {
  return texts.values === undefined ? 1 : 0;
}

function isSameField(a: TextField, b: TextField): boolean {
  return a.kind === "attribute" ? b.kind === "attribute" && a.key === b.key : a.kind === b.kind;
}
