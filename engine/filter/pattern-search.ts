/** Regular expressions over messages: what they ask of a text is looked for first, and only rows that it leaves open are matched. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnText, type TemplateColumn } from "../column/column.ts";
import type { Field, Filter } from "../plan/filter.ts";
import {
  type AutomatonResult,
  buildAutomaton,
  matchTemplate,
  type PatternAutomaton,
} from "../regexp/pattern-automaton.ts";
import { type Requirement, requiredTexts } from "../regexp/required-texts.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { addTemplateRows, type MessageMatches } from "../template/text-search.ts";
import type { Bitmap } from "../vector/bitmap.ts";
import { searchMessages } from "./message-search.ts";
import { type LeafFilter, type ValueTest, valueTest } from "./predicate.ts";

export type PatternFilter = Extract<LeafFilter, { kind: "matches" }>;

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
  const { necessary, sufficient, isExact } = requiredTexts(filter.pattern, filter);
  const parts =
    necessary.kind === "and" ? necessary.of.toSorted((a, b) => textBytes(b) - textBytes(a)) : [necessary];
  const plan = {
    needs: parts.map((part) => asFilter(part, filter.field)),
    proves: asFilter(sufficient, filter.field),
    exact: isExact,
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

/** Of the messages that hold a text those that match, as far as templates tell: a bit a row, undefined where there are none. */
export interface SettledRows {
  matching: Bitmap | undefined;
  /** To be matched one by one. */
  open: Bitmap | undefined;
}

/** Matches one pattern with the messages of one chunk; most templates settle all of their rows. */
export class MessageMatcher {
  readonly #column: TemplateColumn;
  readonly #machine: PatternAutomaton;
  readonly #test: ValueTest;
  readonly #verdicts: (AutomatonResult | undefined)[];

  private constructor(column: TemplateColumn, machine: PatternAutomaton, test: ValueTest) {
    this.#column = column;
    this.#machine = machine;
    this.#test = test;
    this.#verdicts = new Array(column.messages.templateCount);
  }

  /** Undefined for a pattern that no machine reads. */
  static of(filter: PatternFilter, column: TemplateColumn): MessageMatcher | undefined {
    const machine = buildAutomaton(filter.pattern, filter);
    return machine && new MessageMatcher(column, machine, valueTest(filter));
  }

  matches(row: number): boolean {
    const { messages } = this.#column;
    const verdict = this.#verdictOn(messages.codes[row]!);
    if (verdict !== "some") return verdict === "all";
    const read = readMessage(messages, row, this.#machine);
    // The machine's limits were reached.
    return read === "some" ? this.#test(columnText(this.#column, row)) : read === "all";
  }

  /** Of the messages that hold a text; where that cannot be told, as `searchMessages` says it. */
  settle(
    text: Filter,
    view: ChunkView,
  ): SettledRows | Exclude<ReturnType<typeof searchMessages>, MessageMatches> {
    const { messages } = this.#column;
    const holding = searchMessages(text, messages, view);
    if (typeof holding === "string") return holding;
    const { templates, rows } = holding;
    const matching = new Uint8Array(templates.length);
    const open = new Uint8Array(templates.length);
    for (let template = 0; template < templates.length; template++) {
      if (templates[template] === 0) continue;
      const verdict = this.#verdictOn(template);
      if (verdict === "all") matching[template] = 1;
      else if (verdict === "some") open[template] = 1;
    }
    return {
      matching: addTemplateRows(messages, { templates: matching, rows: undefined }, view.heap),
      open: addTemplateRows(messages, { templates: open, rows }, view.heap),
    };
  }

  #verdictOn(template: number): AutomatonResult {
    const verdict = this.#verdicts[template] ?? verdictOn(this.#column.messages, template, this.#machine);
    this.#verdicts[template] = verdict;
    return verdict;
  }
}

function verdictOn(messages: MessageColumn, template: number, machine: PatternAutomaton): AutomatonResult {
  const { offsets, bytes } = messages.templates;
  const text = bytes.subarray(offsets[template], offsets[template + 1]);
  return matchTemplate(machine, text, messages.classes, messages.slotBase[template]);
}

/** The verdict on one message, read in pieces where they lie. */
function readMessage(messages: MessageColumn, row: number, machine: PatternAutomaton): AutomatonResult {
  let state = machine.start;
  messages.eachPiece(row, (bytes, from, to) => {
    state = machine.afterText(state, bytes, from, to);
  });
  return machine.resultAt(state);
}
