/**
 * Enumerates the ways in which a needle can lie across the static text and the variables of a template. A variable is a
 * whole token with a digit in it. A token between two separators of the needle is whole: it is a variable if it has a
 * digit, else static text. The needle's first and last token may be parts of longer tokens. With a digit such a part
 * lies in a variable; without one it lies in a variable or in static text. So there are at most four shapes.
 */
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
  conditions: VariableCondition[];
}

/**
 * Returns the shapes of a needle that is not empty. A needle that is a single token without a digit has only the static
 * shape; with a digit it has none. Such a needle may also lie within one variable, which is searched separately.
 */
export function enumerateShapes(needle: Uint8Array): Shape[] {
  const tokens = findTokens(needle);
  const [first] = tokens;
  if (first !== undefined && first.from === 0 && first.to === needle.length) {
    return first.hasDigit ? [] : [{ text: needle, conditions: [] }];
  }
  let shapes: Shape[] = [{ text: new Uint8Array(0), conditions: [] }];
  let at = 0;
  for (const { from, to, hasDigit } of tokens) {
    const text = needle.subarray(from, to);
    const match = from === 0 ? "ends" : to === needle.length ? "starts" : "equals";
    const before = needle.subarray(at, from);
    const asVariable = shapes.map((shape) => ({
      text: Buffer.concat([shape.text, before, Uint8Array.of(slotByte)]),
      conditions: [...shape.conditions, { match, text } as const],
    }));
    const asStatic = shapes.map((shape) => ({ ...shape, text: Buffer.concat([shape.text, before, text]) }));
    if (hasDigit) shapes = asVariable;
    else shapes = match === "equals" ? asStatic : [...asStatic, ...asVariable];
    at = to;
  }
  const tail = needle.subarray(at);
  return shapes.map((shape) => ({ ...shape, text: Buffer.concat([shape.text, tail]) }));
}

/** Returns whether a needle is a token or part of one, and so may lie within one variable. */
export function isWithinToken(needle: Uint8Array): boolean {
  return needle.every((byte) => byteClass[byte] !== 0);
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
