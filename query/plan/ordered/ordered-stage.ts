import type { Field, Filter } from "../../../engine/index.ts";
import { assignedRowsMax } from "../../limits.ts";
import { refuse } from "../../text/source.ts";
import type { Label } from "../../tree/label.ts";
import { parseNumber } from "../../tree/number-literal.ts";
import type {
  AssignStage,
  KeepStage,
  RowFunction,
  RowGroups,
  SequencePart,
  SequenceStage,
} from "../../tree/ordered-stage.ts";
import type { JoinStage, OrderedStage, TelemetrySelector } from "../../tree/selector.ts";
import { noteExtractedNames, type PlanContext } from "../context.ts";
import { resolveField, spanDuration } from "../field.ts";
import { planStage } from "../stages/stage.ts";
import { resolveSeconds } from "../times.ts";
import { resolveLabel } from "../variables.ts";
import type { AssignStep, JoinStep, KeepStep, OrderedStep, PlanStep, SequenceStep } from "./ordered-step.ts";

/** Labels that a sequence gives the rows that end it: milliseconds from its first row, and the time of that row. */
export const sequenceLabels = { length: "sequence_ms", start: "sequence_start" } as const;

/** Plans the selector of a join. */
type PlanSelector = (node: TelemetrySelector, context: PlanContext) => PlanStep[];

/** The step of a stage that looks at several rows. Records the labels that it gives rows. Throws a QueryError. */
export function planOrderedStage(
  node: OrderedStage,
  context: PlanContext,
  planSelector: PlanSelector,
): OrderedStep {
  if (context.signal === "metrics") {
    const problem = "this stage looks at rows, and a metric has samples; functions over time are for these";
    refuse(context.source, node, problem);
  }
  switch (node.kind) {
    case "assign":
      return planAssign(node, context);
    case "keep":
      return planKeep(node, context);
    case "sequence":
      return planSequence(node, context);
    case "join":
      return planJoin(node, context, planSelector);
  }
}

function planAssign(node: AssignStage, context: PlanContext): AssignStep {
  const label = resolveLabel(node.label, context);
  if (fieldOfAssigned(label, context).kind !== "attribute") {
    refuse(context.source, node.label, `\`${label}\` is a column of every row; give the label another name`);
  }
  if (node.op === "row_number" && node.within !== null) {
    refuse(
      context.source,
      node.within,
      "row_number counts from the first row of the group; it takes no `within`",
    );
  }
  const of = node.of === null ? {} : { of: resolveField(resolveLabel(node.of, context), context) };
  const groups = planGroups(node, context);
  noteExtractedNames([label], context);
  noteNumbers(label, node.op, of.of, context);
  return { kind: "assign", label, op: node.op, ...of, count: resolveCount(node, context), ...groups };
}

/** Records whether a label is a number, as its function gives it, or as the label that it is read from. */
function noteNumbers(label: string, op: RowFunction, of: Field | undefined, context: PlanContext): void {
  const { milliseconds, calculated } = context;
  const isDistance = op === "since_previous" || op === "until_next" || op === "since_first";
  const source = of?.kind === "attribute" ? of.key : undefined;
  const note = (labels: Set<string>, isOne: boolean) => {
    if (isOne || (source !== undefined && labels.has(source))) labels.add(label);
    else labels.delete(label);
  };
  note(milliseconds, isDistance);
  note(calculated, of === undefined || of.kind === "time");
}

function fieldOfAssigned(label: string, context: PlanContext): Field {
  return resolveField(label, { ...context, names: new Set() });
}

function resolveCount({ count }: AssignStage, context: PlanContext): number {
  if (count === null) return 1;
  const rows = parseNumber(count.text);
  if (rows !== undefined && Number.isInteger(rows) && rows >= 1 && rows <= assignedRowsMax) return rows;
  return refuse(
    context.source,
    count,
    `the other row is 1 to ${assignedRowsMax} rows away, not ${count.text}`,
  );
}

