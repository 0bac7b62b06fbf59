/** Runs a query's steps row by row, from the first extraction on: extracted attributes differ from row to row. */

import type { Extract as ExtractAttributes } from "../extract/extraction.ts";
import { applyExtractor, compileExtractor } from "../extract/extractor.ts";
import type { Field, Filter, RowFormat, Step } from "../plan/filter.ts";
import { templateIdOf } from "../template/template-id.ts";
import { lowerBound } from "../vector/binary-search.ts";
import { compileRowTest } from "./predicate.ts";
import { compileFormats } from "./row-format.ts";
import type { RowState } from "./row-state.ts";

/** Runs the steps on a row; returns whether it passes. */
export type RowSteps = (row: RowState) => boolean;

/** Compiles filters and extractions to one function. Throws Failure "input" for a pattern that is not RE2. */
export function compileRowSteps(steps: readonly Step[]): RowSteps {
  const compiled = steps.map(compileRowStep);
  return (row) => {
    for (const step of compiled) if (!step(row)) return false;
    return true;
  };
}

function compileRowStep(step: Step): RowSteps {
  switch (step.kind) {
    case "filter":
      return compileRowTest(step.filter, fieldTextOf);
    case "extract":
      return toExtractionStep(compileExtractor(step.extractor));
    case "attach":
      return toAttachStep(step);
    case "format":
      return toFormatStep(step.formats);
  }
}

function toExtractionStep(extract: ExtractAttributes): RowSteps {
  return (row) => {
    applyExtractor(extract, row.message, row.attributes);
    return true;
  };
}

function toFormatStep(formats: readonly RowFormat[]): RowSteps {
  const write = compileFormats(formats, fieldTextOf);
  return (row) => {
    write(row);
    return true;
  };
}

function toAttachStep({ arrivals, attributes }: Extract<Step, { kind: "attach" }>): RowSteps {
  return (row) => {
    const i = lowerBound(arrivals, row.arrival);
    if (arrivals[i] !== row.arrival) return true;
    for (const { key, codes, values } of attributes) {
      const text = values[codes[i]!]!;
      if (text === "") row.attributes.delete(key);
      else row.attributes.set(key, text);
    }
    return true;
  };
}

/** The text of a field; undefined where the row lacks it. */
export function fieldTextOf(row: RowState, field: Field): string | undefined {
  switch (field.kind) {
    case "time":
      return row.time;
    case "level":
      return row.level;
    case "message":
      return row.message;
    case "template":
      return templateIdOf(row.message);
    case "attribute":
      return row.attributes.get(field.key);
  }
}

/** Splits steps into the leading filters, which run on whole columns, and those from the first other step on. */
export function splitSteps(steps: readonly Step[]): { filters: Filter[]; rest: Step[] } {
  const first = steps.findIndex((step) => step.kind !== "filter");
  const leading = first < 0 ? steps : steps.slice(0, first);
  const filters = leading.flatMap((step) => (step.kind === "filter" ? [step.filter] : []));
  return { filters, rest: first < 0 ? [] : steps.slice(first) };
}
