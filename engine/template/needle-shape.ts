/**
 * How a needle can lie across templates and variables. Variables are whole tokens with a digit in them, so the needle's own
 * separators decide: a token inside of it is a variable if it has a digit and static text otherwise; only its first and last
 * token, which may be cut, leave both open. That gives at most four texts to look for among the templates.
 */
import { byteClass, slotByte } from "./tokenizer.ts";

/** What one variable must be. */
export interface VariableCondition {
  how: "starts" | "ends" | "equals";
  text: Uint8Array;
}

/** A piece of a template's text, and what its slots must hold, in order. */
export interface Shape {
  text: Uint8Array;
  conditions: VariableCondition[];
}

/** Shapes of a needle that is not empty; of one without a separator only the static one, as it may also lie within one variable. */
export function enumerateShapes(needle: Uint8Array): Shape[] {
  const tokens = tokensOf(needle);
  const [first] = tokens;
  if (first !== undefined && first.from === 0 && first.to === needle.length) {
    return first.hasDigit ? [] : [{ text: needle, conditions: [] }];
  }
  let shapes: Shape[] = [{ text: new Uint8Array(0), conditions: [] }];
  let at = 0;
  for (const { from, to, hasDigit } of tokens) {
    const text = needle.subarray(from, to);
    const how = from === 0 ? "ends" : to === needle.length ? "starts" : "equals";
    const before = needle.subarray(at, from);
    const asVariable = shapes.map((shape) => ({
      text: Buffer.concat([shape.text, before, Uint8Array.of(slotByte)]),
      conditions: [...shape.conditions, { how, text } as const],
    }));
    const asStatic = shapes.map((shape) => ({ ...shape, text: Buffer.concat([shape.text, before, text]) }));
    if (hasDigit) shapes = asVariable;
    else shapes = how === "equals" ? asStatic : [...asStatic, ...asVariable];
    at = to;
  }
  const tail = needle.subarray(at);
  return shapes.map((shape) => ({ ...shape, text: Buffer.concat([shape.text, tail]) }));
}

/** Whether a needle is a token or a part of one, and so may lie within one variable. */
export function isWord(needle: Uint8Array): boolean {
  return needle.every((byte) => byteClass[byte] !== 0);
}

interface Token {
  from: number;
  to: number;
  hasDigit: boolean;
}

function tokensOf(needle: Uint8Array): Token[] {
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
