/** POST /api/v1/query/traces: spans, newest first, a page at a time. */

import * as z from "zod";
import { type Span, searchSpans } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { limitDefault, rowsSearchBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";
import { formatSpan } from "./span-entry.ts";

export function tracesRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/traces",
    summary: "Searches spans, newest first",
    body: json(rowsSearchBody("a string, svcQL that selects spans"), { nullIsAbsent: true }),
    response: z.looseObject({
      count: z.int(),
      spans: z.array(z.looseObject({})),
      cursor: z.string().optional(),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs, limit, cursor, explain } = input.body;
      return searches.run(input, async (store, limits) => {
        const request = {
          query,
          startMs,
          endMs,
          limit: limit ?? limitDefault,
          ...(cursor == null ? {} : { cursor }),
        };
        const found = await searchSpans(store, request, limits);
        return listReply({
          before: {},
          name: "spans",
          items: formatSpans(found.spans),
          after: {
            count: found.spans.length,
            cursor: found.cursor,
            ...warningsMember(found.warnings),
            ...(explain === true ? { explain: found.explained } : {}),
          },
        });
      });
    },
  });
}

function* formatSpans(spans: readonly Span[]): Generator<string> {
  for (const span of spans) yield formatSpan(span);
}
