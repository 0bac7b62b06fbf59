/** Regular expressions in RE2 syntax: linear time in the text, whatever the pattern. The one importer of re2js. */
import { RE2JS } from "re2js";
import { Failure } from "./failure.ts";

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

/** Compiled patterns keep the automaton that they built so far, so a scan of many chunks builds it once. */
const compiledPatterns = new Map<string, RE2JS>();
const compiledPatternsMax = 64;

function compile(pattern: string): RE2JS {
  const known = compiledPatterns.get(pattern);
  if (known !== undefined) return known;
  try {
    const compiled = RE2JS.compile(pattern);
    if (compiledPatterns.size >= compiledPatternsMax) compiledPatterns.clear();
    compiledPatterns.set(pattern, compiled);
    return compiled;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(
      "input",
      `the regular expression ${JSON.stringify(pattern)} is not RE2 syntax: ${reason}`,
    );
  }
}
