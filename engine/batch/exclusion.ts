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
  verdicts: Verdict[];
  /** Of the row at hand, which has none where the serial number is another's. */
  serial: number;
  from: number;
  to: number;
  code: number;
  text: string | undefined;
}

const Verdict = { unknown: 0, no: 1, yes: 2 } as const;
type Verdict = (typeof Verdict)[keyof typeof Verdict];

interface Asked {
  texts: FieldTexts;
  test: number;
}

/** Takes the places of a row's texts field by field, then decides. */
export class ExclusionFilter {
  readonly #fields: FieldTexts[] = [];
  readonly #exclusions: readonly (readonly Asked[])[];
  #serial = 0;

  constructor(exclusions: readonly Exclusion[]) {
    this.#exclusions = exclusions.map(({ tests }) =>
      tests.map((test) => this.#askedOf(test)).sort((a, b) => cost(a) - cost(b)),
    );
  }

  /** Which are looked at; `set` names them by their places here. */
  get fields(): readonly TextField[] {
    return this.#fields.map(({ field }) => field);
  }

  begin(): void {
    this.#serial++;
  }

  /** The row has this text; of two in one field the later one counts. */
  set(place: number, from: number, to: number): void {
    const texts = this.#fields[place]!;
    texts.serial = this.#serial;
    texts.from = from;
    texts.to = to;
    texts.code = -1;
    texts.text = undefined;
  }

  /** The place of the first exclusion that holds for the row, whose texts lie in `source`; -1 for none. */
  decide(source: ByteSource): number {
    for (let i = 0; i < this.#exclusions.length; i++) {
      if (this.#holds(this.#exclusions[i]!, source)) return i;
    }
    return -1;
  }

  #holds(exclusion: readonly Asked[], source: ByteSource): boolean {
    for (const { texts, test } of exclusion) {
      if (texts.serial !== this.#serial || !this.#matches(texts, test, source)) return false;
    }
    return true;
  }

  #matches(texts: FieldTexts, test: number, source: ByteSource): boolean {
    const { values, verdicts, tests, from, to } = texts;
    if (values === undefined) {
      texts.text ??= source.bytes.toString("utf8", from, to);
      return tests[test]!(texts.text);
    }
    if (texts.code < 0) texts.code = codeOf(texts, values, source);
    const at = texts.code * tests.length + test;
    if (verdicts[at] === Verdict.unknown) {
      verdicts[at] = tests[test]!(source.bytes.toString("utf8", from, to)) ? Verdict.yes : Verdict.no;
    }
    return verdicts[at] === Verdict.yes;
  }

  #askedOf({ field, matches }: TextTest): Asked {
    let texts = this.#fields.find((each) => isSame(each.field, field));
    if (texts === undefined) {
      const values = field.kind === "message" ? undefined : new TextTable();
      texts = {
        ...{ field, tests: [], values, verdicts: [] },
        ...{ serial: 0, from: 0, to: 0, code: -1, text: undefined },
      };
      this.#fields.push(texts);
    }
    return { texts, test: texts.tests.push(matches) - 1 };
  }
}

function codeOf({ verdicts, tests, from, to }: FieldTexts, values: TextTable, source: ByteSource): number {
  const { size } = values;
  const code = values.codeOf(source, from, to);
  if (values.size > size) for (let i = 0; i < tests.length; i++) verdicts.push(Verdict.unknown);
  return code;
}

/** What is asked of each row anew comes last. */
function cost({ texts }: Asked): number {
  return texts.values === undefined ? 1 : 0;
}

function isSame(a: TextField, b: TextField): boolean {
  return a.kind === "attribute" ? b.kind === "attribute" && a.key === b.key : a.kind === b.kind;
}
