import { RE2JS, RE2JSException, RE2JSSyntaxException } from "re2js";
import type { Field, Filter } from "../../engine/index.ts";
import { patternSizeMax, patternWordsMax } from "../limits.ts";
import type { TextSpan } from "../text/query-error.ts";
import { refuseWithin } from "../text/source.ts";
import type { StringLiteral } from "../tree/string-literal.ts";
import { countRegexp, type PlanContext } from "./context.ts";
import { estimateExpandedSize, findUnpairedParen, locateFragment, parsePlainWords } from "./regexp-syntax.ts";
import { resolveString } from "./variables.ts";

/** The pattern that a text stands for, with the values of variables quoted. Throws a QueryError that points into it where RE2 refuses it. */
export function resolveRegexp(node: StringLiteral, context: PlanContext): string {
  const pattern = resolveString(node, context, RE2JS.quote);
  countRegexp(context, pattern, node);
  const problem = findRegexpProblem(pattern);
  if (problem !== undefined) refuseWithin(context.source, node, problem.at, problem.text);
  return pattern;
}

/** The named groups of a pattern that readPattern has passed, in the order in which they stand in it. */
export function groupNamesOf(pattern: string): string[] {
  return Object.keys(RE2JS.compile(pattern).namedGroups());
}

/** How a pattern is put to a field. */
export interface RegexpUse {
  ignoreCase: boolean;
  /** Anchored at both ends. */
  whole: boolean;
}

/** The filter for a pattern that readPattern has passed. Plain words need no pattern and are found faster. */
export function makeRegexpFilter(field: Field, pattern: string, use: RegexpUse): Filter {
  return makeWordsFilter(field, pattern, use) ?? makeMatchFilter(field, pattern, use);
}

/** The filter for texts that begin so. */
export function makePrefixFilter(field: Field, prefix: string): Filter {
  return { kind: "matches", field, pattern: `^${RE2JS.quote(prefix)}`, whole: false };
}

function makeMatchFilter(field: Field, pattern: string, use: RegexpUse): Filter {
  return { kind: "matches", field, pattern: use.ignoreCase ? `(?i)${pattern}` : pattern, whole: use.whole };
}

function makeWordsFilter(field: Field, pattern: string, use: RegexpUse): Filter | undefined {
  const plain = parsePlainWords(pattern);
  if (plain === undefined || plain.words.length > patternWordsMax) return undefined;
  const ignoreCase = use.ignoreCase || plain.ignoreCase;
  if (ignoreCase && !plain.words.every(isFoldedAlike)) return undefined;
  if (!use.whole)
    return joinWithOr(plain.words.map((text) => ({ kind: "contains", field, text, ignoreCase })));
  if (ignoreCase && field.kind !== "level") return undefined;
  // A level is compared lower-cased, so a lower-cased word is all that ignoring case asks for.
  const values = ignoreCase ? plain.words.map((value) => value.toLowerCase()) : plain.words;
  return joinWithOr(values.map((value) => ({ kind: "equals", field, value })));
}

function joinWithOr(of: Filter[]): Filter {
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

/** Whether RE2's `(?i)` and our lower-casing find the same: not beyond ASCII, and to RE2 the Kelvin sign is a k, the long s an s. */
function isFoldedAlike(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !/[ks]/i.test(text);
}

interface RegexpProblem {
  text: string;
  at: TextSpan;
}

/** What RE2 says of a pattern, in words, and where in it; undefined where it is one. */
function findRegexpProblem(pattern: string): RegexpProblem | undefined {
  try {
    if (estimateExpandedSize(pattern) > patternSizeMax) return makeTooLargeProblem(pattern);
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSSyntaxException)
      return describeProblem(error.error, error.input ?? "", pattern);
    if (error instanceof RE2JSException) return makeTooLargeProblem(pattern);
    throw error;
  }
}

function makeTooLargeProblem(pattern: string): RegexpProblem {
  return { text: reasonDescriptions["expression too large"]!, at: { start: 0, end: pattern.length } };
}

/** RE2's reasons, as they stand in the errors of re2js, and what they mean to a person. */
const reasonDescriptions: Readonly<Record<string, string>> = {
  "missing closing )": "this ( of the regular expression has no )",
  "unexpected )": "this ) of the regular expression has no (",
  "missing closing ]": "this [ of the regular expression has no ]",
  "missing argument to repetition operator":
    "there is nothing to repeat before this sign of the regular expression",
  "invalid nested repetition operator": "one repetition follows another here; put ( ) around the first",
  "invalid repeat count":
    "a repetition of a regular expression counts from 0 to 1000, the smaller number first",
  "invalid character class range": "a regular expression has no such range or class of characters",
  "duplicate capture group name": "two groups of the regular expression have this name",
  "trailing backslash at end of expression": "a regular expression cannot end in a single backslash",
  "expression nests too deeply": "this regular expression nests too deeply",
  "expression too large":
    "this regular expression is too large once its repetitions are written out; repeat fewer times",
  "invalid named capture": "the name of a group is letters, digits and _, as in (?P<name>…)",
};

function describeProblem(reason: string, fragment: string, pattern: string): RegexpProblem {
  const at = spanOfProblem(reason, fragment, pattern);
  const rest = pattern.slice(at.start);
  const alien = findUnsupportedSyntax(rest, at.start);
  if (alien !== undefined) return alien;
  const text = reasonDescriptions[reason] ?? describeUnknownSyntax(rest) ?? `RE2 refuses this: ${reason}`;
  return { text: text + suggestAnyValue(reason, pattern), at };
}

function spanOfProblem(reason: string, fragment: string, pattern: string): TextSpan {
  if (reason === "trailing backslash at end of expression") {
    return { start: pattern.length - 1, end: pattern.length };
  }
  if (reason === "missing closing )" || reason === "unexpected )") {
    const start = findUnpairedParen(pattern);
    return { start, end: start + 1 };
  }
  // Of two groups with one name, the second is one too many.
  if (reason === "duplicate capture group name") {
    const start = pattern.lastIndexOf(`<${fragment}>`) + 1;
    return { start, end: start + fragment.length };
  }
  return fragment === "" ? { start: 0, end: pattern.length } : locateFragment(fragment, pattern);
}

/** What other dialects have and RE2 leaves out on purpose, by how it begins. */
const unsupportedSyntax: readonly [RegExp, string][] = [
  [/^\(\?<?[=!]/, "look-around"],
  [/^(?:\\[1-9]|\\k[<{']\w*[>}']?|\(\?P=\w*\)?)/, "a back-reference"],
  [/^\(\?>/, "an atomic group"],
];

function findUnsupportedSyntax(rest: string, start: number): RegexpProblem | undefined {
  for (const [shape, name] of unsupportedSyntax) {
    const [alien] = shape.exec(rest) ?? [];
    if (alien === undefined) continue;
    const text = `${name} is not part of RE2, whose expressions are matched in linear time`;
    return { text, at: { start, end: start + alien.length } };
  }
  return undefined;
}

function describeUnknownSyntax(rest: string): string | undefined {
  if (rest.startsWith("(?")) return "RE2 has no such group; it has (?:…), (?P<name>…) and the flags (?imsU)";
  const escaped = /^\\([\s\S])/u.exec(rest);
  return escaped === null ? undefined : `\\${escaped[1]} means nothing in RE2`;
}

/** `=~ "*"` is what someone writes who means any value. */
function suggestAnyValue(reason: string, pattern: string): string {
  const star = reason === "missing argument to repetition operator" && pattern.startsWith("*");
  return star ? '; any text is .* as a regular expression, and ="*" without one' : "";
}
