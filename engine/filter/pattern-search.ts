/** Regular expressions over messages: text searches that a pattern implies, and its match with templates. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { columnText, type TemplateColumn } from "../column/column.ts";
import type { ColumnHeap } from "../kernels/heap.ts";
import type { Field, Filter } from "../plan/filter.ts";
import {
  type AutomatonResult,
  buildAutomaton,
  matchTemplate,
  type PatternAutomaton,
} from "../regexp/pattern-automaton.ts";
import { type Requirement, requiredTextsOf } from "../regexp/required-texts.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { addTemplateRows, type MessageMatches } from "../template/text-search.ts";
import type { VariableNeedle } from "../template/variables/variable-needle.ts";
import { type Bitmap, setBit } from "../vector/bitmap.ts";
import { getOrMake } from "../vector/map-entry.ts";
import type { Checkpoint } from "./block-filter.ts";
import { searchMessages, toTextNeedle } from "./message-search.ts";
import { compileValueTest, type PatternFilter, type ValueTest } from "./predicate.ts";
import { RowMatcher } from "./row-matcher.ts";

/** The text searches that a pattern implies. */
export interface PatternPlan {
  /** Rows that fail one of these do not match. The longest text, which is probably the most selective, comes first. */
  necessary: Filter[];
  /** Rows that pass this match. */
  sufficient: Filter;
  /** The two are equivalent, so no row need be matched. */
  isExact: boolean;
}

/** By filter, since every chunk of a query asks for the same plan. */
const plans = new WeakMap<PatternFilter, PatternPlan>();

/** Derives a pattern's plan. Throws Failure "input" where it is not RE2. */
export function planPattern(filter: PatternFilter): PatternPlan {
  const known = plans.get(filter);
  if (known !== undefined) return known;
  const { necessary, sufficient, isExact } = requiredTextsOf(filter.pattern, filter);
  const parts =
    necessary.kind === "and" ? necessary.of.toSorted((a, b) => textLength(b) - textLength(a)) : [necessary];
  const plan: PatternPlan = {
    necessary: parts.map((part) => toFilter(part, filter.field)),
    sufficient: toFilter(sufficient, filter.field),
    isExact,
  };
  plans.set(filter, plan);
  return plan;
}

function textLength(requirement: Requirement): number {
  return requirement.kind === "text" ? requirement.text.length : 0;
}

function toFilter(requirement: Requirement, field: Field): Filter {
  switch (requirement.kind) {
    case "text":
      return { kind: "contains", field, text: requirement.text, ignoreCase: requirement.ignoreCase };
    case "and":
    case "or":
      return { kind: requirement.kind, of: requirement.of.map((part) => toFilter(part, field)) };
    default:
      return requirement;
  }
}

/** By filter, as `plans`. */
const requiredTexts = new WeakMap<PatternFilter, VariableNeedle | "none">();

/** A text without blanks that every match has in it; undefined where none is known. */
function requiredTextOf(filter: PatternFilter): VariableNeedle | undefined {
  const required = getOrMake(requiredTexts, filter, () => {
    const texts = planPattern(filter).necessary.map((part) =>
      part.kind === "contains" && !/\s/.test(part.text) ? toTextNeedle(part) : "undecided",
    );
    return texts.find((text) => typeof text !== "string")?.inVariable ?? "none";
  });
  return required === "none" ? undefined : required;
}

/**
 * The rows whose messages contain a text, divided by what the templates decide about the pattern. Bitmaps have one bit
 * per row and are undefined where no row is in them.
 */
export interface MatchedRows {
  matching: Bitmap | undefined;
  /** Rows that the templates leave undecided. */
  residual: Bitmap | undefined;
}

/** A template with fewer undecided rows is not worth a pass over its rows. */
const decidedRowsMin = 64;

/** Matches one pattern with the messages of one chunk. Most templates decide it for all of their rows. */
export class MessageMatcher {
  readonly #column: TemplateColumn;
  readonly #automaton: PatternAutomaton;
  readonly #rows: RowMatcher;
  readonly #test: ValueTest;
  readonly #templateResults: (AutomatonResult | undefined)[];

