/**
 * Errors of wrong timeseries queries have the right place and helpful words. `plan/cases/series-errors.txt` has whole
 * messages.
 */
import { expect, test } from "vitest";
import { planTimeseries, QueryError } from "../../../query/index.ts";
import { wrongQueries } from "./wrong-queries.ts";

function errorOf(query: string): QueryError | undefined {
  try {
    planTimeseries(query);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  return undefined;
}

test.each(wrongQueries)("$query says what is wrong, and where", ({ query, line, column, says }) => {
  const found = errorOf(query);
  expect([found?.line, found?.column], found?.message).toEqual([line, column]);
  for (const words of says) expect(found?.message.toLowerCase()).toContain(words.toLowerCase());
});
