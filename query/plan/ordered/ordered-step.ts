import type { Field, Filter, RowSignal, Step } from "../../../engine/index.ts";
import type { RowFunction } from "../../tree/ordered-stage.ts";

/** What a row goes through: steps that look at the row alone, and steps that look at other rows, too. Plain data. */
export type PlanStep = Step | OrderedStep;

/** A step that looks at other rows: those of the row's group, or those of a join. */
export type OrderedStep = AssignStep | KeepStep | SequenceStep | JoinStep;

/** Gives each row a label, from another row of its group or from its place in the group. */
export interface AssignStep extends GroupedStep {
  kind: "assign";
  label: string;
  op: RowFunction;
  /** The field of the other row that is read; absent where the function reads none. */
  of?: Field;
  /** How many rows away the other row is: 1 or more. */
  count: number;
}

/** Keeps one row of each group. */
export interface KeepStep extends GroupedStep {
  kind: "keep";
  row: "first" | "last";
}

/** Keeps the rows that end a sequence of rows of their group. */
export interface SequenceStep extends GroupedStep {
  kind: "sequence";
  /** In the order of time; with `isNot` no such row may stand there. At least one is without it. */
  of: { isNot: boolean; filter: Filter }[];
}

/** Keeps the rows for which another selector has a row, or has none. */
export interface JoinStep {
  kind: "join";
  isUnless: boolean;
  signal: RowSignal;
  /** The steps of the other selector. */
  steps: PlanStep[];
  /** Fields of both that must have equal texts. */
  on: { left: Field; right: Field }[];
  /** Labels of the joined row that the query names, whether or not a step still reads them after simplification. */
  named: ReadonlySet<string>;
  /** How far apart the two rows may be, nanoseconds. Absent: as far as the range that is read. */
  withinNs?: number;
}

interface GroupedStep {
  /** The rows of a group have equal texts of these fields. Without fields all rows are one group. */
  by: Field[];
  /** How far apart rows may be that are looked at together, nanoseconds. Absent: as far as the range that is read. */
  withinNs?: number;
}

/** Returns whether a step looks at other rows than the one that it decides on. */
export function isOrderedStep(step: PlanStep): step is OrderedStep {
  return step.kind === "assign" || step.kind === "keep" || step.kind === "sequence" || step.kind === "join";
}

/** Steps of which none looks at several rows, as those of samples. */
export function toRowSteps(steps: readonly PlanStep[]): Step[] {
  return steps.map((step) => {
    if (isOrderedStep(step))
      throw new Error(`a ${step.kind} step among steps that look at one row at a time`);
    return step;
  });
}

/** How far rows look at other rows, nanoseconds; `Infinity` where only the range that is read bounds it. */
export interface RowReach {
  back: number;
  ahead: number;
}

/** How far before and after a row other rows decide on it, or give it labels. */
export function reachOf(steps: readonly PlanStep[]): RowReach {
  const reach = { back: 0, ahead: 0 };
  for (const step of steps) {
    if (!isOrderedStep(step)) continue;
    const { back, ahead } = reachOfStep(step);
    reach.back += back;
    reach.ahead += ahead;
  }
  return reach;
}

function reachOfStep(step: OrderedStep): RowReach {
  const { withinNs = Number.POSITIVE_INFINITY } = step;
  switch (step.kind) {
    case "assign":
      if (step.op === "lead" || step.op === "until_next" || step.op === "last")
        return { back: 0, ahead: withinNs };
      return { back: withinNs, ahead: 0 };
    case "keep":
      return step.row === "first" ? { back: withinNs, ahead: 0 } : { back: 0, ahead: withinNs };
    case "sequence": {
      const [isNotBefore, isNotBehind] = [step.of[0]!.isNot, step.of.at(-1)!.isNot];
      return { back: isNotBefore ? 2 * withinNs : withinNs, ahead: isNotBehind ? withinNs : 0 };
    }
    case "join": {
      const { back, ahead } = reachOf(step.steps);
      return { back: back + withinNs, ahead: ahead + withinNs };
    }
  }
}
