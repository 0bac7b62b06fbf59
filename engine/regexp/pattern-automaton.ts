/**
 * Runs patterns over templates. An automaton reads a template's text and, in the place of a variable, every value that
 * the variable can have: each of its states is a set of DFA states.
 */

import type { AutomatonTable } from "../kernels/automaton.ts";
import { slotByte } from "../template/tokenizer.ts";
import { CharClass } from "../template/variables/slot-encoding.ts";
import { lineValueClass } from "../template/variables/variable-columns.ts";
import { RecentCache } from "../vector/recent-cache.ts";
import { type Alphabet, buildAlphabet } from "./alphabet.ts";
import { Dfa, dead, limitReached, matched } from "./dfa.ts";
import { buildNfa } from "./nfa.ts";
import type { PatternOptions } from "./pattern.ts";
import { buildSearchTree } from "./syntax-tree.ts";

/** Whether the pattern matches all texts in question or none of them; "some": the automaton cannot decide. */
export type AutomatonResult = "all" | "none" | "some";

/** A pattern with more NFA states gets no automaton. */
const nfaStatesMax = 2_000;
/** States of one automaton, some 800 bytes each. */
const automatonStatesMax = 2_000;
/** Limit on the sum of the DFA states that an automaton's states stand for. */
const dfaStateRefsMax = 64_000;

/**
 * Values of lines may be almost any text. Where that leads to more states the value is read: looking for all of them would
 * use up the states that reading texts needs.
 */
const lineVisitsMax = 128;

/** Final states: no transition leaves them. All other states have greater numbers. */
const matchesNone = 0;
const matchesAll = 1;
/** Final state where the limits are reached: undecided whatever follows. */
const undecided = 2;

/** Every class of characters that a token can have. */
const anyToken =
  CharClass.digit | CharClass.lowerHex | CharClass.lower | CharClass.upper | CharClass.mark | CharClass.other;
/** All bits of a slot's classes on which `afterVariable` depends. */
const anyVariable = anyToken | lineValueClass;

