import type { Field, Filter, Step } from "../../engine/index.ts";

/** The same filter with constants folded, lists of `and` and `or` flattened, and `not` taken inwards where it shortens. */
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
      // Both find the empty text anywhere.
      return !filter.whole && /^(?:\.\*)?$/.test(filter.pattern) ? { kind: "always" } : filter;
    default:
      return filter;
  }
}

/** What leaves a junction as it is, and what settles it. */
const constants = {
  and: { neutral: "always", settling: "never" },
  or: { neutral: "never", settling: "always" },
} as const;

function joinFilters(kind: "and" | "or", of: readonly Filter[]): Filter {
  const { neutral, settling } = constants[kind];
  const parts: Filter[] = [];
  for (const each of of) {
    const part = simplifyFilter(each);
    if (part.kind === settling) return part;
    if (part.kind === kind) parts.push(...part.of);
    else if (part.kind !== neutral) parts.push(part);
  }
  if (parts.length === 0) return { kind: neutral };
  return parts.length === 1 ? parts[0]! : { kind, of: parts };
}

/** None of several is each of them not, which ends at the first that holds and joins the `and` around it. */
function negateFilter(filter: Filter): Filter {
  if (filter.kind === "always") return { kind: "never" };
  if (filter.kind === "never") return { kind: "always" };
  if (filter.kind === "not") return filter.of;
  if (filter.kind === "or") return { kind: "and", of: filter.of.map(negateFilter) };
  return { kind: "not", of: filter };
}

/**
 * The same steps with filters simplified and joined. What looks at the message, level or time only comes before all extraction, for no
 * extraction changes those. Extraction stays even where no filter reads it: it shows in the rows.
 */
export function simplifySteps(steps: readonly Step[]): Step[] {
  const early: Filter[] = [];
  const rest: Step[] = [];
  for (const step of steps) {
    if (step.kind === "extract") {
      rest.push(step);
      continue;
    }
    const conditions = conjunctsOf(simplifyFilter(step.filter));
    const movable = rest.length === 0 ? conditions : conditions.filter((each) => !readsAttributes(each));
    early.push(...movable);
    const late = conditions.filter((each) => !movable.includes(each));
    if (late.length > 0) appendFilter(rest, late);
  }
  const filters = [early, ...rest.map((step) => (step.kind === "filter" ? [step.filter] : []))].flat();
  if (filters.some(({ kind }) => kind === "never")) return [{ kind: "filter", filter: { kind: "never" } }];
  const first = joinFilters("and", early);
  return first.kind === "always" ? rest : [{ kind: "filter", filter: first }, ...rest];
}

/** The same steps without extraction at their end that none of the fields reads. */
export function dropUnreadExtraction(steps: readonly Step[], fields: readonly Field[]): Step[] {
  if (fields.some(({ kind }) => kind === "attribute")) return [...steps];
  return steps.slice(0, steps.findLastIndex(({ kind }) => kind === "filter") + 1);
}

function conjunctsOf(filter: Filter): Filter[] {
  if (filter.kind === "always") return [];
  return filter.kind === "and" ? filter.of : [filter];
}

/** Adds conditions behind the steps, to the filter that stands last if one does. */
function appendFilter(steps: Step[], conditions: readonly Filter[]): void {
  const last = steps.at(-1);
  const before = last?.kind === "filter" ? [last.filter] : [];
  if (before.length > 0) steps.pop();
  steps.push({ kind: "filter", filter: joinFilters("and", [...before, ...conditions]) });
}

function readsAttributes(filter: Filter): boolean {
  switch (filter.kind) {
    case "always":
    case "never":
      return false;
    case "and":
    case "or":
      return filter.of.some(readsAttributes);
    case "not":
      return readsAttributes(filter.of);
    default:
      return filter.field.kind === "attribute";
  }
}