function planKeep(node: KeepStage, context: PlanContext): KeepStep {
  return { kind: "keep", row: node.row, ...planGroups(node, context) };
}

function planSequence(node: SequenceStage, context: PlanContext): SequenceStep {
  if (node.within === null) {
    const problem = "a sequence needs the time that it takes at most: sequence (…) by (…) within 5s";
    refuse(context.source, node, problem);
  }
  const { steps } = node;
  if (steps.every(({ isNot }) => isNot)) {
    refuse(context.source, steps[0]!, "a sequence needs a step without `not`: the rows that are found");
  }
  for (const [i, step] of steps.entries()) {
    if (step.isNot && steps[i + 1]?.isNot === true) {
      refuse(
        context.source,
        steps[i + 1]!,
        "two steps with `not` stand side by side; join their filters with `or`",
      );
    }
  }
  const of = steps.map((step) => ({ isNot: step.isNot, filter: planSequencePart(step, context) }));
  const groups = planGroups(node, context);
  noteExtractedNames(Object.values(sequenceLabels), context);
  context.milliseconds.add(sequenceLabels.length);
  for (const label of Object.values(sequenceLabels)) context.calculated.add(label);
  return { kind: "sequence", of, ...groups };
}

function planSequencePart({ filters }: SequencePart, context: PlanContext): Filter {
  const steps = filters.flatMap((filter) => planStage(filter, context));
  return { kind: "and", of: steps.flatMap((step) => (step.kind === "filter" ? [step.filter] : [])) };
}

function planJoin(node: JoinStage, context: PlanContext, planSelector: PlanSelector): JoinStep {
  const { of } = node;
  if (of.of.kind === "metric") {
    refuse(context.source, of, "rows are joined with rows: logs, traces, kubernetes_resources or profiles");
  }
  if (of.window !== undefined || of.offset !== undefined) {
    refuse(
      context.source,
      of,
      "a joined selector has no window or offset; `within` bounds the time between the rows",
    );
  }
  const left = node.on.map((labels) => resolveKey(labels.left, context));
  // The names of the other selector are of another signal, which warnings of this one do not know.
  const other: PlanContext = { ...context, names: new Set(), milliseconds: new Set() };
  const steps = planSelector(of, other);
  const right = node.on.map((labels) => resolveKey(labels.right, other));
  context.conditions = other.conditions;
  context.regexpLength = other.regexpLength;
  const named = new Set<string>();
  if (!node.isUnless) {
    context.joined.set(of.of.name, named);
    context.milliseconds.add(`traces.${spanDuration}`);
  }
  const on = left.map((field, i) => ({ left: field, right: right[i]! }));
  return {
    kind: "join",
    isUnless: node.isUnless,
    signal: of.of.name,
    steps,
    on,
    named,
    ...planWithin(node, context),
  };
}

function planGroups(node: RowGroups, context: PlanContext) {
  const by = new Map(node.by.map((label) => [resolveLabel(label, context), resolveKey(label, context)]));
  return { by: [...by.values()], ...planWithin(node, context) };
}

/** A label by which rows are grouped or joined. Throws a QueryError for a time and for a calculated number. */
function resolveKey(label: Label, context: PlanContext): Field {
  const field = resolveField(resolveLabel(label, context), context);
  const isNumber = field.kind === "attribute" && context.calculated.has(field.key);
  if (field.kind !== "time" && !isNumber && !isTimeOfJoined(field, context)) return field;
  return refuse(
    context.source,
    label,
    "rows are grouped and joined by texts, not by a time or a calculated number",
  );
}

function isTimeOfJoined(field: Field, { joined }: PlanContext): boolean {
  return (
    field.kind === "attribute" && [...joined.keys()].some((signal) => field.key === `${signal}.timestamp`)
  );
}

function planWithin({ within }: Pick<RowGroups, "within">, context: PlanContext): { withinNs?: number } {
  if (within === null) return {};
  return { withinNs: Math.round(resolveSeconds(within, "the time between rows", context) * 1e9) };
}
