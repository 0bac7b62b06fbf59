/** A pattern's states in sets, made as texts ask for them: in each text, one set after another. */
import type { Alphabet } from "./alphabet.ts";
import type { Edge, Nfa } from "./nfa.ts";
import type { Look } from "./syntax-tree.ts";

/** What stands before or behind a place: as far as a pattern can look around. */
type Around = "edge" | "newline" | "word" | "other";

/** No match can come any more. */
export const dead = 0;
/** The pattern has matched, whatever comes. */
export const matched = 1;
/** The limit on states is reached: nothing is known. */
export const unknownState = -1;

/** States of one pattern, and the sum of what is in them: about a megabyte. */
const statesMax = 1_000;
const membersMax = 64_000;

export class Dfa {
  readonly start: number;
  readonly #edges: readonly Edge[];
  readonly #nfaStart: number;
  readonly #alphabet: Alphabet;
  readonly #whole: boolean;
  readonly #looksAhead: boolean;
  /** What a state can still match depends on what stands before it, too. */
  readonly #keepsBefore: boolean;
  /** A match may begin behind any newline, though it could not before. */
  readonly #beginsAtLines: boolean;
  /** Of each state: those of the pattern's states that go on by a code point, a look around, or match at the end. */
  readonly #sets: (readonly number[])[] = [[], []];
  readonly #before: Around[] = ["other", "other"];
  /** Of each state, the next one by symbol; the last entry is that at the end of the text. */
  readonly #next: (number | undefined)[][] = [[], []];
  readonly #numbers = new Map<string, number>();
  #members = 0;

  /** `whole`: the whole text must match, not a part of it. */
  constructor(nfa: Nfa, alphabet: Alphabet, whole: boolean) {
    this.#edges = nfa.edges;
    this.#nfaStart = nfa.start;
    this.#alphabet = alphabet;
    this.#whole = whole;
    const looks = nfa.edges.flatMap((edge) => (edge.kind === "look" ? [edge.at] : []));
    this.#looksAhead = looks.some((at) => at !== "textStart" && at !== "lineStart");
    // A look back can stand behind a look ahead, as in $^, and so be open as long as that.
    this.#keepsBefore = this.#looksAhead && looks.some((at) => at !== "textEnd" && at !== "lineEnd");
    this.#beginsAtLines = !whole && looks.includes("lineStart");
    this.start = this.#stateOf([nfa.start], "edge");
  }

  /** The state behind a symbol, or behind the end of the text (`dead` or `matched`) where that is the alphabet's size. */
  next(state: number, symbol: number): number {
    if (state === dead || state === matched) return state;
    const known = this.#next[state]![symbol];
    if (known !== undefined) return known;
    const next = this.#step(state, symbol);
    if (next !== unknownState) this.#next[state]![symbol] = next;
    return next;
  }

  #step(state: number, symbol: number): number {
    const behind = this.#around(symbol);
    const kept = this.#sets[state]!;
    const set = this.#looksAhead ? this.#closure(kept, this.#before[state]!, behind) : kept;
    const atEnd = symbol === this.#alphabet.size;
    if ((atEnd || !this.#whole) && this.#matches(set)) return matched;
    if (atEnd) return dead;
    const reached: number[] = [];
    for (const from of set) {
      const edge = this.#edges[from]!;
      if (edge.kind === "class" && this.#alphabet.members[edge.class]![symbol] === 1) reached.push(edge.to);
    }
    // A match may begin at every place.
    if (!this.#whole) reached.push(this.#nfaStart);
    return this.#stateOf(reached, behind);
  }

  #stateOf(from: readonly number[], before: Around): number {
    const set = this.#closure(from, before);
    if (set.length === 0 && !this.#beginsAtLines) return dead;
    if (!this.#whole && this.#matches(set)) return matched;
    const key = `${this.#keepsBefore ? before : ""}:${set}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#sets.length >= statesMax || this.#members >= membersMax) return unknownState;
    this.#members += set.length;
    const number = this.#sets.push(set) - 1;
    this.#before.push(before);
    this.#next.push([]);
    this.#numbers.set(key, number);
    return number;
  }

  /** What is reached without a code point. Looks ahead are kept while it is not known what stands behind the place. */
  #closure(from: readonly number[], before: Around, behind?: Around): number[] {
    const seen = new Set<number>();
    const open = [...from];
    const set: number[] = [];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (seen.has(state)) continue;
      seen.add(state);
      const edge = this.#edges[state]!;
      if (edge.kind === "split") open.push(edge.to, edge.or);
      else if (edge.kind !== "look") set.push(state);
      else {
        const stands = isAt(edge.at, before, behind);
        if (stands === undefined) set.push(state);
        else if (stands) open.push(edge.to);
      }
    }
    return set.sort((a, b) => a - b);
  }

  #matches(set: readonly number[]): boolean {
    return set.some((state) => this.#edges[state]!.kind === "match");
  }

  #around(symbol: number): Around {
    if (symbol === this.#alphabet.size) return "edge";
    if (symbol === this.#alphabet.newline) return "newline";
    return this.#alphabet.isWord[symbol] === 1 ? "word" : "other";
  }
}

/** Whether a look holds at a place; undefined where that depends on what stands behind it. */
function isAt(look: Look, before: Around, behind?: Around): boolean | undefined {
  if (look === "textStart") return before === "edge";
  if (look === "lineStart") return before === "edge" || before === "newline";
  if (behind === undefined) return undefined;
  if (look === "textEnd") return behind === "edge";
  if (look === "lineEnd") return behind === "edge" || behind === "newline";
  return ((before === "word") !== (behind === "word")) === (look === "wordBoundary");
}
