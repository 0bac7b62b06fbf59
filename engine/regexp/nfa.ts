/** A pattern as states and edges: Thompson's construction, built from its end to its beginning. */
import type { Look, Tree } from "./syntax-tree.ts";

export type Edge =
  /** Goes on behind a code point of class number `class`. */
  | { kind: "class"; class: number; to: number }
  /** Goes on at once, both ways. */
  | { kind: "split"; to: number; or: number }
  /** Goes on at once, at such a place. */
  | { kind: "look"; at: Look; to: number }
  | { kind: "match" };

export interface Nfa {
  /** What leaves each state. */
  edges: readonly Edge[];
  start: number;
  /** Ranges of the classes: first, last, first, last … */
  classes: readonly (readonly number[])[];
}

/** Undefined where the pattern is not understood or has more states than `statesMax`. */
export function buildNfa(tree: Tree, statesMax: number): Nfa | undefined {
  const builder = new Builder(statesMax);
  const start = builder.build(tree, builder.add({ kind: "match" }));
  return builder.failed ? undefined : { edges: builder.edges, start, classes: [...builder.classes.values()] };
}

class Builder {
  readonly edges: Edge[] = [];
  readonly classes = new Map<string, readonly number[]>();
  failed = false;
  readonly #numbers = new Map<string, number>();
  readonly #statesMax: number;

  constructor(statesMax: number) {
    this.#statesMax = statesMax;
  }

  add(edge: Edge): number {
    if (this.edges.length >= this.#statesMax) this.failed = true;
    return this.edges.push(edge) - 1;
  }

  /** The state from which `tree` leads to state `to`. */
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
      case "look":
        return this.add({ kind: "look", at: tree.at, to });
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
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#numbers.size;
    this.#numbers.set(key, number);
    this.classes.set(key, ranges);
    return number;
  }
}
