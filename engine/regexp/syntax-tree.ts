/** Regular expressions as trees: what of a pattern decides whether it matches. Groups and greediness are gone. */
import { parsePattern, type SyntaxNode } from "./pattern.ts";

export type Look = "lineStart" | "lineEnd" | "textStart" | "textEnd" | "wordBoundary" | "noWordBoundary";

export type Tree =
  /** One code point out of ascending ranges: first, last, first, last … */
  | { kind: "class"; ranges: readonly number[] }
  /** One after the other; the empty text where there are none. */
  | { kind: "concat"; of: readonly Tree[] }
  /** Any of them; no text at all where there are none. */
  | { kind: "alternate"; of: readonly Tree[] }
  | { kind: "star" | "plus" | "optional"; of: Tree }
  /** The empty text, at such a place. */
  | { kind: "look"; at: Look }
  /** Nothing is known of what it matches. */
  | { kind: "unknown" };

/** Bounds the work on patterns that repeat repetitions: nodes of a tree with its repetitions written out. */
const nodesMax = 20_000;

const emptyText: Tree = { kind: "concat", of: [] };
const unknown: Tree = { kind: "unknown" };

/** Throws Failure "input" where the pattern is not RE2. */
function treeOf(pattern: string): Tree {
  return new TreeReader().read(parsePattern(pattern));
}

/**
 * The tree whose match anywhere in a text proves a match of the pattern, and the other way round; of a pattern that is to
 * match the whole text, the tree as it is.
 */
export function buildSearchTree(pattern: string, whole: boolean): Tree {
  const tree = treeOf(pattern);
  return whole ? tree : trim(tree, true, true);
}

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
        return lookOf(node.op);
    }
  }

  #all(node: SyntaxNode): Tree[] {
    return node.of.map((sub) => this.read(sub));
  }

  #literal({ runes, foldsCase }: SyntaxNode): Tree {
    this.#nodes += runes.length;
    const of = runes.map(
      (rune): Tree => ({
        kind: "class",
        ranges: foldsCase ? caseVariants(rune) : [rune, rune],
      }),
    );
    return of.length === 1 ? of[0]! : { kind: "concat", of };
  }
}

const looks: Readonly<Record<string, Look>> = {
  BEGIN_LINE: "lineStart",
  END_LINE: "lineEnd",
  BEGIN_TEXT: "textStart",
  END_TEXT: "textEnd",
  WORD_BOUNDARY: "wordBoundary",
  NO_WORD_BOUNDARY: "noWordBoundary",
};

function lookOf(op: string | undefined): Tree {
  const at = op === undefined ? undefined : looks[op];
  return at === undefined ? unknown : { kind: "look", at };
}

const variantsOf = new Map<number, readonly number[]>();

/** Ranges of the code points that RE2 takes for the same where case is ignored. RE2's own tables say so, through a class. */
function caseVariants(rune: number): readonly number[] {
  const known = variantsOf.get(rune);
  if (known !== undefined) return known;
  // With U+0000 beside it, which has no case, the class is not made a literal again.
  const variants =
    rune < 2 ? [rune, rune] : parsePattern(`(?i)[\\x{0}\\x{${rune.toString(16)}}]`).runes.slice(2);
  variantsOf.set(rune, variants);
  return variants;
}

/** Whether it matches the empty text wherever it stands. */
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
 * Where any text may stand before (`left`) or behind (`right`), what can be empty at that end asks for nothing, and of what
 * repeats there once is enough.
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
