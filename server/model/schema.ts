/** The shapes that definitions are made of: one zod schema gives the TypeScript type, the validation and the JSON Schema. */

import * as z from "zod";
import { suggest } from "../text/suggestion.ts";
import { nameLengthMax, textLengthMax, timeMsMax } from "./limits.ts";

/** A message that begins with this says what a sound value is; any other one what is wrong. */
export const expectedMark = "expected ";

/** What a complaint says of any value that does not fit: `must be TEXT, got …`, or `is required: TEXT`. */
export function expects(text: string): { error: () => string } {
  return { error: () => expectedMark + text };
}

/** A whole number of a range, `text` being all that complaints say of it. */
export function integerFrom(min: number, max: number, text = `an integer from ${min} to ${max}`): z.ZodInt {
  const expected = expects(text);
  return z.int(expected).min(min, expected).max(max, expected);
}

/** Milliseconds of Unix time. */
export const timeMs = integerFrom(0, timeMsMax, "an integer, Unix time in milliseconds");

/** An object with these fields and no others. */
export function strictObject<S extends z.core.$ZodLooseShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      return suggest(issue.keys[0]!, Object.keys(shape));
    },
  });
}

/** An object with these fields; others are kept as they were sent. */
export const openObject = z.looseObject;

/** A text that people read in lists. */
export const nameText = z.string().max(nameLengthMax).regex(/\S/, "must not be blank");
/** Any text of some length. */
export const longText = z.string().max(textLengthMax);
/** Of a text, too, zod says that a number is missing. */
export const integer = z.int({
  error: (issue) => (issue.code === "invalid_type" ? `${expectedMark}an integer` : undefined),
});
export const positive = integer.min(1);

/** A text that matches the pattern. No complaint repeats it. */
export function secretText(lengthMax: number, pattern: RegExp, problem: string): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((text) => pattern.test(text), { error: problem, params: { isWhole: true } })
    .meta({ pattern: pattern.source });
}
