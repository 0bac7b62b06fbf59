/**
 * A pattern as a nondeterministic automaton: Thompson's construction, built from the pattern's end to its beginning.
 */

import { getOrMake } from "../vector/map-entry.ts";
import type { Assertion, Tree } from "./syntax-tree.ts";

/** What leaves a state; `to` and `or` are numbers of states. */
export type Edge =
  /** Consumes a code point of the class with the number `class`. */
  | { kind: "class"; class: number; to: number }
  /** Goes to both states and consumes nothing. */
  | { kind: "split"; to: number; or: number }
  /** Consumes nothing and goes on where the assertion holds. */
  | { kind: "assertion"; at: Assertion; to: number }
  | { kind: "match" };

export interface Nfa {
  /** By state. */
  edges: readonly Edge[];
  start: number;
  /** Code point ranges of each class: first, last, first, last … */
  classes: readonly (readonly number[])[];
}

/** Undefined where the tree has an unknown node or the automaton would have more states than `statesMax`. */
export function buildNfa(tree: Tree, statesMax: number): Nfa | undefined {
  const builder = new NfaBuilder(statesMax);
  const start = builder.build(tree, builder.add({ kind: "match" }));
  return builder.failed ? undefined : { edges: builder.edges, start, classes: [...builder.classes.values()] };
}

class NfaBuilder {
  readonly edges: Edge[] = [];
  readonly classes = new Map<string, readonly number[]>();
  failed = false;
  readonly #classNumbers = new Map<string, number>();
  readonly #statesMax: number;

  constructor(statesMax: number) {
    this.#statesMax = statesMax;
  }

  add(edge: Edge): number {
    if (this.edges.length >= this.#statesMax) this.failed = true;
    return this.edges.push(edge) - 1;
  }

  /** Adds the states of `tree` in front of state `to` and returns the first of them. */
  build(tree: Tree, to: number): number {
    if (this.failed) return to;
    switch (tree.kind) {
      case "class":
        return this.add({ kind: "class", class: this.#classNumber(tree.ranges), to });
      case "concat":
        return tree.of.reduceRight((next, part) => this.build(part, next), to);
      case "alternate":
        return this.#alternate(tree.of, to);
      case "optional":
        return this.add({ kind: "split", to: this.build(tree.of, to), or: to });
      case "star":
        return this.#loop(tree.of, to).split;
      case "plus":
        return this.#loop(tree.of, to).body;
      case "assertion":
        return this.add({ kind: "assertion", at: tree.at, to });
      case "unknown":
        this.failed = true;
        return to;
    }
  }

  #alternate(branches: readonly Tree[], to: number): number {
    const [first = { kind: "class", ranges: [] } as const, ...others] = branches;
    return others.reduce(
      (start, branch) => this.add({ kind: "split", to: start, or: this.build(branch, to) }),
      this.build(first, to),
    );
  }

  #loop(tree: Tree, to: number): { split: number; body: number } {
    const edge = { kind: "split" as const, to, or: to };
    const split = this.add(edge);
    const body = this.build(tree, split);
    edge.or = body;
    return { split, body };
  }

  #classNumber(ranges: readonly number[]): number {
    const key = ranges.join();
    this.classes.set(key, ranges);
    return getOrMake(this.#classNumbers, key, () => this.#classNumbers.size);
  }
}
