/** Regular expressions in RE2 syntax: linear time in the text, whatever the pattern. The one importer of re2js. */
import { RE2JS, RE2Set } from "re2js";
import { Failure } from "../failure.ts";
import { RecentCache } from "../vector/recent-cache.ts";

export interface TextPattern {
  /** Tests a text, or its UTF-8 bytes. */
  test(text: string | Uint8Array): boolean;
}

export interface PatternOptions {
  /** The whole text must match, not a part of it. */
  whole: boolean;
}

/** Throws Failure "input" where the pattern is not RE2. */
export function compilePattern(pattern: string, options: PatternOptions): TextPattern {
  const compiled = compile(pattern);
  return options.whole
    ? { test: (text) => compiled.testExact(text) }
    : { test: (text) => compiled.test(text) };
}

/** Reads named groups out of a text: [name, value] for each group that took part in the first match. */
export function compileGroups(pattern: string): (text: string) => [string, string][] {
  const compiled = compile(pattern);
  const names = Object.keys(compiled.namedGroups());
  return (text) => {
    const groups = compiled.exec(text) as { groups?: Record<string, string | undefined | null> } | null;
    if (groups?.groups === undefined) return [];
    const found = groups.groups;
    return names.flatMap((name): [string, string][] => {
      const value = found[name];
      return value === undefined || value === null ? [] : [[name, value]];
    });
  };
}

/** A node of the tree that RE2 parses a pattern into: counted repetitions written out, groups numbered, flags resolved. */
export interface SyntaxNode {
  /** RE2's name of the operation, as in "CONCAT"; undefined where this version of RE2 is not known. */
  op: string | undefined;
  /** Of a literal: each character stands for all that differ from it in case alone. */
  foldsCase: boolean;
  /** Code points of a literal; first and last of each range of a class. */
  runes: readonly number[];
  of: readonly SyntaxNode[];
}

/** Throws Failure "input" where the pattern is not RE2. */
export function parsePattern(pattern: string): SyntaxNode {
  return refusing(pattern, () => {
    const set = new RE2Set();
    set.add(pattern);
    return syntaxNode(set.regexps[0] as Regexp, new Map());
  });
}

/** re2js's own tree, as far as it is read here. */
interface Regexp {
  constructor: { Op?: Record<number, string> };
  op: number;
  flags: number;
  runes: Int32Array | readonly number[] | null;
  subs: readonly Regexp[] | null;
}

const foldCaseFlag = 1;

/** Repetitions share their nodes: each is read once. Recurses as deeply as the pattern, which RE2 bounds, nests. */
function syntaxNode(regexp: Regexp, known: Map<Regexp, SyntaxNode>): SyntaxNode {
  const seen = known.get(regexp);
  if (seen !== undefined) return seen;
  const node: SyntaxNode = {
    op: regexp.constructor.Op?.[regexp.op],
    foldsCase: (regexp.flags & foldCaseFlag) !== 0,
    runes: Array.from(regexp.runes ?? []),
    of: (regexp.subs ?? []).map((sub) => syntaxNode(sub, known)),
  };
  known.set(regexp, node);
  return node;
}

/** Compiled patterns keep the automaton that they built so far, so a scan of many chunks builds it once. */
const compiledPatterns = new RecentCache<RE2JS>(64);

function compile(pattern: string): RE2JS {
  return compiledPatterns.get(pattern, () => refusing(pattern, () => RE2JS.compile(pattern)));
}

function refusing<T>(pattern: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      "input",
      `the regular expression ${JSON.stringify(pattern)} is not RE2 syntax: ${reason}`,
    );
  }
}
