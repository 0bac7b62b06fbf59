/** POST /api/v1/query/patterns: the patterns of the messages that a search finds, the most frequent first. */

import * as z from "zod";
import { type Pattern, queryPatterns } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { strictObject } from "../model/schema.ts";
import { listReply } from "./list-reply.ts";
import {
  limit,
  limitDefault,
  range,
  requiredQuery,
  warnings,
  warningsMember,
  withOrderedRange,
} from "./search-body.ts";
import type { Searches } from "./searches.ts";

const body = withOrderedRange(
  strictObject({ query: requiredQuery("a string, svcQL or search terms"), ...range, limit }),
);

export function patternsRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/patterns",
    summary: "Tells which patterns messages have",
    body: json(body, { nullIsAbsent: true }),
    response: z.looseObject({
      count: z.int(),
      distinct: z.int(),
      patterns: z.array(z.looseObject({})),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs, limit } = input.body;
      return searches.run(input, async (store, limits) => {
        const found = await queryPatterns(
          store,
          { query, startMs, endMs, limit: limit ?? limitDefault },
          limits,
        );
        return listReply({
          before: { count: found.count, distinct: found.distinct },
          name: "patterns",
          items: formatPatterns(found.patterns),
          after: warningsMember(found.warnings),
        });
      });
    },
  });
}

function* formatPatterns(patterns: readonly Pattern[]): Generator<string> {
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
