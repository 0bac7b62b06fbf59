/** A lazy DFA: its states are sets of NFA states, built when a text first reaches them. */
import type { Alphabet } from "./alphabet.ts";
import type { Edge, Nfa } from "./nfa.ts";
import type { Assertion } from "./syntax-tree.ts";

/** What an assertion can see of the code point before or after a position; "edge" is the start or end of the text. */
type Surrounding = "edge" | "newline" | "word" | "other";

/** State from which no match is possible. */
export const dead = 0;
/** State in which the pattern has matched, whatever follows. */
export const matched = 1;
/** Returned in the place of a state where the limits on states are reached: the result is unknown. */
export const limitReached = -1;

/** Limits on the states of one pattern and on the sum of the NFA states in them: about a megabyte. */
const dfaStatesMax = 1_000;
const nfaStateRefsMax = 64_000;

/** The states of one pattern over its alphabet. */
export class Dfa {
  readonly start: number;
  readonly #edges: readonly Edge[];
  readonly #nfaStart: number;
  readonly #alphabet: Alphabet;
  readonly #whole: boolean;
  /** Some assertion depends on what follows, so a state is closed only when its next symbol is known. */
  readonly #dependsOnNext: boolean;
  /** What a state can match depends on what precedes it, so that is a part of the state. */
  readonly #keepsPrevious: boolean;
  /** A match may begin after any newline, so an empty set of NFA states is not dead. */
  readonly #restartsAtLines: boolean;
  /** Of each state: its NFA states that consume a code point, are an undecided assertion, or match. */
  readonly #nfaStateSets: (readonly number[])[] = [[], []];
  /** Of each state: what precedes it. */
  readonly #previous: Surrounding[] = ["other", "other"];
  /** Of each state: the next state by symbol; the last entry is for the end of the text. */
  readonly #next: (number | undefined)[][] = [[], []];
  readonly #stateByKey = new Map<string, number>();
  #nfaStateRefs = 0;

  /** `whole`: the whole text must match, not only a part of it. */
  constructor(nfa: Nfa, alphabet: Alphabet, whole: boolean) {
    this.#edges = nfa.edges;
    this.#nfaStart = nfa.start;
    this.#alphabet = alphabet;
    this.#whole = whole;
    const assertions = nfa.edges.flatMap((edge) => (edge.kind === "assertion" ? [edge.at] : []));
    this.#dependsOnNext = assertions.some((at) => at !== "textStart" && at !== "lineStart");
    // An assertion about what precedes can follow one about what follows, as in $^, and is then undecided just as long.
    this.#keepsPrevious =
      this.#dependsOnNext && assertions.some((at) => at !== "textEnd" && at !== "lineEnd");
    this.#restartsAtLines = !whole && assertions.includes("lineStart");
    this.start = this.#stateOf([nfa.start], "edge");
  }

  /**
   * The state after a symbol. The alphabet's size stands for the end of the text; the state is then `dead` or
   * `matched`. Returns `limitReached` where no more states may be built.
   */
  next(state: number, symbol: number): number {
    if (state === dead || state === matched) return state;
    const known = this.#next[state]![symbol];
    if (known !== undefined) return known;
    const next = this.#step(state, symbol);
    if (next !== limitReached) this.#next[state]![symbol] = next;
    return next;
  }

  #step(state: number, symbol: number): number {
    const following = this.#classify(symbol);
    const kernel = this.#nfaStateSets[state]!;
    const set = this.#dependsOnNext ? this.#closure(kernel, this.#previous[state]!, following) : kernel;
    const atEnd = symbol === this.#alphabet.size;
    if ((atEnd || !this.#whole) && this.#includesMatch(set)) return matched;
    if (atEnd) return dead;
    const reached: number[] = [];
    for (const nfaState of set) {
      const edge = this.#edges[nfaState]!;
      if (edge.kind === "class" && this.#alphabet.classMembers[edge.class]![symbol] === 1)
        reached.push(edge.to);
    }
    // A search may begin a match at every position.
    if (!this.#whole) reached.push(this.#nfaStart);
    return this.#stateOf(reached, following);
  }

  #stateOf(from: readonly number[], previous: Surrounding): number {
    const set = this.#closure(from, previous);
    if (set.length === 0 && !this.#restartsAtLines) return dead;
    if (!this.#whole && this.#includesMatch(set)) return matched;
    const key = `${this.#keepsPrevious ? previous : ""}:${set}`;
    const known = this.#stateByKey.get(key);
    if (known !== undefined) return known;
    if (this.#nfaStateSets.length >= dfaStatesMax || this.#nfaStateRefs >= nfaStateRefsMax)
      return limitReached;
    this.#nfaStateRefs += set.length;
    const number = this.#nfaStateSets.push(set) - 1;
    this.#previous.push(previous);
    this.#next.push([]);
    this.#stateByKey.set(key, number);
    return number;
  }

  /**
   * The NFA states that are reached without consuming a code point, ascending. While `following` is not known,
   * assertions about it stay in the set.
   */
  #closure(from: readonly number[], previous: Surrounding, following?: Surrounding): number[] {
    const seen = new Set<number>();
    const pending = [...from];
    const set: number[] = [];
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (seen.has(state)) continue;
      seen.add(state);
      const edge = this.#edges[state]!;
      if (edge.kind === "split") pending.push(edge.to, edge.or);
      else if (edge.kind !== "assertion") set.push(state);
      else {
        const holds = isAssertionMet(edge.at, previous, following);
        if (holds === undefined) set.push(state);
        else if (holds) pending.push(edge.to);
      }
    }
    return set.sort((a, b) => a - b);
  }

  #includesMatch(set: readonly number[]): boolean {
    return set.some((state) => this.#edges[state]!.kind === "match");
  }

  #classify(symbol: number): Surrounding {
    if (symbol === this.#alphabet.size) return "edge";
    if (symbol === this.#alphabet.newline) return "newline";
    return this.#alphabet.isWord[symbol] === 1 ? "word" : "other";
  }
}

/** Whether an assertion holds at a position; undefined where that depends on what follows and this is not known. */
function isAssertionMet(
  assertion: Assertion,
  previous: Surrounding,
  following?: Surrounding,
): boolean | undefined {
  if (assertion === "textStart") return previous === "edge";
  if (assertion === "lineStart") return previous === "edge" || previous === "newline";
  if (following === undefined) return undefined;
  if (assertion === "textEnd") return following === "edge";
  if (assertion === "lineEnd") return following === "edge" || following === "newline";
  return ((previous === "word") !== (following === "word")) === (assertion === "wordBoundary");
}
