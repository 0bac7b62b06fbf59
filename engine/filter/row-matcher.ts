/** Matches a pattern with single messages, which are stored as templates and variables. */

import type { ColumnHeap } from "../kernels/heap.ts";
import type { Needle } from "../kernels/needle.ts";
import type { AutomatonResult, PatternAutomaton } from "../regexp/pattern-automaton.ts";
import type { MessageColumn } from "../template/message-column.ts";
import { slotByte } from "../template/tokenizer.ts";
import { findText, hasOwnTexts, type ReadableSlot } from "../template/variables/readable-slot.ts";
import { lineValueClass } from "../template/variables/variable-columns.ts";
import type { VariableNeedle } from "../template/variables/variable-needle.ts";
import { indexOfText } from "../vector/equal-text.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { cutTexts, type TextVector, textCount, toBuffer } from "../vector/text.ts";
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
  values: ReadableSlot;
  /** The automaton's states after the values; undefined where each row has a text of its own, and where they are not kept. */
  textStates: TextStates | undefined;
  /** What follows, by the automaton's state after the value. */
  after: Map<number, Step>;
  /** The state that was last looked up in `after`, and what follows; rows of a template often agree. */
  lastState: number;
  lastNext: Step | undefined;
}

interface TextStates {
  /** The automaton's state after each text of a slot, or `unknown`. */
  of: Uint32Array;
  /** The different states after all texts; undefined where some are not computed yet. */
  distinct: readonly number[] | undefined;
}

/** Rows of a template, by their ranks, and what follows for them. */
interface RankedStep {
  step: Step;
  ranks: Uint32Array;
}

const results: Record<AutomatonResult, Step> = {
  all: { result: "all" },
  none: { result: "none" },
  some: { result: "some" },
};

/** More than the greatest state of an automaton. */
const statesMax = 2 ** 26;
/** Where a chunk has so many states after texts, those of further columns are not kept: values are read row by row. */
const keptStatesMax = 2 ** 21;
/** All texts of an attribute's column are read at once where the column has at most this many for each row that is asked for. */
const repeatedShare = 16;
/** The state after a text for which it is not computed yet. */
const unknown = 0xffffffff;
const newline = 0x0a;
/** Shorter static text is read as a whole. */
const longStatic = 96;

/** Rows matched between two checkpoints. */
const checkEvery = 1024;

/**
 * Matches the messages of one chunk with one pattern. Of a message it reads only the variables whose values decide: a
 * variable is skipped where the automaton is in the same state after the text after it, whatever the value is. What follows
 * from a state is computed once for all rows of a template.
 */
export class RowMatcher {
  readonly #messages: MessageColumn;
  readonly #automaton: PatternAutomaton;
  readonly #reader: AutomatonReader;
  readonly #firstSteps: (Step | undefined)[];
  readonly #slots = new Map<number, ReadableSlot>();
  /** By slot and state: the steps that read the slot's values from that state on. */
  readonly #steps = new Map<number, SlotStep>();
  /** By the column of an attribute that slots repeat, and the state before its values. */
  readonly #repeatedStates = new Map<TextVector, Map<number, TextStates>>();
  /** How many states after texts are kept. */
  #keptStates = 0;
  readonly #rankOf: Uint32Array;
  readonly #heap: ColumnHeap;
  /** A text without blanks that lies in the line in which the pattern matches, where there is one. */
  readonly #required: VariableNeedle | undefined;

  /** `required`: a text without blanks that every match has in it, if one is known. */
  constructor(
    messages: MessageColumn,
    automaton: PatternAutomaton,
    heap: ColumnHeap,
    required: VariableNeedle | undefined,
  ) {
    this.#messages = messages;
    this.#heap = heap;
    this.#required = automaton.staysInLine ? required : undefined;
    this.#automaton = automaton;
    this.#reader = new AutomatonReader(automaton, heap);
    this.#firstSteps = new Array(messages.templateCount);
    this.#rankOf = messages.order.rankOf;
  }

  /** Whether the pattern matches the message of a row; "some" where the automaton reached its limits. */
  match(row: number): AutomatonResult {
    return this.#resultAfter(this.#firstStep(this.#messages.codes[row]!), this.#rankOf[row]!, row);
  }

  /**
   * Matches all messages of a template, slot by slot: rows that a value leads to the same step go on together. Calls `onRow`
   * with the rows whose result is not "none"; "some" as above. `checkpoint` is called from time to time.
   */
  matchRowsOf(
    template: number,
    checkpoint: () => void,
    onRow: (row: number, result: "all" | "some") => void,
  ): void {
    const rows = this.#messages.rowsOf(template);
    const first = this.#firstStep(template);
    const waiting: RankedStep[] = [{ step: first, ranks: countUp(rows.length) }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { step, ranks } = next;
      if (step.result === undefined) waiting.push(...this.#splitBySteps(step, ranks, rows, checkpoint));
      else if (step.result !== "none") for (const rank of ranks) onRow(rows[rank]!, step.result);
    }
  }

  /** Reads the values of some rows, and divides these by the step that follows. */
  #splitBySteps(
    step: SlotStep,
    ranks: Uint32Array,
    rows: Uint32Array,
    checkpoint: () => void,
  ): readonly RankedStep[] {
    const { textStates } = step;
    if (textStates !== undefined) {
      this.#computeStates(step, textStates, ranks.length, checkpoint);
      const next = this.#commonStep(step, textStates);
      if (next !== undefined) return [{ step: next, ranks }];
    }
    return textStates?.distinct === undefined
      ? this.#splitUnknown(step, ranks, rows, checkpoint)
      : this.#splitKnown(step, textStates.of, ranks, rows);
  }

