import type { Field, Filter, Step } from "../../engine/index.ts";
import { isOrderedStep, type OrderedStep, type PlanStep } from "./ordered/ordered-step.ts";

/**
 * An equivalent filter: constants are folded, nested `and` and `or` are flattened, and `not` of an `or` becomes an
 * `and` of `not`.
 */
function simplifyFilter(filter: Filter): Filter {
  switch (filter.kind) {
    case "and":
      return joinFilters("and", filter.of);
    case "or":
      return joinFilters("or", filter.of);
    case "not":
      return negateFilter(simplifyFilter(filter.of));
    case "contains":
      return filter.text === "" ? { kind: "always" } : filter;
    case "matches":
      // The patterns "" and ".*" are found in any text.
      return !filter.whole && /^(?:\.\*)?$/.test(filter.pattern) ? { kind: "always" } : filter;
    default:
      return filter;
  }
}

/** The neutral and the absorbing element of `and` and `or`: `x and always` is `x`, `x and never` is `never`. */
const constants = {
  and: { neutral: "always", absorbing: "never" },
  or: { neutral: "never", absorbing: "always" },
} as const;

function joinFilters(kind: "and" | "or", of: readonly Filter[]): Filter {
  const { neutral, absorbing } = constants[kind];
  const parts: Filter[] = [];
  for (const each of of) {
    const part = simplifyFilter(each);
    if (part.kind === absorbing) return part;
    if (part.kind === kind) parts.push(...part.of);
    else if (part.kind !== neutral) parts.push(part);
  }
  if (parts.length === 0) return { kind: neutral };
  return parts.length === 1 ? parts[0]! : { kind, of: parts };
}

/** De Morgan: `not (a or b)` becomes `not a and not b`, which can be merged with an `and` around it. */
function negateFilter(filter: Filter): Filter {
  if (filter.kind === "always") return { kind: "never" };
  if (filter.kind === "never") return { kind: "always" };
  if (filter.kind === "not") return filter.of;
  if (filter.kind === "or") return { kind: "and", of: filter.of.map(negateFilter) };
  return { kind: "not", of: filter };
}

/**
 * Returns equivalent steps with simplified and merged filters. Conditions that read no attribute move before all
 * extraction, as extraction changes only attributes. Extraction that no filter reads is kept, as its result is shown in
 * the rows returned. No filter moves over a step that looks at several rows, or that writes
 * messages.
 */
export function simplifySteps(steps: readonly PlanStep[]): PlanStep[] {
  const simplified: PlanStep[] = [];
  let run: Step[] = [];
  for (const step of steps) {
    if (isOrderedStep(step) || isOfMessage(step)) {
      simplified.push(...simplifyRun(run), isOrderedStep(step) ? simplifyOrderedStep(step) : step);
      run = [];
    } else run.push(step);
  }
  simplified.push(...simplifyRun(run));
  return simplified.some(isNever) ? [{ kind: "filter", filter: { kind: "never" } }] : simplified;
}

/** Whether a step gives rows another message. */
function isOfMessage(step: PlanStep): boolean {
  return step.kind === "format" && step.formats.some(({ to }) => to.kind === "message");
}

function simplifyOrderedStep(step: OrderedStep): OrderedStep {
  if (step.kind === "join") return { ...step, steps: simplifySteps(step.steps) };
  if (step.kind !== "sequence") return step;
  return { ...step, of: step.of.map((each) => ({ ...each, filter: simplifyFilter(each.filter) })) };
}

function isNever(step: PlanStep): boolean {
  return step.kind === "filter" && step.filter.kind === "never";
}

/** As `simplifySteps`, for steps that look at one row at a time. */
export function simplifyRowSteps(steps: readonly Step[]): Step[] {
  const simplified = simplifyRun(steps);
  return simplified.some(isNever) ? [{ kind: "filter", filter: { kind: "never" } }] : simplified;
}

function simplifyRun(steps: readonly Step[]): Step[] {
  const early: Filter[] = [];
  const rest: Step[] = [];
  for (const step of steps) {
    if (step.kind !== "filter") {
      rest.push(step);
      continue;
    }
    const conditions = conjunctsOf(simplifyFilter(step.filter));
    const movable = rest.length === 0 ? conditions : conditions.filter((each) => !hasAttributes(each));
    early.push(...movable);
    const late = conditions.filter((each) => !movable.includes(each));
    if (late.length > 0) appendFilter(rest, late);
  }
  const first = joinFilters("and", early);
  return first.kind === "always" ? rest : [{ kind: "filter", filter: first }, ...rest];
}

/**
 * Drops extraction after the last filter, unless a field of `fields` is an attribute. `fields` are read after all
 * steps.
 */
export function dropUnreadExtraction(steps: readonly PlanStep[], fields: readonly Field[]): PlanStep[] {
  if (fields.some(({ kind }) => kind === "attribute")) return [...steps];
  return steps.slice(0, steps.findLastIndex(({ kind }) => kind !== "extract") + 1);
}

function conjunctsOf(filter: Filter): Filter[] {
  if (filter.kind === "always") return [];
  return filter.kind === "and" ? filter.of : [filter];
}

/** Appends conditions to steps. Merges them into the last step where that is a filter. */
function appendFilter(steps: Step[], conditions: readonly Filter[]): void {
  const last = steps.at(-1);
  const before = last?.kind === "filter" ? [last.filter] : [];
  if (before.length > 0) steps.pop();
  steps.push({ kind: "filter", filter: joinFilters("and", [...before, ...conditions]) });
}

/** Returns whether a filter reads an attribute. */
function hasAttributes(filter: Filter): boolean {
  switch (filter.kind) {
    case "always":
    case "never":
      return false;
    case "and":
    case "or":
      return filter.of.some(hasAttributes);
    case "not":
      return hasAttributes(filter.of);
    case "arrived":
      return false;
    default:
      return filter.field.kind === "attribute";
  }
}
