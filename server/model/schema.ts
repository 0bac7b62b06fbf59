/** The shapes that definitions are made of: one zod schema gives the TypeScript type, the validation and the JSON Schema. */

import * as z from "zod";
import { suggestion } from "../text/suggestion.ts";
import { nameLengthMax, textLengthMax } from "./limits.ts";

export const integerName = "an integer";

/** An object with these fields and no others. */
export function fixed<S extends z.core.$ZodLooseShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return undefined;
      return suggestion(issue.keys[0]!, Object.keys(shape));
    },
  });
}

/** An object with these fields; others are kept as they were sent. */
export const open = z.looseObject;

/** A text that people read in lists. */
export const nameText = z.string().max(nameLengthMax).regex(/\S/, "must not be blank");
/** Any text of some length. */
export const longText = z.string().max(textLengthMax);
/** Of a text, too, zod says that a number is missing. */
export const integer = z.int({
  error: (issue) => (issue.code === "invalid_type" ? integerName : undefined),
});
export const positive = integer.min(1);

/** A text that matches the pattern and that no complaint repeats. */
export function secretText(lengthMax: number, pattern: RegExp, problem: string): z.ZodString {
  return z
    .string()
    .max(lengthMax)
    .refine((text) => pattern.test(text), { error: problem, params: { isSecret: true } })
    .meta({ pattern: pattern.source });
}