  private constructor(
    filter: PatternFilter,
    column: TemplateColumn,
    automaton: PatternAutomaton,
    heap: ColumnHeap,
  ) {
    this.#column = column;
    this.#automaton = automaton;
    this.#rows = new RowMatcher(column.messages, automaton, heap, requiredTextOf(filter));
    this.#test = compileValueTest(filter);
    this.#templateResults = new Array(column.messages.templateCount);
  }

  /** Undefined where the pattern is too large for an automaton. */
  static create(filter: PatternFilter, column: TemplateColumn, heap: ColumnHeap): MessageMatcher | undefined {
    const automaton = buildAutomaton(filter.pattern, filter);
    return automaton && new MessageMatcher(filter, column, automaton, heap);
  }

  /** Whether the pattern matches the message of a row. */
  matches(row: number): boolean {
    const { messages } = this.#column;
    const result = this.#resultOnTemplate(messages.codes[row]!);
    if (result !== "some") return result === "all";
    const messageResult = this.#rows.match(row);
    // "some": the automaton reached its limits.
    return messageResult === "some" ? this.#test(columnText(this.#column, row)) : messageResult === "all";
  }

  /** Decides by template which messages that contain a text match; a string is what `searchMessages` returned. */
  matchTemplates(
    text: Filter,
    view: ChunkView,
  ): MatchedRows | Exclude<ReturnType<typeof searchMessages>, MessageMatches> {
    const { messages } = this.#column;
    const candidates = searchMessages(text, messages, view);
    if (typeof candidates === "string") return candidates;
    const { templates, rows } = candidates;
    const matching = new Uint8Array(templates.length);
    const residual = new Uint8Array(templates.length);
    for (let template = 0; template < templates.length; template++) {
      if (templates[template] === 0) continue;
      const result = this.#resultOnTemplate(template);
      if (result === "all") matching[template] = 1;
      else if (result === "some") residual[template] = 1;
    }
    return {
      matching: addTemplateRows(messages, { templates: matching, rows: undefined }, view.heap),
      residual: addTemplateRows(messages, { templates: residual, rows }, view.heap),
    };
  }

  /**
   * Matches the residual rows of templates most of whose rows are residual: all rows of a template together, in the order
   * in which their values are stored. Rows of other templates stay residual. `checkpoint` is called from time to time.
   */
  matchResidual({ matching, residual }: MatchedRows, heap: ColumnHeap, checkpoint: Checkpoint): MatchedRows {
    if (residual === undefined) return { matching, residual };
    const { messages } = this.#column;
    const { kernels, scratch } = heap;
    const counts = scratch.uint32(messages.templateCount);
    kernels.countGroups(messages.codes, residual, counts);
    const decided = scratch.uint8(counts.length);
    const found = matching === undefined ? scratch.uint8(residual.length) : scratch.place(matching);
    for (let template = 0; template < counts.length; template++) {
      if (counts[template]! < decidedRowsMin || counts[template]! * 2 < messages.rowCount(template)) continue;
      decided[template] = 1;
      this.#rows.matchRowsOf(template, checkpoint, (row, result) => {
        if (result === "all" || this.#test(columnText(this.#column, row))) setBit(found, row);
      });
    }
    const decidedRows = scratch.uint8(residual.length);
    kernels.codesInTable(messages.codes, decided, decidedRows);
    const rest = scratch.place(residual);
    kernels.andNot(rest, decidedRows);
    return { matching: found, residual: rest };
  }

  #resultOnTemplate(template: number): AutomatonResult {
    const result =
      this.#templateResults[template] ?? matchTemplateOf(this.#column.messages, template, this.#automaton);
    this.#templateResults[template] = result;
    return result;
  }
}

function matchTemplateOf(
  messages: MessageColumn,
  template: number,
  automaton: PatternAutomaton,
): AutomatonResult {
  const { offsets, bytes } = messages.templates;
  const text = bytes.subarray(offsets[template], offsets[template + 1]);
  return matchTemplate(automaton, text, messages.classes, messages.slotBase[template]);
}
