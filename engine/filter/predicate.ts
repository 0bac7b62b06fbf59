/** Compiles filters to tests of one value or one row. */
import { severityRangeOf } from "../model/severity.ts";
import type { Field, Filter } from "../plan/filter.ts";
import { compilePattern } from "../regexp/pattern.ts";
import { foldCase } from "../vector/case-folding.ts";
import { parseDecimal } from "../vector/number.ts";
import { parseQuantity, type Quantity } from "../vector/quantity.ts";

/** A filter over one field. */
export type LeafFilter = Extract<Filter, { field: unknown }>;
/** A leaf filter by a regular expression. */
export type PatternFilter = Extract<LeafFilter, { kind: "matches" }>;
/** Tests the text of a field; undefined where the row lacks the field. */
export type ValueTest = (value: string | undefined) => boolean;

/** Compiles a leaf to a test of its field's text. Throws Failure "input" for a pattern that is not RE2. */
export function compileValueTest(filter: LeafFilter): ValueTest {
  const { field } = filter;
  const test = compileTextTest(filter);
  if (field.kind !== "level") return test;
  return (value) => test(value === undefined ? undefined : toFieldText(field, value));
}

/**
 * Compiles a filter to a test of one row, whose fields `textOf` reads. Throws Failure "input" for a pattern that is not
 * RE2.
 */
export function compileRowTest<Row>(
  filter: Filter,
  textOf: (row: Row, field: Field) => string | undefined,
): (row: Row) => boolean {
  switch (filter.kind) {
    case "always":
      return () => true;
    case "never":
      return () => false;
    case "and": {
      const parts = filter.of.map((of) => compileRowTest(of, textOf));
      return (row) => parts.every((part) => part(row));
    }
    case "or": {
      const parts = filter.of.map((of) => compileRowTest(of, textOf));
      return (row) => parts.some((part) => part(row));
    }
    case "not": {
      const part = compileRowTest(filter.of, textOf);
      return (row) => !part(row);
    }
    case "arrived":
      throw new Error("arrival numbers are filtered before rows are taken one by one");
    default: {
      const test = compileValueTest(filter);
      const { field } = filter;
      return (row) => test(textOf(row, field));
    }
  }
}

/** The text that filters and groups compare, of a text as it is stored. */
export function toFieldText(field: Field, text: string): string {
  if (field.kind !== "level") return text;
  return (field.asRange === true ? severityRangeOf(text) : undefined) ?? text.toLowerCase();
}

function compileTextTest(filter: LeafFilter): ValueTest {
  switch (filter.kind) {
    case "present":
      return (value) => value !== undefined;
    case "equals":
      return (value = "") => value === filter.value;
    case "contains": {
      if (!filter.ignoreCase) return (value = "") => value.includes(filter.text);
      const wanted = foldCase(filter.text);
      return (value = "") => foldCase(value).includes(wanted);
    }
    case "matches": {
      const pattern = compilePattern(filter.pattern, { whole: filter.whole });
      return (value = "") => pattern.test(value);
    }
    case "compares": {
      const { op, number: bound, unit } = filter;
      const parse = unit === undefined ? parseDecimal : makeQuantityReader(unit);
      return (value) => {
        const number = value === undefined ? undefined : parse(value);
        return number !== undefined && compareNumbers(number, op, bound);
      };
    }
  }
}

/** Returns a function that reads quantities of a unit, and nothing else. */
function makeQuantityReader(unit: Quantity["unit"]): (text: string) => number | undefined {
  return (text) => {
    const quantity = parseQuantity(text);
    return quantity?.unit === unit ? quantity.number : undefined;
  };
}

export function compareNumbers(left: number, op: ">" | ">=" | "<" | "<=", right: number): boolean {
  switch (op) {
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
  }
}
