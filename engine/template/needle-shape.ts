/**
 * Enumerates the ways in which a needle can lie across the static text and the variables of a template.
 *
 * Most variables are whole tokens with a digit in them. A token between two separators of the needle is whole: it is a
 * variable if it has a digit, else static text. The needle's first and last token may be parts of longer tokens. With a
 * digit such a part lies in a variable; without one it lies in a variable or in static text. So there are at most four
 * such shapes.
 *
 * The others are values of lines `Key: value`. Blanks, a line feed or an end of the message stand beside them, so a needle
 * without blanks and line feeds lies in static text or in one value. Only its first and its last line may be parts of
 * lines, for which there are a few ways each.
 */
import { findLineValue, isBlank, skipBlanks, skipBlanksBefore } from "./keyed-lines.ts";
import { byteClass, slotByte } from "./tokenizer.ts";

/** What the value of one variable must be: it starts with, ends with or equals a text. */
export interface VariableCondition {
  match: "starts" | "ends" | "equals";
  text: Uint8Array;
}

/**
 * A text to search the templates for, with a slot byte for each variable, and the conditions of these variables in
 * order.
 */
export interface Shape {
  text: Uint8Array;
  conditions: readonly VariableCondition[];
}

/** Whether a text may be the end or the beginning of a longer one, whose rest lies outside of the needle. */
interface Cuts {
  before: boolean;
  behind: boolean;
}

const newline = 0x0a;

/**
 * Returns the shapes of a needle that is not empty; one without conditions comes first. A needle that is a single token
 * without a digit has only the static shape; with a digit it has none. A needle may also lie within one variable, which is
 * searched separately.
 */
export function enumerateShapes(needle: Uint8Array): Shape[] {
  const [first] = findTokens(needle);
  if (first !== undefined && first.from === 0 && first.to === needle.length)
    return first.hasDigit ? [] : [{ text: needle, conditions: [] }];
  const shapes = [
    ...splitTokens(needle, { before: true, behind: true }),
    ...(hasBlanks(needle) ? splitLines(needle) : []),
  ];
  return [...new Map(shapes.map((shape) => [keyOf(shape), shape])).values()];
}

/** Returns whether a needle is a token or part of one, and so may lie within a variable that is a token. */
export function isWithinToken(needle: Uint8Array): boolean {
  return needle.every((byte) => byteClass[byte] !== 0);
}

/** Returns whether a needle may lie within a value of a line. */
export function isWithinLine(needle: Uint8Array): boolean {
  return !needle.includes(newline);
}

/** The shapes of a text all of whose variables are tokens. */
function splitTokens(text: Uint8Array, cuts: Cuts): Shape[] {
  const tokens = findTokens(text);
  const [first, last] = [tokens[0], tokens.at(-1)];
  const cutBefore = cuts.before && first?.from === 0 ? first : undefined;
  const cutBehind = cuts.behind && last?.to === text.length && last !== cutBefore ? last : undefined;
  const from = cutBefore?.to ?? 0;
  const to = cutBehind?.from ?? text.length;
  const between = tokens.filter((token) => token.from >= from && token.to <= to);
  const parts = between.flatMap((token, i) => {
    const before = asStatic(text.subarray(i === 0 ? from : between[i - 1]!.to, token.from));
    const own = text.subarray(token.from, token.to);
    return [before, token.hasDigit ? asValue("equals", own) : asStatic(own)];
  });
  parts.push(asStatic(text.subarray(between.at(-1)?.to ?? from, to)));
  const before = cutBefore === undefined ? [nothing] : splitCutToken(text, cutBefore, "ends");
  const behind = cutBehind === undefined ? [nothing] : splitCutToken(text, cutBehind, "starts");
  return combine(combine(before, [join(...parts)]), behind);
}

/** A token that may be a part of a longer one. */
function splitCutToken(text: Uint8Array, { from, to, hasDigit }: Token, match: "starts" | "ends"): Shape[] {
  const token = text.subarray(from, to);
  return hasDigit ? [asValue(match, token)] : [asStatic(token), asValue(match, token)];
}

