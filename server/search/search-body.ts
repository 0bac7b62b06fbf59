/**
 * What the bodies of searches, and the answers to them, have in common.
 * In these bodies a field that is null counts as left out.
 */

import * as z from "zod";
import { bucketSecondsMax } from "../model/limits.ts";
import { expects, integerFrom, strictObject, timeMs } from "../model/schema.ts";

/** Milliseconds, both inclusive. */
export const range = { startTime: timeMs, endTime: timeMs };

export const limit = integerFrom(1, 1_000).nullish();
export const limitDefault = 100;

export const bucketSize = integerFrom(
  0,
  bucketSecondsMax,
  `an integer from 0 to ${bucketSecondsMax}, the seconds of a bucket (0: chosen by the range)`,
).nullish();

/** What names and values begin with: nobody types more. */
const prefixLengthMax = 1_024;

export const prefix = z
  .string()
  .max(prefixLengthMax, {
    error: ({ input }) => `must have ${prefixLengthMax} characters at most, got ${(input as string).length}`,
  })
  .nullish();

/** A query that must be there; `text` says what it is. */
export function queryText(text: string): z.ZodString {
  return z.string(expects(text));
}

/** The same body, whose range must not end before it begins. */
export function ordered<Body extends z.ZodType<{ startTime: number; endTime: number }>>(body: Body): Body {
  return body.refine(({ startTime, endTime }) => startTime <= endTime, {
    path: ["startTime"],
    error: ({ input }) => rangeProblem(input as { startTime: number; endTime: number }),
    params: { isWhole: true },
  });
}

export function rangeProblem({ startTime, endTime }: { startTime: number; endTime: number }): string {
  return `must not be after endTime, got ${startTime} and ${endTime}`;
}

/** A search for logs or spans; `query` says what its query is. */
export function rowsSearchBody(query: string) {
  return ordered(
    strictObject({
      query: queryText(query),
      ...range,
      limit,
      cursor: z.string(expects("a string, the cursor of an earlier answer")).nullish(),
      explain: z.boolean().nullish(),
    }),
  );
}

export const warnings = z.array(z.string()).optional();

export const logEntry = z
  .strictObject({
    timestamp: z.int(),
    log_level: z.string(),
    message: z.string(),
    attributes: z.record(z.string(), z.string()),
  })
  .meta({ id: "LogEntry" });

/** The member of an answer that is there where there are warnings. */
export function warningsMember(found: readonly string[]): { warnings?: readonly string[] } {
  return found.length === 0 ? {} : { warnings: found };
}
