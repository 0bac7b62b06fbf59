/** What a person reads of a wrong timeseries query: the place, and words that help. The whole sentences are in cases/series-errors.txt. */
import { expect, test } from "vitest";
import { planTimeseries, QueryError } from "../../../query/index.ts";
import { wrongQueries } from "./wrong-queries.ts";

function refusal(query: string): QueryError | undefined {
  try {
    planTimeseries(query);
  } catch (error) {
    if (error instanceof QueryError) return error;
    throw error;
  }
  return undefined;
}

test.each(wrongQueries)("$query says what is wrong, and where", ({ query, line, column, says }) => {
  const found = refusal(query);
  expect([found?.line, found?.column], found?.message).toEqual([line, column]);
  for (const words of says) expect(found?.message.toLowerCase()).toContain(words.toLowerCase());
});
