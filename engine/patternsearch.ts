/** Regular expressions over messages: what they ask of a text is looked for first, and only rows that it leaves open are matched. */
import { type Column, columnText } from "./column.ts";
import type { Field, Filter } from "./filter.ts";
import type { LeafFilter } from "./predicate.ts";
import { valueTest } from "./predicate.ts";
import { type Requirement, requirementOf } from "./prefilter.ts";
import { type PatternMachine, patternMachine, templateVerdict, type Verdict } from "./regexp/machine.ts";
import type { BlockFilter, FilterScope } from "./selection.ts";
import type { MessageColumn } from "./template/messages.ts";
import { eachRow } from "./valuefilter.ts";

type PatternFilter = Extract<LeafFilter, { kind: "matches" }>;

/** What a pattern asks of the field, as filters for texts. */
export interface PatternPlan {
  /** Rows that fail one of them do not match; the one that fewest rows pass comes first, as far as lengths tell. */
  needs: Filter[];
  /** Rows that pass it match. */
  proves: Filter;
  /** Both are the same: no row need be matched. */
  exact: boolean;
}

/** Each chunk asks for the plan of its query's filter. */
const plans = new WeakMap<PatternFilter, PatternPlan>();

/** Throws Failure "input" where the pattern is not RE2. */
export function planPattern(filter: PatternFilter): PatternPlan {
  const known = plans.get(filter);
  if (known !== undefined) return known;
  const { needs, proves, exact } = requirementOf(filter.pattern, filter);
  const parts = needs.kind === "and" ? needs.of.toSorted((a, b) => textBytes(b) - textBytes(a)) : [needs];
  const plan = {
    needs: parts.map((part) => asFilter(part, filter.field)),
    proves: asFilter(proves, filter.field),
    exact,
  };
  plans.set(filter, plan);
  return plan;
}

function textBytes(requirement: Requirement): number {
  return requirement.kind === "text" ? requirement.text.length : 0;
}

function asFilter(requirement: Requirement, field: Field): Filter {
  switch (requirement.kind) {
    case "text":
      return { kind: "contains", field, text: requirement.text, ignoreCase: requirement.ignoreCase };
    case "and":
    case "or":
      return { kind: requirement.kind, of: requirement.of.map((part) => asFilter(part, field)) };
    default:
      return requirement;
  }
}

/** Matches row by row; most templates settle all of their rows at the first. Undefined for a pattern that no machine reads. */
export function matchMessages(
  filter: PatternFilter,
  column: Extract<Column, { kind: "message" }>,
  { checkpoint }: FilterScope,
): BlockFilter | undefined {
  const machine = patternMachine(filter.pattern, filter);
  if (machine === undefined) return undefined;
  const { messages } = column;
  const test = valueTest(filter);
  const verdicts: (Verdict | undefined)[] = new Array(messages.templateCount);
  return eachRow((row) => {
    const template = messages.codes[row]!;
    let verdict = verdicts[template];
    if (verdict === undefined) {
      verdict = verdictOn(messages, template, machine);
      verdicts[template] = verdict;
    }
    if (verdict !== "some") return verdict === "all";
    const read = readMessage(messages, row, machine);
    // The machine's limits were reached.
    return read === "some" ? test(columnText(column, row)) : read === "all";
  }, checkpoint);
}

function verdictOn(messages: MessageColumn, template: number, machine: PatternMachine): Verdict {
  const { offsets, bytes } = messages.templates;
  const text = bytes.subarray(offsets[template], offsets[template + 1]);
  return templateVerdict(machine, text, messages.classes, messages.slotBase[template]);
}

/** The verdict on one message, read in pieces where they lie. */
function readMessage(messages: MessageColumn, row: number, machine: PatternMachine): Verdict {
  let state = machine.start;
  messages.eachPiece(row, (bytes, from, to) => {
    state = machine.afterText(state, bytes, from, to);
  });
  return machine.verdict(state);
}