/** The shapes of a needle in messages that have lines `Key: value`. Of whole lines there is one each. */
function splitLines(needle: Uint8Array): Shape[] {
  const first = needle.indexOf(newline);
  if (first < 0) return splitLine(needle, { before: true, behind: true });
  const last = needle.lastIndexOf(newline);
  const between: Shape[] = [];
  for (let from = first; from < last; ) {
    const to = needle.indexOf(newline, from + 1);
    between.push(asStatic(needle.subarray(from, from + 1)));
    between.push(...splitLine(needle.subarray(from + 1, to), { before: false, behind: false }));
    from = to;
  }
  between.push(asStatic(needle.subarray(last, last + 1)));
  const before = splitLine(needle.subarray(0, first), { before: true, behind: false });
  const behind = splitLine(needle.subarray(last + 1), { before: false, behind: true });
  return combine(combine(before, [join(...between)]), behind);
}

/** The shapes of one line, or of a part of one. */
function splitLine(line: Uint8Array, cuts: Cuts): Shape[] {
  // The needle may begin within a line. Then its first colon may end the key, or may be a part of the key.
  const found = [cuts.before, false].map((isKeyCut) => findLineValue(line, 0, line.length, { isKeyCut }));
  const values = [...new Set(found)].filter((value) => value < line.length);
  const isWhole = !cuts.before && !cuts.behind;
  const shapes = isWhole && values.length > 0 ? [] : splitTokens(line, cuts);
  for (const value of values) {
    const key = splitTokens(line.subarray(0, value), { before: cuts.before, behind: false });
    shapes.push(...combine(key, splitValue(line.subarray(value), "equals", cuts.behind)));
  }
  if (!cuts.before) return shapes;
  shapes.push(...splitValue(line, "ends", cuts.behind));
  const blanks = skipBlanks(line, 0, line.length);
  if (blanks > 0) {
    const rest = splitValue(line.subarray(blanks), "equals", cuts.behind);
    shapes.push(...combine([asStatic(line.subarray(0, blanks))], rest));
  }
  return shapes;
}

/**
 * The shapes of the rest of a line, from within its value on. It "equals" the value where it begins with it, and "ends" it
 * where the value begins before; the value ends before the blanks at the line's end. With `isCut` the line may go on.
 */
function splitValue(rest: Uint8Array, match: "equals" | "ends", isCut: boolean): Shape[] {
  const end = skipBlanksBefore(rest, rest.length, 0);
  if (end === 0) return [];
  const shapes: Shape[] = [];
  // A needle that lies within the value alone is searched for among the variables.
  if (isCut && match === "equals") shapes.push(asValue("starts", rest));
  if (!isCut || end < rest.length)
    shapes.push(join(asValue(match, rest.subarray(0, end)), asStatic(rest.subarray(end))));
  return shapes;
}

const nothing: Shape = { text: new Uint8Array(0), conditions: [] };

function asStatic(text: Uint8Array): Shape {
  return { text, conditions: [] };
}

function asValue(match: VariableCondition["match"], text: Uint8Array): Shape {
  return { text: Uint8Array.of(slotByte), conditions: [{ match, text }] };
}

function join(...shapes: readonly Shape[]): Shape {
  return {
    text: Buffer.concat(shapes.map(({ text }) => text)),
    conditions: shapes.flatMap(({ conditions }) => conditions),
  };
}

/** Each of the first shapes with each of the second after it. */
function combine(first: readonly Shape[], second: readonly Shape[]): Shape[] {
  return first.flatMap((before) => second.map((behind) => join(before, behind)));
}

/** Equal shapes have equal keys. */
function keyOf({ text, conditions }: Shape): string {
  const parts = conditions.map(
    ({ match, text: value }) => `${match} ${Buffer.from(value).toString("latin1")}`,
  );
  return JSON.stringify([Buffer.from(text).toString("latin1"), ...parts]);
}

/** Whether a text has a blank or a line feed. */
function hasBlanks(text: Uint8Array): boolean {
  return text.some((byte) => isBlank(byte) || byte === newline);
}

interface Token {
  from: number;
  to: number;
  hasDigit: boolean;
}

function findTokens(needle: Uint8Array): Token[] {
  const tokens: Token[] = [];
  let token: Token | undefined;
  for (let at = 0; at < needle.length; at++) {
    const kind = byteClass[needle[at]!]!;
    if (kind === 0) {
      token = undefined;
      continue;
    }
    if (token === undefined) {
      token = { from: at, to: at, hasDigit: false };
      tokens.push(token);
    }
    token.to = at + 1;
    if (kind === 2) token.hasDigit = true;
  }
  return tokens;
}