/** The automaton of one pattern, built lazily: a state or transition is added when a text first needs it. */
export class PatternAutomaton {
  /** The state at the beginning of a text. */
  readonly start: number;
  /** Whether each part of a text that the pattern matches lies within one line. */
  readonly staysInLine: boolean;
  readonly #dfa: Dfa;
  readonly #alphabet: Alphabet;
  readonly #asciiSymbols: Uint8Array;
  /** Transitions of a state: one a symbol, one for the end of the text, one for each sum of a variable's classes. */
  readonly #width: number;
  /**
   * Transitions of all states; -1 is not computed yet. A state is the index of its first one, so no step multiplies.
   */
  #next = new Int32Array(0);
  /** The DFA states that each state stands for; the three final states have none. */
  readonly #dfaStateSets: (readonly number[])[] = [[], [], []];
  readonly #stateByKey = new Map([
    [`${dead}`, matchesNone],
    [`${matched}`, matchesAll],
  ]);
  #dfaStateRefs = 0;
  /** Where `#read` ended. */
  #readTo = 0;
  /** The table for kernels; undefined where a transition was added since. */
  #table: AutomatonTable<ArrayBuffer> | undefined;

  constructor(dfa: Dfa, alphabet: Alphabet) {
    this.#dfa = dfa;
    this.#alphabet = alphabet;
    this.#asciiSymbols = alphabet.asciiSymbols;
    this.staysInLine = alphabet.classMembers.every((members) => members[alphabet.newline] === 0);
    this.#width = alphabet.size + 1 + anyVariable + 1;
    this.start = this.#stateOf(new Set([dfa.start]));
  }

  /** The state after the text bytes[from, to), whose ends lie between characters. */
  afterText(state: number, bytes: Uint8Array, from: number, to: number): number {
    return this.#read(state, bytes, from, to, -1);
  }

  /**
   * The result for the text bytes[from, to), where `prefix` is the pattern's literal prefix (`literalPrefixOf`). It is read
   * from each occurrence of the prefix until the automaton is at its start again.
   */
  resultAfterPrefix(prefix: Uint8Array, bytes: Buffer, from: number, to: number): AutomatonResult {
    const text = bytes.subarray(from, to);
    for (let at = text.indexOf(prefix); at >= 0; at = text.indexOf(prefix, this.#readTo)) {
      const begun = this.afterText(this.start, text, at, at + prefix.length);
      const state = this.#read(begun, text, at + prefix.length, text.length, this.start);
      if (state !== this.start) return this.resultAt(state);
    }
    return "none";
  }

  /** As `afterText`, and ends at a state `end` as well; `#readTo` is the end of what was read. */
  #read(state: number, bytes: Uint8Array, from: number, to: number, end: number): number {
    const asciiSymbols = this.#asciiSymbols;
    let next = this.#next;
    let at = from;
    while (at < to && state > undecided && state !== end) {
      const byte = bytes[at]!;
      let symbol: number;
      if (byte < 0x80) {
        symbol = asciiSymbols[byte]!;
        at++;
      } else {
        const packed = decodeRune(bytes, at, to);
        symbol = this.#alphabet.symbolOf(packed >> 3);
        at += packed & 7;
      }
      const known = next[state + symbol]!;
      if (known >= 0) {
        state = known;
        continue;
      }
      state = this.#step(state, symbol);
      next = this.#next;
    }
    this.#readTo = at;
    return state;
  }

  /**
   * The transitions so far over ASCII, for kernels; the same object until one is added. All others lead to the unknown
   * state.
   */
  get table(): AutomatonTable<ArrayBuffer> {
    this.#table ??= this.#makeTable();
    return this.#table;
  }

  /** The state's number in tables. */
  toTableState(state: number): number {
    return (state <= undecided ? state : state / this.#width) * this.#tableWidth;
  }

  /** The state with that number in tables; the unknown state is undecided here. */
  fromTableState(tableState: number): number {
    const index = tableState / this.#tableWidth;
    return index <= undecided ? index : index * this.#width;
  }

  get #tableWidth(): number {
    return this.#alphabet.size + 2;
  }

  #makeTable(): AutomatonTable<ArrayBuffer> {
    const { size } = this.#alphabet;
    const width = this.#tableWidth;
    const symbols = new Uint8Array(256).fill(size + 1);
    symbols.set(this.#asciiSymbols);
    const next = new Uint32Array(this.#dfaStateSets.length * width).fill(undecided * width);
    for (let index = 0; index < this.#dfaStateSets.length; index++) {
      const entries = next.subarray(index * width, (index + 1) * width);
      if (index <= undecided) {
        entries.fill(index * width);
        continue;
      }
      for (let symbol = 0; symbol <= size; symbol++) {
        const following = this.#next[index * this.#width + symbol]!;
        if (following >= 0) entries[symbol] = this.toTableState(following);
      }
    }
    return { width, symbols, next };
  }

  /**
   * The state after a variable whose slot has these classes: any token that has a digit and only characters of `classes`
   * (a sum of `CharClass`). With `lineValueClass` it needs no digit; with `CharClass.other`, too, it may have separators, but
   * no line feed.
   */
  afterVariable(state: number, classes = anyToken): number {
    return state <= undecided
      ? state
      : this.#nextOf(state, this.#alphabet.size + 1 + (classes & anyVariable));
  }

  /** The result for all texts that reach the state and end there. */
  resultAt(state: number): AutomatonResult {
    const end = state <= undecided ? state : this.#nextOf(state, this.#alphabet.size);
    return end === matchesNone ? "none" : end === matchesAll ? "all" : "some";
  }

  /** Whether no text leads out of the state: the result is certain, or the automaton has reached its limits. */
  isFinal(state: number): boolean {
    return state <= undecided;
  }

  /** Whether the state stands for one state of the DFA alone, so that all texts that lead to it have the same future. */
  isSingle(state: number): boolean {
    return state <= undecided || this.#dfaStateSets[state / this.#width]!.length === 1;
  }

  /** Whether the result is certain, however the texts go on. */
  isDecided(state: number): boolean {
    return state === matchesNone || state === matchesAll;
  }

  #nextOf(state: number, entry: number): number {
    const known = this.#next[state + entry]!;
    return known >= 0 ? known : this.#step(state, entry);
  }

  #step(state: number, entry: number): number {
    const reached = new Set<number>();
    for (const dfaState of this.#dfaStateSets[state / this.#width]!) {
      if (entry <= this.#alphabet.size) reached.add(this.#dfa.next(dfaState, entry));
      else this.#collectBehindVariables(dfaState, entry - this.#alphabet.size - 1, reached);
    }
    const next = reached.has(limitReached) ? undecided : this.#stateOf(reached);
    // What a value of any text leads to is not looked for again; the table has no such transitions.
    if (entry > this.#alphabet.size) this.#next[state + entry] = next;
    else if (next !== undecided) {
      this.#next[state + entry] = next;
      this.#table = undefined;
    }
    return next;
  }

  /** Adds to `reached` the DFA states after any value of a variable whose slot has these classes. */
  #collectBehindVariables(from: number, classes: number, reached: Set<number>): void {
    const { charClasses, size, newline } = this.#alphabet;
    const isLineValue = (classes & lineValueClass) !== 0;
    const separators = isLineValue ? CharClass.other : 0;
    // Breadth-first over 2 × DFA state, plus 1 where the value may end; the set grows while it is walked.
    const seen = new Set([from * 2]);
    const visitsMax = isLineValue ? lineVisitsMax : Number.POSITIVE_INFINITY;
    for (const visit of seen) {
      if (seen.size > visitsMax) {
        reached.add(limitReached);
        return;
      }
      const state = visit >> 1;
      if ((visit & 1) === 1) reached.add(state);
      if (state === matched && (visit & 1) === 1) continue;
      for (let symbol = 0; symbol < size; symbol++) {
        const charClass = charClasses[symbol]! || separators;
        if ((charClass & classes) === 0 || symbol === newline) continue;
        const next = this.#dfa.next(state, symbol);
        if (next === limitReached) {
          reached.add(limitReached);
          return;
        }
        seen.add(next * 2 + (isLineValue || charClass === CharClass.digit ? 1 : visit & 1));
      }
    }
  }

  #stateOf(set: ReadonlySet<number>): number {
    const members = [...set].sort((a, b) => a - b);
    const known = this.#stateByKey.get(members.join());
    if (known !== undefined) return known;
    if (members.length === 0 || members[0] === limitReached) return undecided;
    if (this.#dfaStateSets.length >= automatonStatesMax || this.#dfaStateRefs > dfaStateRefsMax)
      return undecided;
    return this.#add(members);
  }

  #add(members: readonly number[]): number {
    const state = this.#dfaStateSets.length * this.#width;
    this.#dfaStateSets.push(members);
    this.#dfaStateRefs += members.length;
    this.#stateByKey.set(members.join(), state);
    if (state + this.#width > this.#next.length) {
      const larger = new Int32Array(2 * (state + this.#width)).fill(-1);
      larger.set(this.#next);
      this.#next = larger;
    }
    return state;
  }
}

/** Decodes a code point to `rune << 3 | number of its bytes`; a byte that is not UTF-8 is a U+FFFD of one byte. */
function decodeRune(bytes: Uint8Array, at: number, to: number): number {
  const first = bytes[at]!;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > to) return notUtf8;
  let rune = first & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) {
    const byte = bytes[at + i]!;
    if ((byte & 0xc0) !== 0x80) return notUtf8;
    rune = (rune << 6) | (byte & 0x3f);
  }
  const isOverlong = rune < (length === 4 ? 0x10000 : length === 3 ? 0x800 : 0x80);
  if (isOverlong || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff)) return notUtf8;
  return (rune << 3) | length;
}

