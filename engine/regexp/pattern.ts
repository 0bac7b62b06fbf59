/** Regular expressions in RE2 syntax, which match in time linear in the text. The only file that imports re2js. */
import { RE2JS, RE2Set } from "re2js";
import { Failure } from "../failure.ts";
import { RecentCache } from "../vector/recent-cache.ts";

export interface TextPattern {
  /** Whether the pattern matches a text, given as a string or as its UTF-8 bytes. */
  test(text: string | Uint8Array): boolean;
}

export interface PatternOptions {
  /** The whole text must match, not only a part of it. */
  whole: boolean;
}

/** Compiles a pattern. Throws Failure "input" where it is not RE2. */
export function compilePattern(pattern: string, options: PatternOptions): TextPattern {
  const compiled = compile(pattern);
  return { test: options.whole ? (text) => compiled.testExact(text) : (text) => compiled.test(text) };
}

/**
 * Compiles a pattern to a reader of its named groups: [name, value] of each group that took part in a text's first
 * match. Throws Failure "input" where the pattern is not RE2.
 */
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

/**
 * A node of the syntax tree that RE2 parses a pattern into. Counted repetitions are written out, groups numbered, flags
 * resolved.
 */
export interface SyntaxNode {
  /** RE2's name of the operation, such as "CONCAT"; undefined where this build of re2js does not name it. */
  op: string | undefined;
  /** Of a literal: case is ignored. */
  foldsCase: boolean;
  /** Code points of a literal; the first and last one of each range of a class. */
  runes: readonly number[];
  /** Operands. */
  of: readonly SyntaxNode[];
}

/** Parses a pattern to its syntax tree. Throws Failure "input" where it is not RE2. */
export function parsePattern(pattern: string): SyntaxNode {
  return rejectInvalid(pattern, () => {
    const set = new RE2Set();
    set.add(pattern);
    return toSyntaxNode(set.regexps[0] as Regexp, new Map());
  });
}

/** The part of re2js's private syntax tree that is read here. */
interface Regexp {
  constructor: { Op?: Record<number, string> };
  op: number;
  flags: number;
  runes: Int32Array | readonly number[] | null;
  subs: readonly Regexp[] | null;
}

const foldCaseFlag = 1;

/** Converts a node once, since repetitions share nodes. Recursion is as deep as the pattern nests, which RE2 limits. */
function toSyntaxNode(regexp: Regexp, known: Map<Regexp, SyntaxNode>): SyntaxNode {
  const seen = known.get(regexp);
  if (seen !== undefined) return seen;
  const node: SyntaxNode = {
    op: regexp.constructor.Op?.[regexp.op],
    foldsCase: (regexp.flags & foldCaseFlag) !== 0,
    runes: Array.from(regexp.runes ?? []),
    of: (regexp.subs ?? []).map((sub) => toSyntaxNode(sub, known)),
  };
  known.set(regexp, node);
  return node;
}

/** Compiled patterns keep the states they have built, so a scan of many chunks builds them once. */
const compiledPatterns = new RecentCache<RE2JS>(64);

function compile(pattern: string): RE2JS {
  return compiledPatterns.get(pattern, () => rejectInvalid(pattern, () => RE2JS.compile(pattern)));
}

/** Calls `read` and turns what it throws into Failure "input". */
function rejectInvalid<T>(pattern: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = `the regular expression ${JSON.stringify(pattern)} is not RE2 syntax: ${reason}`;
    throw new Failure("input", problem);
  }
}
