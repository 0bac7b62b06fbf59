/** POST /api/v1/query/patterns. */

import { type Pattern, type PatternQuery, queryPatterns } from "../../query/index.ts";
import { fieldsOf, integerField, isGiven, stringField } from "../api/fields.ts";
import { listReply } from "./list-reply.ts";
import { rangeFields, type SearchKind } from "./searches.ts";

const limitDefault = 100;
const limitRange = { min: 1, max: 1_000, expected: "an integer from 1 to 1000" };

export const patternsSearch: SearchKind<PatternQuery> = {
  path: "/api/v1/query/patterns",
  read: readPatternQuery,
  answer: async (store, query, limits) => {
    const { patterns, count, distinct, warnings } = await queryPatterns(store, query, limits);
    return listReply({
      before: { count, distinct },
      name: "patterns",
      items: patternTexts(patterns),
      after: warnings.length === 0 ? {} : { warnings },
    });
  },
};

function readPatternQuery(body: unknown): PatternQuery {
  const fields = fieldsOf(body, "", ["query", "startTime", "endTime", "limit"]);
  const query = stringField(fields, "query", "a string, svcQL or search terms");
  const range = rangeFields(fields);
  const limit = isGiven(fields, "limit") ? integerField(fields, "limit", limitRange) : limitDefault;
  return { query, ...range, limit };
}

function* patternTexts(patterns: readonly Pattern[]): Generator<string> {
  for (const { template, text, count, share, example, firstSeenMs, lastSeenMs, levels } of patterns) {
    yield JSON.stringify({
      template,
      text,
      count,
      share,
      example,
      firstSeen: firstSeenMs,
      lastSeen: lastSeenMs,
      levels,
    });
  }
}
