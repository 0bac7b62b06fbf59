/** POST /api/v1/query/patterns: the patterns of the messages that a search finds, the most frequent first. */

import * as z from "zod";
import { type Pattern, queryPatterns } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import {
  limit,
  limitDefault,
  range,
  rangedBody,
  requiredQuery,
  warnings,
  warningsMember,
} from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function patternsRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/patterns",
    summary: "Tells which patterns messages have",
    body: rangedBody({ query: requiredQuery("a string, svcQL or search terms"), ...range, limit }),
    response: z.looseObject({
      count: z.int(),
      distinct: z.int(),
      patterns: z.array(z.looseObject({})),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs, limit } = input.body;
      return searches.run(input, async (store, limits) => {
        const request = { query, startMs, endMs, limit: limit ?? limitDefault };
        const found = await queryPatterns(store, request, limits);
        return listReply({
          before: { count: found.count, distinct: found.distinct },
          name: "patterns",
          items: found.patterns.values().map(formatPattern),
          after: warningsMember(found.warnings),
        });
      });
    },
  });
}

function formatPattern({ firstSeenMs: firstSeen, lastSeenMs: lastSeen, ...pattern }: Pattern): string {
  const { template, text, count, share, example, levels } = pattern;
  return JSON.stringify({ template, text, count, share, example, firstSeen, lastSeen, levels });
}