const notUtf8 = (0xfffd << 3) | 1;

/** Automatons keep the states built so far, so a scan of many chunks builds them once. */
const automatons = new RecentCache<PatternAutomaton | undefined>(16);

/** The automaton of a pattern; undefined where the pattern is too large. Throws Failure "input" where it is not RE2. */
export function buildAutomaton(pattern: string, { whole }: PatternOptions): PatternAutomaton | undefined {
  return automatons.get(`${whole}:${pattern}`, () => {
    const nfa = buildNfa(buildSearchTree(pattern, whole), nfaStatesMax);
    const alphabet = nfa && buildAlphabet(nfa.classes);
    return alphabet && new PatternAutomaton(new Dfa(nfa, alphabet, whole), alphabet);
  });
}

/**
 * Whether a pattern matches all messages of a template or none; "some" where that depends on the variables. `classes`
 * holds, from index `firstSlot` on, the classes of characters in the values of each of the template's slots; without it
 * a value can have any.
 */
export function matchTemplate(
  automaton: PatternAutomaton,
  template: Uint8Array,
  classes?: Uint8Array,
  firstSlot = 0,
): AutomatonResult {
  const classesOf = (number: number) => classes?.[firstSlot + number] ?? anyToken;
  let state = automaton.start;
  // A message that contains the slot byte is stored as a single variable, even where it is not a token.
  if (template.length === 1 && template[0] === slotByte && (classesOf(0) & CharClass.other) !== 0) {
    return automaton.isDecided(state) ? automaton.resultAt(state) : "some";
  }
  let slots = 0;
  for (let at = 0; at < template.length && !automaton.isDecided(state); ) {
    const found = template.indexOf(slotByte, at);
    const end = found < 0 ? template.length : found;
    state = automaton.afterText(state, template, at, end);
    if (found >= 0) state = automaton.afterVariable(state, classesOf(slots++));
    at = end + 1;
  }
  return automaton.resultAt(state);
}
