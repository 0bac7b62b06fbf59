/** Regular expressions as trees, reduced to what decides whether a text matches: without groups and greediness. */
import { parsePattern, type SyntaxNode } from "./pattern.ts";

/** A zero-width assertion. */
export type Assertion = "lineStart" | "lineEnd" | "textStart" | "textEnd" | "wordBoundary" | "noWordBoundary";

export type Tree =
  /** One code point out of ascending ranges: first, last, first, last … */
  | { kind: "class"; ranges: readonly number[] }
  /** One after the other; the empty text where the list is empty. */
  | { kind: "concat"; of: readonly Tree[] }
  /** Any of them; matches nothing where the list is empty. */
  | { kind: "alternate"; of: readonly Tree[] }
  | { kind: "star" | "plus" | "optional"; of: Tree }
  /** The empty text, where the assertion holds. */
  | { kind: "assertion"; at: Assertion }
  /** Could match anything. */
  | { kind: "unknown" };

/**
 * Maximum number of nodes of a tree, in which bounded repetitions (`x{2,5}`) are written out. It bounds the work on
 * nested repetitions.
 */
const nodesMax = 20_000;

const emptyText: Tree = { kind: "concat", of: [] };
const unknown: Tree = { kind: "unknown" };

function parseTree(pattern: string): Tree {
  return new TreeReader().read(parsePattern(pattern));
}

/**
 * Builds a tree that matches some part of a text if and only if the pattern does. With `whole`, it is the tree of the
 * pattern itself, which must match the whole text. Throws Failure "input" where the pattern is not RE2.
 */
export function buildSearchTree(pattern: string, whole: boolean): Tree {
  const tree = parseTree(pattern);
  return whole ? tree : trim(tree, true, true);
}

/** Converts RE2's syntax tree. Every node after the first `nodesMax` becomes "unknown". */
class TreeReader {
  #nodes = 0;

  read(node: SyntaxNode): Tree {
    if (++this.#nodes > nodesMax) return unknown;
    switch (node.op) {
      case "NO_MATCH":
        return { kind: "alternate", of: [] };
      case "EMPTY_MATCH":
        return emptyText;
      case "LITERAL":
        return this.#literal(node);
      case "CHAR_CLASS":
        return { kind: "class", ranges: node.runes };
      case "ANY_CHAR":
        return { kind: "class", ranges: [0, 0x10ffff] };
      case "ANY_CHAR_NOT_NL":
        return { kind: "class", ranges: [0, 9, 11, 0x10ffff] };
      case "CAPTURE":
        return this.read(node.of[0]!);
      case "CONCAT":
        return { kind: "concat", of: this.#all(node) };
      case "ALTERNATE":
        return { kind: "alternate", of: this.#all(node) };
      case "STAR":
        return { kind: "star", of: this.read(node.of[0]!) };
      case "PLUS":
        return { kind: "plus", of: this.read(node.of[0]!) };
      case "QUEST":
        return { kind: "optional", of: this.read(node.of[0]!) };
      default:
        return toAssertion(node.op);
    }
  }

  #all(node: SyntaxNode): Tree[] {
    return node.of.map((sub) => this.read(sub));
  }

  #literal({ runes, foldsCase }: SyntaxNode): Tree {
    this.#nodes += runes.length;
    const of = runes.map(
      (rune): Tree => ({ kind: "class", ranges: foldsCase ? caseVariantsOf(rune) : [rune, rune] }),
    );
    return of.length === 1 ? of[0]! : { kind: "concat", of };
  }
}

const assertions: Readonly<Record<string, Assertion>> = {
  BEGIN_LINE: "lineStart",
  END_LINE: "lineEnd",
  BEGIN_TEXT: "textStart",
  END_TEXT: "textEnd",
  WORD_BOUNDARY: "wordBoundary",
  NO_WORD_BOUNDARY: "noWordBoundary",
};

function toAssertion(op: string | undefined): Tree {
  const at = op === undefined ? undefined : assertions[op];
  return at === undefined ? unknown : { kind: "assertion", at };
}

const caseVariantCache = new Map<number, readonly number[]>();

/**
 * Returns ranges of the code points that RE2 equates with this one where case is ignored. They are read from the
 * character class that RE2's parser returns.
 */
function caseVariantsOf(rune: number): readonly number[] {
  const known = caseVariantCache.get(rune);
  if (known !== undefined) return known;
  // RE2 would simplify a class of one letter to a literal. So the class gets a second member, U+0000, whose range comes
  // first and is cut off. U+0000 and U+0001 would share that range, and have no case.
  const variants =
    rune < 2 ? [rune, rune] : parsePattern(`(?i)[\\x{0}\\x{${rune.toString(16)}}]`).runes.slice(2);
  caseVariantCache.set(rune, variants);
  return variants;
}

/** Returns whether the tree matches the empty text at every position. */
function isNullable(tree: Tree): boolean {
  switch (tree.kind) {
    case "concat":
      return tree.of.every(isNullable);
    case "alternate":
      return tree.of.some(isNullable);
    case "plus":
      return isNullable(tree.of);
    default:
      return tree.kind === "star" || tree.kind === "optional";
  }
}

/**
 * Removes what a search does not need. Any text may precede (`left`) or follow (`right`) a match, so at that end a part
 * that can be empty is dropped, and one occurrence of a repetition is enough.
 */
function trim(tree: Tree, left: boolean, right: boolean): Tree {
  if (!left && !right) return tree;
  if (isNullable(tree)) return emptyText;
  switch (tree.kind) {
    case "plus":
      return trim(tree.of, left, right);
    case "alternate":
      return { kind: "alternate", of: tree.of.map((branch) => trim(branch, left, right)) };
    case "concat":
      return trimConcat(tree.of, left, right);
    default:
      return tree;
  }
}

function trimConcat(of: readonly Tree[], left: boolean, right: boolean): Tree {
  const first = left ? of.findIndex((part) => !isNullable(part)) : 0;
  const last = right ? of.findLastIndex((part) => !isNullable(part)) : of.length - 1;
  const kept = of.slice(first, last + 1);
  return {
    kind: "concat",
    of: kept.map((part, i) => trim(part, left && i === 0, right && i === kept.length - 1)),
  };
}
