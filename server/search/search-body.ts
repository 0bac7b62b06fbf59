/** Schemas that the bodies and answers of searches share. A field that is null counts as left out. */

import * as z from "zod";
import { bodySignals, type LogSearchResult } from "../../query/index.ts";
import { json } from "../api/define-route.ts";
import { bucketSecondsMax } from "../model/limits.ts";
import { expects, integerFrom, strictObject, timeMs } from "../model/schema.ts";

/** The signals that consist of rows. */
export const rowSignals = ["logs", "traces", ...bodySignals] as const;

/** The fields of a time range: Unix milliseconds, both inclusive. */
export const range = { startTime: timeMs, endTime: timeMs };

export const limit = integerFrom(1, 1_000).nullish();
export const limitDefault = 100;

export const bucketSize = integerFrom(
  0,
  bucketSecondsMax,
  `an integer from 0 to ${bucketSecondsMax}, the seconds of a bucket (0: chosen by the range)`,
).nullish();

const variablesMax = 100;
const variableNameLengthMax = 100;
const variableLengthMax = 10_000;

/** Characters of `prefix`: nobody types more. */
const prefixLengthMax = 1_024;

/** The beginning of a field's name or value. */
export const prefix = z
  .string()
  .max(prefixLengthMax, {
    error: ({ input }) => `must have ${prefixLengthMax} characters at most, got ${(input as string).length}`,
  })
  .nullish();

/** Values of the query's `$name`s, by name. */
export const variables = z
  .record(z.string().max(variableNameLengthMax), z.string().max(variableLengthMax))
  .refine((sent) => Object.keys(sent).length <= variablesMax, { error: `must be ${variablesMax} at most` })
  .nullish();

/** A required query; `text` completes "query must be …" in errors. */
export function requiredQuery(text: string): z.ZodString {
  return z.string(expects(text));
}

interface Range {
  startTime: number;
  endTime: number;
}

/** A body whose startTime must not be after its endTime. */
export function rangedBody<Shape extends typeof range>(shape: Shape) {
  return json(orderedRange(strictObject(shape)), { nullIsAbsent: true });
}

/** The same object, whose startTime must not be after its endTime. */
export function orderedRange<Schema extends z.ZodType>(schema: Schema): Schema {
  return schema.refine((sent) => isOrdered(sent as Range), {
    path: ["startTime"],
    error: ({ input }) => describeRangeProblem(input as Range),
    params: { isWhole: true },
  });
}

function isOrdered({ startTime, endTime }: Range): boolean {
  return startTime <= endTime;
}

export function describeRangeProblem({ startTime, endTime }: Range): string {
  return `must not be after endTime, got ${startTime} and ${endTime}`;
}

/** The body of a search for logs or spans; `query` completes "query must be …" in errors. */
export function rowsSearchBody(query: string) {
  return rangedBody(rowsSearchFields(query));
}

/** The body of a search whose rows may be asked for with their ids. */
export function identifiedSearchBody(query: string) {
  return rangedBody({ ...rowsSearchFields(query), ids: z.boolean().nullish() });
}

function rowsSearchFields(query: string) {
  return {
    query: requiredQuery(query),
    ...range,
    variables,
    limit,
    cursor: z.string(expects("a string, the cursor of an earlier answer")).nullish(),
    order: z.enum(["newest", "oldest"]).nullish(),
    explain: z.boolean().nullish(),
  };
}

type RowsSearch = ReturnType<ReturnType<typeof rowsSearchBody>["read"]>;

export function toRowsRequest(sent: RowsSearch) {
  const { query, startTime: startMs, endTime: endMs, variables, limit, cursor, order, explain } = sent;
  return {
    ...{ query, startMs, endMs, limit: limit ?? limitDefault },
    ...(variables == null ? {} : { variables }),
    ...(cursor == null ? {} : { cursor }),
    ...(order == null ? {} : { order }),
    isExplained: explain === true,
  };
}

/** What follows the rows in the answer. */
export function membersAfterRows(
  { cursor, warnings, explained }: Pick<LogSearchResult, "cursor" | "warnings" | "explained">,
  { explain }: RowsSearch,
) {
  return { cursor, ...warningsMember(warnings), ...(explain === true ? { explain: explained } : {}) };
}

export const warnings = z.array(z.string()).optional();

/** The id of a row. */
const rowId = z.string().optional();

export const logEntry = z
  .strictObject({
    id: rowId,
    timestamp: z.int(),
    log_level: z.string(),
    message: z.string(),
    attributes: z.record(z.string(), z.string()),
  })
  .meta({ id: "LogEntry" });

/** A row that is a body and attributes. */
export const bodyEntry = z.strictObject({
  id: rowId,
  timestamp: z.int(),
  body: z.string(),
  attributes: z.record(z.string(), z.string()),
});

/** The `warnings` of an answer; none where there are no warnings. */
export function warningsMember(found: readonly string[]): { warnings?: readonly string[] } {
  return found.length === 0 ? {} : { warnings: found };
}