  /** Most rows go on with the step of the first one; the others are divided by theirs. */
  #splitKnown(
    step: SlotStep,
    states: Uint32Array,
    ranks: Uint32Array,
    rows: Uint32Array,
  ): readonly RankedStep[] {
    const { values } = step;
    const others = new Map<Step, number[]>();
    const kept = new Uint32Array(ranks.length);
    let count = 0;
    let [mainState, main]: [number, Step | undefined] = [-1, undefined];
    for (let i = 0; i < ranks.length; i++) {
      const rank = ranks[i]!;
      const state = states[findText(values, rank, rows[rank]!) - values.first]!;
      if (state !== mainState) {
        const next = this.#stepAfter(step, state);
        main ??= next;
        if (next !== main) {
          getOrMake(others, next, () => []).push(rank);
          continue;
        }
        mainState = state;
      }
      kept[count++] = rank;
    }
    const result = Array.from(others, ([next, list]) => ({ step: next, ranks: Uint32Array.from(list) }));
    return main === undefined ? result : [{ step: main, ranks: kept.subarray(0, count) }, ...result];
  }

  /** As above, where the states after the texts are not known yet. */
  #splitUnknown(
    step: SlotStep,
    ranks: Uint32Array,
    rows: Uint32Array,
    checkpoint: () => void,
  ): readonly RankedStep[] {
    const { values, textStates } = step;
    const lists = new Map<Step, number[]>();
    const add = (rank: number, state: number): void => {
      getOrMake(lists, this.#stepAfter(step, state), () => []).push(rank);
    };
    if (textStates === undefined) {
      const numbers = ranks.map((rank) => findText(values, rank, rows[rank]!));
      this.#reader.readStates(values.text, numbers, step.state, checkpoint, (index, state) =>
        add(ranks[index]!, state),
      );
    } else {
      for (let i = 0; i < ranks.length; i++) {
        if (i % checkEvery === 0) checkpoint();
        const rank = ranks[i]!;
        add(rank, this.#stateAfterValue(step, rank, rows[rank]!));
      }
    }
    return Array.from(lists, ([next, list]) => ({ step: next, ranks: Uint32Array.from(list) }));
  }

  /** Computes the states after all texts together where that is no more work than the rows', or slots share them. */
  #computeStates(
    { values, state }: SlotStep,
    textStates: TextStates,
    rows: number,
    checkpoint: () => void,
  ): void {
    const { text, first, count, isByRow } = values;
    const isShare = count <= rows * (isByRow ? repeatedShare : 1);
    if (textStates.distinct !== undefined || !isShare) return;
    const texts = first === 0 && count === textCount(text) ? text : cutTexts(text, first, first + count);
    textStates.distinct = this.#reader.readAll(texts, state, checkpoint, textStates.of);
  }

  /** What follows after any text of a slot; undefined where that depends on the text, or is not known. */
  #commonStep(step: SlotStep, { distinct }: TextStates): Step | undefined {
    if (distinct === undefined) return undefined;
    const [first, ...others] = distinct.map((state) => this.#stepAfter(step, state));
    return others.every((other) => other === first) ? first : undefined;
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
  #resultAfter(step: Step, rank: number, row: number): AutomatonResult {
    let next = step;
    while (next.result === undefined) next = this.#stepAfter(next, this.#stateAfterValue(next, rank, row));
    return next.result;
  }

  /** What follows after a value that leads to a state. */
  #stepAfter(step: SlotStep, state: number): Step {
    if (step.lastState === state) return step.lastNext!;
    const next = getOrMake(step.after, state, () => this.#advance(step.template, step.slot + 1, state));
    step.lastState = state;
    step.lastNext = next;
    return next;
  }

  /** Reads on from the text before a slot, up to the next slot whose value decides. `slot` may be the one after the last. */
  #advance(template: number, slot: number, state: number): Step {
    const { templates, slotBase, slotPlaces, classes } = this.#messages;
    const automaton = this.#automaton;
    const [first, end] = [slotBase[template]!, slotBase[template + 1]!];
    const placeOf = (next: number) => (next < end ? slotPlaces[next]! : templates.offsets[template + 1]!);
    const begin = slot === first ? templates.offsets[template]! : slotPlaces[slot - 1]! + 1;
    state = this.#afterStatic(state, begin, placeOf(slot));
    for (let next = slot; next < end && !automaton.isFinal(state); next++) {
      if (this.#cannotMatchIn(template, next)) {
        state = this.#afterStatic(automaton.start, placeOf(next) + 1, placeOf(next + 1));
        continue;
      }
      const behind = automaton.afterVariable(state, classes[next]!);
      const after = this.#afterStatic(behind, placeOf(next) + 1, placeOf(next + 1));
      // States that differ after the value are often the same after the text that follows it.
      const isKnown = automaton.isDecided(after) || !automaton.isFinal(after);
      const isSame =
        next + 1 === end ? automaton.resultAt(after) !== "some" : isKnown && automaton.isSingle(after);
      if (!isSame || this.#isWholeMessage(template)) return this.#makeStep(template, next, state);
      state = after;
    }
    return results[automaton.resultAt(state)];
  }

  /**
   * The automaton's state after static text. Where the text is long and lacks the required text, only its first and last lines
   * are read: the pattern matches within one line, so it cannot match in the others, and the state after a line feed does not
   * depend on them.
   */
  #afterStatic(state: number, from: number, to: number): number {
    const automaton = this.#automaton;
    const { bytes } = this.#messages.templates;
    const required = this.#required?.needle;
    if (required === undefined || required.ignoreCase || to - from < longStatic)
      return automaton.afterText(state, bytes, from, to);
    const text = toBuffer(bytes).subarray(from, to);
    const first = text.indexOf(newline) + 1;
    if (first === 0 || text.includes(toBuffer(required.bytes)))
      return automaton.afterText(state, bytes, from, to);
    const last = text.lastIndexOf(newline) + 1;
    return automaton.afterText(automaton.afterText(state, bytes, from, from + first), bytes, from + last, to);
  }

  #makeStep(template: number, slot: number, state: number): SlotStep {
    return getOrMake(this.#steps, slot * statesMax + state, () => {
      const values = this.#slot(slot);
      const textStates = this.#makeTextStates(values, state);
      const memo = { textStates, after: new Map(), lastState: -1, lastNext: undefined };
      return { result: undefined, template, slot, values, state, ...memo };
    });
  }

  /** A template that is a single variable, whose value is a message and no token. */
  #isWholeMessage(template: number): boolean {
    const { offsets } = this.#messages.templates;
    const { slotBase } = this.#messages;
    return offsets[template + 1]! - offsets[template]! === 1 && slotBase[template] !== slotBase[template + 1];
  }

  /**
   * Whether a slot is the value of a line that does not hold the required text, so that nothing in the line matches. What was
   * read of the line does not matter then.
   */
  #cannotMatchIn(template: number, slot: number): boolean {
    const required = this.#required;
    const classes = this.#messages.classes[slot]!;
    if (required === undefined || (classes & lineValueClass) === 0) return false;
    if ((required.classes & ~classes) === 0 && this.#holdRequired(this.#slot(slot), required.needle))
      return false;
    const { templates, slotPlaces } = this.#messages;
    const begin = templates.offsets[template]!;
    let key = slotPlaces[slot]!;
    for (; key > begin && templates.bytes[key - 1] !== newline; key--)
      if (templates.bytes[key - 1] === slotByte) return false;
    const { bytes, ignoreCase } = required.needle;
    return indexOfText(templates.bytes, key, slotPlaces[slot]!, bytes, ignoreCase) < 0;
  }

  /** Whether some text of a slot, or of the column that it repeats, holds the required text. */
  #holdRequired({ text, first, count, isByRow }: ReadableSlot, needle: Needle): boolean {
    if (!isByRow) return this.#heap.kernels.countHolding(cutTexts(text, first, first + count), needle) > 0;
    return this.#messages.findHolding(text, needle, this.#heap) !== "none";
  }

  #slot(slot: number): ReadableSlot {
    return getOrMake(this.#slots, slot, () => this.#messages.readSlot(slot));
  }

  #makeTextStates(values: ReadableSlot, state: number): TextStates | undefined {
    const { text, count, isByRow } = values;
    if (hasOwnTexts(values) && !isByRow) return undefined;
    const ofColumn = isByRow ? getOrMake(this.#repeatedStates, text, () => new Map()) : undefined;
    const known = ofColumn?.get(state);
    if (known !== undefined) return known;
    if (this.#keptStates + count > keptStatesMax) return undefined;
    this.#keptStates += count;
    const made = { of: this.#heap.scratch.uint32(count).fill(unknown), distinct: undefined };
    ofColumn?.set(state, made);
    return made;
  }

  #stateAfterValue({ values, textStates, state }: SlotStep, rank: number, row: number): number {
    const { text, first } = values;
    const index = findText(values, rank, row);
    const known = textStates?.of[index - first] ?? unknown;
    if (known !== unknown) return known;
    const from = text.offsets[index]!;
    const after = this.#automaton.afterText(state, text.bytes, from, text.offsets[index + 1]!);
    if (textStates !== undefined) textStates.of[index - first] = after;
    return after;
  }
}

/** The numbers from 0 on. */
function countUp(count: number): Uint32Array {
  const numbers = new Uint32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = i;
  return numbers;
}
