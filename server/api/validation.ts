/** Checks input against its schema, and says in one sentence which field is wrong and why. */

import type * as z from "zod";
import { expectedMark } from "../model/schema.ts";
import { describeValue } from "../text/quote.ts";
import { Refusal } from "../throttle/refusal.ts";

export interface CheckOptions {
  /** The error for a null field says that it is missing. */
  nullIsAbsent?: boolean;
  /** The text that errors quote instead of the value that was parsed from it. */
  got?: string | undefined;
}

/**
 * Returns the value as it was sent if it fits the schema, which must not transform. Throws Refusal 400 naming the field
 * by its path below `path` ("" for the body itself) and what was expected.
 */
export function checkInput<S extends z.ZodType>(
  schema: S,
  value: unknown,
  path: string,
  options: CheckOptions = {},
): z.infer<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return value as z.infer<S>;
  const { issues } = result.error;
  // An unknown field comes first, since it explains a missing one.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!;
  const at = pathText(path, issue.path);
  const field = issue.code === "unrecognized_keys" ? pathText(at, [issue.keys[0]!]).slice(0, 200) : at;
  const details = field === "" ? {} : { field };
  throw new Refusal(400, errorSentence(issue, at, field, options), { details });
}

/** The sentence for an issue of the value at `path`. `field` is the one that is not known, where that is the issue. */
function errorSentence(issue: z.core.$ZodIssue, path: string, field: string, options: CheckOptions): string {
  if (issue.code === "unrecognized_keys") return `unknown field ${JSON.stringify(field)}${issue.message}`;
  const what = path === "" ? "the body" : path;
  const value = wrongValueOf(issue);
  if (value === undefined || (value === null && options.nullIsAbsent === true && path !== "")) {
    return `${what} is required: ${expectationOf(issue)}`;
  }
  const got = describeValue(options.got ?? value);
  const problem = problemOf(issue, got);
  return problem === null ? `${what} must be ${expectationOf(issue)}, got ${got}` : `${what} ${problem}`;
}

function pathText(base: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, base);
}

/** The invalid value. Where a union has a discriminator, zod reports the whole object, of which only that is wrong. */
function wrongValueOf(issue: z.core.$ZodIssue): unknown {
  if (issue.code !== "invalid_union" || issue.discriminator === undefined) return issue.input;
  return (issue.input as Record<PropertyKey, unknown>)[issue.path.at(-1)!];
}

/** What a valid value would be. */
function expectationOf(issue: z.core.$ZodIssue): string {
  if (issue.message.startsWith(expectedMark)) return issue.message.slice(expectedMark.length);
  switch (issue.code) {
    case "invalid_type":
      return typeNames[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return oneOf((issue as { options?: readonly unknown[] }).options ?? []);
    default:
      return "another value";
  }
}

const typeNames: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "an array",
  object: "a JSON object",
  record: "a JSON object",
};

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? describeValue(values[0]) : `one of ${values.join(", ")}`;
}

/** What is wrong with a value of the right type; null where only the expectation is known. */
function problemOf(issue: z.core.$ZodIssue, got: string): string | null {
  if (issue.message.startsWith(expectedMark)) return null;
  // zod's own messages begin with a capital letter. One that begins with `must` is the schema's own sentence.
  if (issue.message.startsWith("must ") && (issue.code === "too_big" || issue.code === "too_small")) {
    return issue.message;
  }
  switch (issue.code) {
    case "too_small":
      return isCounted(issue.origin)
        ? `must have at least ${countText(Number(issue.minimum), issue.origin)}`
        : `must be ${issue.minimum} or more, got ${got}`;
    case "too_big":
      return isCounted(issue.origin)
        ? `must have at most ${countText(Number(issue.maximum), issue.origin)}`
        : `must be ${issue.maximum} or less, got ${got}`;
    case "invalid_format":
      return `${issue.message}, got ${got}`;
    case "custom":
      return issue.params?.isWhole === true ? issue.message : `${issue.message}, got ${got}`;
    case "invalid_key":
      return issue.issues[0]?.message ?? "has a name that cannot be";
    default:
      return null;
  }
}

function isCounted(origin: string): boolean {
  return origin === "string" || origin === "array";
}

function countText(count: number, origin: string): string {
  return `${count} ${origin === "string" ? "character" : "element"}${count === 1 ? "" : "s"}`;
}
