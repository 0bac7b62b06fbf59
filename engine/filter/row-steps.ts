/** Steps from the first extraction on, row by row: what is extracted differs from row to row. */
import { applyExtractor, compileExtractor, type Extract } from "../extract/extractor.ts";
import type { Field, Step } from "../plan/filter.ts";
import { templateIdOf } from "../template/template-id.ts";
import { rowTest } from "./predicate.ts";

/** A row on its way through the steps. */
export interface RowState {
  /** Whole milliseconds since the epoch, in decimal. */
  time: string;
  level: string;
  message: string;
  /** As stored. */
  stored: Map<string, string>;
  /** Stored and extracted so far. */
  attributes: Map<string, string>;
}

export type RowSteps = (row: RowState) => boolean;

/** Compiles steps to a test that also extracts. Throws Failure "input" for a pattern that is not RE2. */
export function compileRowSteps(steps: readonly Step[]): RowSteps {
  const compiled = steps.map((step) =>
    step.kind === "filter" ? rowTest(step.filter, fieldText) : extraction(compileExtractor(step.extractor)),
  );
  return (row) => {
    for (const step of compiled) if (!step(row)) return false;
    return true;
  };
}

function extraction(extract: Extract): RowSteps {
  return (row) => {
    applyExtractor(extract, row.message, row.stored, row.attributes);
    return true;
  };
}

/** Text of a field, or undefined where the row lacks it. */
export function fieldText(row: RowState, field: Field): string | undefined {
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
