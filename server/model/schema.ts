/**
 * Schemas that definitions are built of: one zod schema gives the TypeScript type, the validation and the JSON Schema.
 */

import * as z from "zod";
import { suggest } from "../text/suggestion.ts";
import { listedMax, nameLengthMax, textLengthMax, timeMsMax } from "./limits.ts";

/** A zod message with this prefix says what a valid value is; any other says what is wrong. */
export const expectedMark = "expected ";

/** Sets the error of a schema: `must be TEXT, got …` for any invalid value, or `is required: TEXT`. */
export function expects(text: string): { error: () => string } {
  return { error: () => expectedMark + text };
}

/** An integer within a range; errors say `text` alone. */
export function integerFrom(min: number, max: number, text = `an integer from ${min} to ${max}`): z.ZodInt {
  const expected = expects(text);
  return z.int(expected).min(min, expected).max(max, expected);
}

/** Unix time in milliseconds. */
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

/** An object with these fields; unknown ones are kept as they were sent. */
export const openObject = z.looseObject;

/** A name that people read in lists: not blank. */
export const nameText = z.string().max(nameLengthMax).regex(/\S/, "must not be blank");
/** A text of bounded length, possibly empty. */
export const longText = z.string().max(textLengthMax);
/** A list of such values, not empty and of bounded length. */
export function listOf<S extends z.ZodType>(of: S): z.ZodArray<S> {
  return z.array(of).min(1).max(listedMax);
}

/** Tests of named texts with these operators, all of which must hold. */
export function matchOf<const Operators extends readonly string[]>(operators: Operators) {
  const expression = strictObject({ key: nameText, operator: z.enum(operators), values: listOf(longText) });
  return strictObject({ matchExpressions: listOf(expression) });
}

/** Tests of the labels of an alert's instances. */
export const labelMatchShape = matchOf(["In", "NotIn"]);
export type LabelMatch = z.infer<typeof labelMatchShape>;

/** Whether labels pass all expressions; a missing label counts as empty. Without a match, any labels pass. */
export function isMatch(match: LabelMatch | undefined, labels: Readonly<Record<string, string>>): boolean {
  return (match?.matchExpressions ?? []).every(({ key, operator, values }) => {
    return values.includes(labelValue(labels, key)) === (operator === "In");
  });
}

/** The value of a label, "" where it is missing. The name may be that of a member of every object. */
export function labelValue(labels: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(labels, name) ? labels[name]! : "";
}

/** An integer. Its error for a text says that an integer is missing, where zod would say a number. */
export const integer = z.int({
  error: (issue) => (issue.code === "invalid_type" ? `${expectedMark}an integer` : undefined),
});
/** An integer of at least 1. */
export const positive = integer.min(1);

/** A text that matches the pattern; errors never repeat its value. */
export function secretText(lengthMax: number, pattern: RegExp, problem: string): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((text) => pattern.test(text), { error: problem, params: { isWhole: true } })
    .meta({ pattern: pattern.source });
}
