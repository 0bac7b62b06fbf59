import type { rowFunctions } from "../text/keywords.ts";
import { type Duration, printDuration } from "./duration.ts";
import { type Label, printLabel } from "./label.ts";
import { type NumberLiteral, printNumber } from "./number-literal.ts";
import { type LabelFilter, type LineFilter, printFilterStage } from "./stage.ts";
import type { Variable } from "./variable.ts";

/** A stage that looks at the other rows of a row's group. */
export type GroupStage = AssignStage | KeepStage | SequenceStage;

/** The name of a function of the rows of a group. */
export type RowFunction = (typeof rowFunctions)[number];

/** `by (a, b) within 5m`: which rows are of one group, and how far apart they may be. */
export interface RowGroups {
  /** Labels whose texts the rows of a group share. Without labels all rows are one group. */
  readonly by: readonly Label[];
  readonly within: Duration | Variable | null;
}

/** `| before = lag(message, 2) by (pod)`: a label that a row gets from the rows of its group. */
export interface AssignStage extends RowGroups {
  readonly kind: "assign";
  readonly label: Label;
  readonly op: RowFunction;
  /** The label of the other row that is read. */
  readonly of: Label | null;
  /** How many rows away the other row is. */
  readonly count: NumberLiteral | null;
}

/** `| first by (pod)`: the first or the last row of each group. */
export interface KeepStage extends RowGroups {
  readonly kind: "keep";
  readonly row: "first" | "last";
}

/** One step of a sequence: a row that passes these filters; or, with `not`, that there is none. */
export interface SequencePart {
  readonly isNot: boolean;
  readonly filters: readonly (LineFilter | LabelFilter)[];
}

/** `| sequence (|= "a" then |= "b") by (pod) within 5s`: rows that end a sequence of rows. */
export interface SequenceStage extends RowGroups {
  readonly kind: "sequence";
  readonly steps: readonly SequencePart[];
}

/** Freezes a stage and its lists. */
export function makeOrderedStage<Stage extends object>(stage: Stage): Stage {
  for (const part of Object.values(stage))
    if (Array.isArray(part)) for (const each of part) Object.freeze(each);
  for (const part of Object.values(stage)) if (Array.isArray(part)) Object.freeze(part);
  return Object.freeze(stage);
}

export function printGroupStage(node: GroupStage): string {
  switch (node.kind) {
    case "assign": {
      const args = [
        ...(node.of === null ? [] : [printLabel(node.of)]),
        ...(node.count === null ? [] : [printNumber(node.count)]),
      ];
      return `| ${printLabel(node.label)} = ${node.op}(${args.join(", ")})${printGroups(node)}`;
    }
    case "keep":
      return `| ${node.row} by (${node.by.map(printLabel).join(", ")})`;
    case "sequence":
      return `| sequence (${node.steps.map(printSequenceStep).join(" then ")})${printGroups(node)}`;
  }
}

function printGroups({ by, within }: RowGroups): string {
  const grouping = by.length === 0 ? "" : ` by (${by.map(printLabel).join(", ")})`;
  return grouping + printWithin(within);
}

export function printWithin(within: RowGroups["within"]): string {
  return within === null ? "" : ` within ${printDuration(within)}`;
}

function printSequenceStep({ isNot, filters }: SequencePart): string {
  const joined = filters.map(printFilterStage).join(" ").replace(/^\| /, "");
  // A label of this name needs quotes where the word could stand before a line filter.
  const printed = joined.replace(/^not(?=!)/, '"not"');
  return isNot ? `not ${printed}` : printed;
}
