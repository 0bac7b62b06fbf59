/**
 * Patterns over messages that are stored as templates and variables. A machine reads text and, in the place of a variable, all
 * that the variable can be: its states are sets of the pattern's.
 */

import { CharClass } from "../template/slot-encoding.ts";
import { slotByte } from "../template/tokenizer.ts";
import { RecentCache } from "../vector/recent-cache.ts";
import { type Alphabet, buildAlphabet } from "./alphabet.ts";
import { Dfa, dead, matched, unknownState } from "./dfa.ts";
import { buildNfa } from "./nfa.ts";
import type { PatternOptions } from "./pattern.ts";
import { buildSearchTree } from "./syntax-tree.ts";

/** Whether the pattern matches all of the texts in question, none of them, or it is open. */
export type AutomatonResult = "all" | "none" | "some";

/** States of a pattern beyond which it is not taken apart. */
const nfaStatesMax = 2_000;
/** States of one machine, some 800 bytes each. */
const statesMax = 2_000;
/** The sum of the states that its states stand for. */
const membersMax = 64_000;

/** States of which nothing leads on; all others are greater. */
const none = 0;
const all = 1;
/** Where the limits are reached: open whatever comes. */
const open = 2;

/** Classes of characters that tokens can have. */
const anyClass =
  CharClass.digit | CharClass.lowerHex | CharClass.lower | CharClass.upper | CharClass.mark | CharClass.other;

