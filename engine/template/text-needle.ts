/** Texts to search messages for. */
import { makeNeedle, type Needle } from "../kernels/needle.ts";
import { getOrMake } from "../vector/map-entry.ts";
import { enumerateShapes, isWithinLine, isWithinToken, type VariableCondition } from "./needle-shape.ts";
import { makeVariableNeedle, type VariableNeedle } from "./variables/variable-needle.ts";

/** A text to search messages for, prepared once for each query. */
export interface TextNeedle {
  ignoreCase: boolean;
  /** The text has no separators, so it may lie within any variable. */
  isWithinToken: boolean;
  /** The text has no line feed, so it may lie within the value of a line. */
  isWithinLine: boolean;
  /** The text as a needle to search for within one variable. */
  inVariable: VariableNeedle;
  shapes: readonly NeedleShape[];
}

/** A text to search the templates for, and the conditions of the variables in it, in order. */
export interface NeedleShape {
  needle: Needle;
  conditions: readonly (VariableCondition & VariableNeedle)[];
}

/**
 * Prepares a needle.
 * @param bytes UTF-8, at least one byte; with `ignoreCase` in lower case and ASCII
 */
export function makeTextNeedle(bytes: Uint8Array, ignoreCase: boolean): TextNeedle {
  // Shapes share the conditions of what lies between their ends.
  const made = new Map<VariableCondition, VariableCondition & VariableNeedle>();
  const make = (condition: VariableCondition) =>
    getOrMake(made, condition, () => ({ ...condition, ...makeVariableNeedle(condition.text, ignoreCase) }));
  const shapes = enumerateShapes(bytes).map(({ text, conditions }) => ({
    needle: makeNeedle(text, ignoreCase),
    conditions: conditions.map(make),
  }));
  const inVariable = makeVariableNeedle(bytes, ignoreCase);
  const places = { isWithinToken: isWithinToken(bytes), isWithinLine: isWithinLine(bytes) };
  return { ignoreCase, ...places, inVariable, shapes };
}
