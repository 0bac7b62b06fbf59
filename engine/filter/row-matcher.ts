/** Matches a pattern with single messages, which are stored as templates and variables. */

import type { ColumnHeap } from "../kernels/heap.ts";
import type { AutomatonResult, PatternAutomaton } from "../regexp/pattern-automaton.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { groupOf, type VariableGroup } from "../template/variable-columns.ts";
import { cutTexts, type TextVector } from "../vector/text.ts";
import { AutomatonReader } from "./automaton-reader.ts";

/** The next step of matching a template's messages: reading the value of a slot, or a result. */
type Step = { result: AutomatonResult } | SlotStep;

interface SlotStep {
  result: undefined;
  template: number;
  /** The next slot on whose value the result depends. */
  slot: number;
  /** The automaton's state before that value. */
  state: number;
  /**
   * The automaton's state after each text of the slot, where rows share texts; -1 where it is not computed yet. Undefined
   * where each row has a text of its own.
   */
  textStates: Int32Array | undefined;
  /** What follows, by the automaton's state after the value. */
  after: Map<number, Step>;
  /** The state that was last looked up in `after`, and what follows; rows of a template often agree. */
  lastState: number;
  lastNext: Step | undefined;
}

/** Rows matched between two checkpoints. */
const checkEvery = 1024;

/**
 * Matches the messages of one chunk with one pattern. Of a message it reads only the variables whose values decide: a
 * variable behind which the automaton is in the same state, whatever the value is, is skipped. What follows from a state
 * is computed once for all rows of a template.
 */
export class RowMatcher {
  readonly #messages: MessageColumn;
  readonly #automaton: PatternAutomaton;
  readonly #reader: AutomatonReader;
  readonly #firstSteps: (Step | undefined)[];
  readonly #groups: (VariableGroup | undefined)[] = [];
  readonly #rankOf: Uint32Array;

  constructor(messages: MessageColumn, automaton: PatternAutomaton, heap: ColumnHeap) {
    this.#messages = messages;
    this.#automaton = automaton;
    this.#reader = new AutomatonReader(automaton, heap);
    this.#firstSteps = new Array(messages.templateCount);
    this.#rankOf = messages.order.rankOf;
  }

  /** Whether the pattern matches the message of a row; "some" where the automaton reached its limits. */
  match(row: number): AutomatonResult {
    return this.#resultAfter(this.#firstStep(this.#messages.codes[row]!), this.#rankOf[row]!);
  }

  /**
   * Matches all messages of a template, whose values lie side by side. Calls `onRow` with the rows whose result is not
   * "none"; "some" as above. `checkpoint` is called from time to time.
   */
  matchRowsOf(
    template: number,
    checkpoint: () => void,
    onRow: (row: number, result: "all" | "some") => void,
  ): void {
    const rows = this.#messages.rowsOf(template);
    const first = this.#firstStep(template);
    const decide = (rank: number, step: Step): void => {
      const result = this.#resultAfter(step, rank);
      if (result !== "none") onRow(rows[rank]!, result);
    };
    if (first.result === undefined && first.textStates === undefined) {
      const texts = this.#textsOf(first.slot, rows.length);
      this.#reader.readStates(texts, undefined, first.state, checkpoint, (rank, state) =>
        decide(rank, this.#stepAfter(first, state)),
      );
      return;
    }
    for (let rank = 0; rank < rows.length; rank++) {
      if (rank % checkEvery === 0) checkpoint();
      decide(rank, first);
    }
  }

  /** The values of a slot in which each row has a text of its own: they lie side by side. */
  #textsOf(slot: number, rows: number): TextVector {
    const group = this.#groupOf(slot);
    const base = this.#messages.findText(group, slot, 0);
    return cutTexts(group.text, base, base + rows);
  }

  #firstStep(template: number): Step {
    let step = this.#firstSteps[template];
    if (step === undefined) {
      step = this.#advance(template, this.#messages.slotBase[template]!, this.#automaton.start);
      this.#firstSteps[template] = step;
    }
    return step;
  }

  /** The result of a row from a step on. `rank`: the index of the row among those of its template. */
  #resultAfter(step: Step, rank: number): AutomatonResult {
    let next = step;
    while (next.result === undefined) next = this.#stepAfter(next, this.#stateAfterValue(next, rank));
    return next.result;
  }

  /** What follows after a value that leads to a state. */
  #stepAfter(step: SlotStep, state: number): Step {
    if (step.lastState === state) return step.lastNext!;
    const known = step.after.get(state);
    const next: Step = known ?? this.#advance(step.template, step.slot + 1, state);
    if (known === undefined) step.after.set(state, next);
    step.lastState = state;
    step.lastNext = next;
    return next;
  }

  /** Reads on from the text before a slot, up to the next slot whose value decides. `slot` may be the one after the last. */
  #advance(template: number, slot: number, state: number): Step {
    const { templates, slotBase, slotPlaces, classes } = this.#messages;
    const automaton = this.#automaton;
    const [first, end] = [slotBase[template]!, slotBase[template + 1]!];
    let from = slot === first ? templates.offsets[template]! : slotPlaces[slot - 1]! + 1;
    for (let next = slot; ; next++) {
      const to = next < end ? slotPlaces[next]! : templates.offsets[template + 1]!;
      state = automaton.afterText(state, templates.bytes, from, to);
      if (next === end || automaton.isFinal(state)) return { result: automaton.resultAt(state) };
      const behind = automaton.afterVariable(state, classes[next]!);
      if (!automaton.isSingle(behind) || this.#isWholeMessage(template)) {
        const textStates = this.#makeTextStates(next);
        const memo = { textStates, after: new Map(), lastState: -1, lastNext: undefined };
        return { result: undefined, template, slot: next, state, ...memo };
      }
      state = behind;
      from = to + 1;
    }
  }

  /** A template that is a single variable, whose value is a message and no token. */
  #isWholeMessage(template: number): boolean {
    const { offsets } = this.#messages.templates;
    const { slotBase } = this.#messages;
    return offsets[template + 1]! - offsets[template]! === 1 && slotBase[template] !== slotBase[template + 1];
  }

  #makeTextStates(slot: number): Int32Array | undefined {
    const group = this.#groupOf(slot);
    const texts = this.#messages.countSharedTexts(group, slot);
    return texts === undefined ? undefined : new Int32Array(texts).fill(-1);
  }

  #stateAfterValue(step: SlotStep, rank: number): number {
    const { slot, textStates } = step;
    const group = this.#groupOf(slot);
    const { text, firstTexts } = group;
    const index = this.#messages.findText(group, slot, rank);
    const at = textStates === undefined ? 0 : index - firstTexts[this.#messages.indexInGroup[slot]!]!;
    const known = textStates?.[at] ?? -1;
    if (known >= 0) return known;
    const state = this.#automaton.afterText(
      step.state,
      text.bytes,
      text.offsets[index]!,
      text.offsets[index + 1]!,
    );
    if (textStates !== undefined) textStates[at] = state;
    return state;
  }

  /** The group of a slot; loading it anew for each row would cost more than the match. */
  #groupOf(slot: number): VariableGroup {
    const group = groupOf(this.#messages.classes[slot]!);
    this.#groups[group] ??= this.#messages.readGroup(group);
    return this.#groups[group];
  }
}
