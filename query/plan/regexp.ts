import { RE2JS, RE2JSException, RE2JSSyntaxException } from "re2js";
import type { Field, Filter, Step } from "../../engine/index.ts";
import { regexpSizeMax, regexpWordsMax } from "../limits.ts";
import type { TextSpan } from "../text/query-error.ts";
import { refuse, refuseWithin } from "../text/source.ts";
import type { StringLiteral } from "../tree/string-literal.ts";
import { countRegexp, type PlanContext } from "./context.ts";
import { makeEqualsFilter } from "./equality.ts";
import { estimateExpandedSize, findUnpairedParen, locateFragment, parsePlainWords } from "./regexp-syntax.ts";
import type { ReplacementPart } from "./series-plan.ts";
import { resolveString } from "./variables.ts";

/**
 * The regular expression of a string literal. Values of variables are quoted, so that they match themselves. Throws a
 * QueryError that points at the mistake where RE2 refuses the pattern, or where it is too long.
 */
export function resolveRegexp(node: StringLiteral, context: PlanContext): string {
  const pattern = resolveString(node, context, RE2JS.quote);
  countRegexp(context, pattern, node);
  const problem = findRegexpProblem(pattern);
  if (problem !== undefined) refuseWithin(context.source, node, problem.span, problem.text);
  return pattern;
}

/** The named groups of a pattern that `resolveRegexp` returned, in the order of the pattern. */
export function groupNamesOf(pattern: string): string[] {
  return Object.keys(RE2JS.compile(pattern).namedGroups());
}

/** `$1`, `${1}` or `${name}` in a replacement, or `$$`, which is `$`. */
const replacementPart = /\$(?:(\$)|([A-Za-z0-9_]+)|\{([A-Za-z0-9_]+)\})|[^$]+|\$/g;

/**
 * The parts of a replacement: characters, and groups of a pattern that `resolveRegexp` returned, by number. Throws a
 * QueryError for a group that the pattern has not.
 */
export function parseReplacement(
  node: StringLiteral,
  pattern: string,
  context: PlanContext,
): ReplacementPart[] {
  const compiled = RE2JS.compile(pattern);
  const named = compiled.namedGroups();
  const text = resolveString(node, context, (value) => value.replaceAll("$", "$$$$"));
  return Array.from(text.matchAll(replacementPart), ([whole, dollar, bare, braced]): ReplacementPart => {
    const group = bare ?? braced;
    if (group === undefined) return dollar ?? whole;
    const number = /^\d+$/.test(group) ? Number(group) : named[group];
    if (number !== undefined && number <= compiled.groupCount()) return { group: number };
    const problem = `the regular expression has no group ${group}; write \${1}x where a letter follows a group`;
    return refuse(context.source, node, problem);
  });
}

/** Returns a function that gives the replacement for a text that the whole pattern matches, else undefined. */
export function makeReplacer(
  pattern: string,
  replacement: readonly ReplacementPart[],
): (text: string) => string | undefined {
  const compiled = RE2JS.compile(pattern);
  return (text) => {
    const matcher = compiled.matcher(text);
    if (!matcher.matches()) return undefined;
    return replacement
      .map((part) => (typeof part === "string" ? part : (matcher.group(part.group) ?? "")))
      .join("");
  };
}

/** The texts that a pattern which `resolveRegexp` returned matches as a whole, whatever their case. */
export function findWholeMatches(pattern: string, texts: readonly string[]): string[] {
  const regexp = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
  return texts.filter((text) => regexp.matches(text));
}

/** How a pattern is matched with a field. */
export interface RegexpUse {
  ignoreCase: boolean;
  /** True where the pattern must match the whole value. False where it may match any part. */
  whole: boolean;
}

/** The filter for a pattern that `resolveRegexp` returned. Plain words become text filters, which are faster. */
export function makeRegexpFilter(field: Field, pattern: string, use: RegexpUse): Filter {
  return makeWordsFilter(field, pattern, use) ?? makeMatchFilter(field, pattern, use);
}

/** The filter for values that begin with a text; none for the empty text. */
export function makePrefixSteps(field: Field, prefix: string): Step[] {
  if (prefix === "") return [];
  const text = field.kind === "level" ? prefix.toLowerCase() : prefix;
  const filter: Filter = { kind: "matches", field, pattern: `^${RE2JS.quote(text)}`, whole: false };
  return [{ kind: "filter", filter }];
}

/**
 * The filter for values that have a word with this prefix, ignoring case. A search for the prefix as a text narrows the
 * rows first, so that the regular expression runs over few.
 */