export class PatternAutomaton {
  /** The state before a text. */
  readonly start: number;
  readonly #dfa: Dfa;
  readonly #alphabet: Alphabet;
  readonly #ofAscii: Uint8Array;
  /** Entries of a state: its next by symbol, at the end of the text, and by the classes of a variable. */
  readonly #width: number;
  /** A state is the place of its first entry, so that no step multiplies. -1 where the next is not known yet. */
  #next = new Int32Array(0);
  /** The pattern's states that each state stands for; those that lead nowhere have none. */
  readonly #sets: (readonly number[])[] = [[], [], []];
  readonly #states = new Map([
    [`${dead}`, none],
    [`${matched}`, all],
  ]);
  #members = 0;

  constructor(dfa: Dfa, alphabet: Alphabet) {
    this.#dfa = dfa;
    this.#alphabet = alphabet;
    this.#ofAscii = alphabet.ofAscii;
    this.#width = alphabet.size + 1 + anyClass + 1;
    this.start = this.#stateOf(new Set([dfa.start]));
  }

  /** The state behind the text bytes[from, to), which is cut between characters. */
  afterText(state: number, bytes: Uint8Array, from: number, to: number): number {
    const ofAscii = this.#ofAscii;
    let next = this.#next;
    for (let at = from; at < to && state > open; ) {
      const byte = bytes[at]!;
      let symbol: number;
      if (byte < 0x80) {
        symbol = ofAscii[byte]!;
        at++;
      } else {
        const packed = runeAt(bytes, at, to);
        symbol = this.#alphabet.of(packed >> 3);
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
    return state;
  }

  /** The state behind a variable: any token with a digit in it, of characters of the classes (a sum of CharClass). */
  afterVariable(state: number, classes = anyClass): number {
    return state <= open ? state : this.#nextOf(state, this.#alphabet.size + 1 + (classes & anyClass));
  }

  /** What holds of all texts that lead to the state and end there. */
  verdict(state: number): AutomatonResult {
    const end = state <= open ? state : this.#nextOf(state, this.#alphabet.size);
    return end === none ? "none" : end === all ? "all" : "some";
  }

  /** Whether it holds already, however the texts go on. */
  isSettled(state: number): boolean {
    return state === none || state === all;
  }

  #nextOf(state: number, entry: number): number {
    const known = this.#next[state + entry]!;
    return known >= 0 ? known : this.#step(state, entry);
  }

  #step(state: number, entry: number): number {
    const reached = new Set<number>();
    for (const inner of this.#sets[state / this.#width]!) {
      if (entry <= this.#alphabet.size) reached.add(this.#dfa.next(inner, entry));
      else this.#throughToken(inner, entry - this.#alphabet.size - 1, reached);
    }
    const next = reached.has(unknownState) ? open : this.#stateOf(reached);
    if (next !== open) this.#next[state + entry] = next;
    return next;
  }

  /** Adds the pattern's states behind any token of the classes that has a digit in it. */
  #throughToken(from: number, classes: number, reached: Set<number>): void {
    const { charClass, size } = this.#alphabet;
    /** Twice the state, and 1 where a digit was seen. */
    const seen = new Set([from * 2]);
    for (const at of seen) {
      const state = at >> 1;
      if ((at & 1) === 1) reached.add(state);
      if (state === matched && (at & 1) === 1) continue;
      for (let symbol = 0; symbol < size; symbol++) {
        if ((charClass[symbol]! & classes) === 0) continue;
        const next = this.#dfa.next(state, symbol);
        if (next === unknownState) {
          reached.add(unknownState);
          return;
        }
        seen.add(next * 2 + (charClass[symbol] === CharClass.digit ? 1 : at & 1));
      }
    }
  }

  #stateOf(set: ReadonlySet<number>): number {
    const members = [...set].sort((a, b) => a - b);
    const known = this.#states.get(members.join());
    if (known !== undefined) return known;
    if (members.length === 0 || members[0] === unknownState) return open;
    if (this.#sets.length >= statesMax || this.#members > membersMax) return open;
    return this.#add(members);
  }

  #add(members: readonly number[]): number {
    const state = this.#sets.length * this.#width;
    this.#sets.push(members);
    this.#members += members.length;
    this.#states.set(members.join(), state);
    if (state + this.#width > this.#next.length) {
      const larger = new Int32Array(2 * (state + this.#width)).fill(-1);
      larger.set(this.#next);
      this.#next = larger;
    }
    return state;
  }
}

/** A code point and the number of its bytes as `rune << 3 | bytes`; U+FFFD, of one byte, for what is not UTF-8. */
function runeAt(bytes: Uint8Array, at: number, to: number): number {
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

/** Machines keep what they built so far, so a scan of many chunks builds it once. */
const machines = new RecentCache<PatternAutomaton | undefined>(16);

/**
 * The machine of a pattern; undefined for one that is too large to be taken apart. Throws Failure "input" where it is not RE2.
 */
export function buildAutomaton(pattern: string, { whole }: PatternOptions): PatternAutomaton | undefined {
  return machines.get(`${whole}:${pattern}`, () => {
    const nfa = buildNfa(buildSearchTree(pattern, whole), nfaStatesMax);
    const alphabet = nfa && buildAlphabet(nfa.classes);
    return alphabet && new PatternAutomaton(new Dfa(nfa, alphabet, whole), alphabet);
  });
}

/**
 * Whether a pattern matches all messages of a template, none, or it depends on the variables. `classes` holds for each slot of
 * the template, from `slot` on, the classes of characters in its values; without it they can be any.
 */
export function matchTemplate(
  machine: PatternAutomaton,
  template: Uint8Array,
  classes?: Uint8Array,
  slot = 0,
): AutomatonResult {
  const classesOf = (number: number) => classes?.[slot + number] ?? anyClass;
  let state = machine.start;
  // A message that holds the byte of slots is one variable as a whole, be it a token or not.
  if (template.length === 1 && template[0] === slotByte && (classesOf(0) & CharClass.other) !== 0) {
    return machine.isSettled(state) ? machine.verdict(state) : "some";
  }
  let slots = 0;
  for (let at = 0; at < template.length && !machine.isSettled(state); ) {
    const found = template.indexOf(slotByte, at);
    const end = found < 0 ? template.length : found;
    state = machine.afterText(state, template, at, end);
    if (found >= 0) state = machine.afterVariable(state, classesOf(slots++));
    at = end + 1;
  }
  return machine.verdict(state);
}