export function makeWordStartFilter(field: Field, text: string): Filter {
  const pattern = `(?i)(?:^|[^\\p{L}\\p{N}_])${RE2JS.quote(text)}`;
  return {
    kind: "and",
    of: [
      { kind: "contains", field, text, ignoreCase: true },
      { kind: "matches", field, pattern, whole: false },
    ],
  };
}

function makeMatchFilter(field: Field, pattern: string, use: RegexpUse): Filter {
  return { kind: "matches", field, pattern: use.ignoreCase ? `(?i)${pattern}` : pattern, whole: use.whole };
}

function makeWordsFilter(field: Field, pattern: string, use: RegexpUse): Filter | undefined {
  const plain = parsePlainWords(pattern);
  if (plain === undefined || plain.words.length > regexpWordsMax) return undefined;
  const ignoreCase = use.ignoreCase || plain.ignoreCase;
  if (ignoreCase && !plain.words.every(isFoldedAlike)) return undefined;
  if (!use.whole)
    return joinWithOr(plain.words.map((text) => ({ kind: "contains", field, text, ignoreCase })));
  if (ignoreCase && field.kind !== "level") return undefined;
  return joinWithOr(plain.words.map((value) => makeEqualsFilter(field, value)));
}

/** The filter of rows that pass one of the filters, of which there is at least one. */
export function joinWithOr(of: Filter[]): Filter {
  return of.length === 1 ? of[0]! : { kind: "or", of };
}

/**
 * Returns whether RE2's `(?i)` and the engine's lower-casing match the same texts. They may differ beyond ASCII, and
 * RE2 folds the Kelvin sign to k and the long s to s.
 */
function isFoldedAlike(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !/[ks]/i.test(text);
}

interface RegexpProblem {
  text: string;
  /** The part of the pattern that is wrong. */
  span: TextSpan;
}

/** The reason why RE2 refuses a pattern, in words for people; undefined where it accepts it. */
function findRegexpProblem(pattern: string): RegexpProblem | undefined {
  try {
    if (estimateExpandedSize(pattern) > regexpSizeMax) return makeTooLargeProblem(pattern);
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
  return { text: reasonDescriptions["expression too large"]!, span: { start: 0, end: pattern.length } };
}

/** What the reasons in re2js' errors mean, in words for people. */
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
  const span = spanOfProblem(reason, fragment, pattern);
  const rest = pattern.slice(span.start);
  const unsupported = findUnsupportedSyntax(rest, span.start);
  if (unsupported !== undefined) return unsupported;
  const text = reasonDescriptions[reason] ?? describeUnknownSyntax(rest) ?? `RE2 refuses this: ${reason}`;
  return { text: text + suggestAnyValue(reason, pattern), span };
}

function spanOfProblem(reason: string, fragment: string, pattern: string): TextSpan {
  if (reason === "trailing backslash at end of expression") {
    return { start: pattern.length - 1, end: pattern.length };
  }
  if (reason === "missing closing )" || reason === "unexpected )") {
    const start = findUnpairedParen(pattern);
    return { start, end: start + 1 };
  }
  // The span is that of the second of two groups with the same name.
  if (reason === "duplicate capture group name") {
    const start = pattern.lastIndexOf(`<${fragment}>`) + 1;
    return { start, end: start + fragment.length };
  }
  return fragment === "" ? { start: 0, end: pattern.length } : locateFragment(fragment, pattern);
}

/** Syntax of other dialects that RE2 leaves out on purpose: a pattern for its beginning, and its name. */
const unsupportedSyntax: readonly [RegExp, string][] = [
  [/^\(\?<?[=!]/, "look-around"],
  [/^(?:\\[1-9]|\\k[<{']\w*[>}']?|\(\?P=\w*\)?)/, "a back-reference"],
  [/^\(\?>/, "an atomic group"],
];

function findUnsupportedSyntax(rest: string, start: number): RegexpProblem | undefined {
  for (const [shape, name] of unsupportedSyntax) {
    const [syntax] = shape.exec(rest) ?? [];
    if (syntax === undefined) continue;
    const text = `${name} is not part of RE2, whose expressions are matched in linear time`;
    return { text, span: { start, end: start + syntax.length } };
  }
  return undefined;
}

function describeUnknownSyntax(rest: string): string | undefined {
  if (rest.startsWith("(?")) return "RE2 has no such group; it has (?:…), (?P<name>…) and the flags (?imsU)";
  const escaped = /^\\([\s\S])/u.exec(rest);
  return escaped === null ? undefined : `\\${escaped[1]} means nothing in RE2`;
}

/** The end of an error message for people who write `=~ "*"` and mean any value; "" for other mistakes. */
function suggestAnyValue(reason: string, pattern: string): string {
  const isStar = reason === "missing argument to repetition operator" && pattern.startsWith("*");
  return isStar ? '; any text is .* as a regular expression, and ="*" without one' : "";
}
