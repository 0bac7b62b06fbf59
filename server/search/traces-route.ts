/** POST /api/v1/query/traces: spans, newest first, a page at a time. */

import * as z from "zod";
import { searchSpans } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { membersAfterRows, rowsSearchBody, toRowsRequest, warnings } from "./search-body.ts";
import type { Searches } from "./searches.ts";
import { formatSpan } from "./span-entry.ts";

export function tracesRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/traces",
    summary: "Searches spans, newest first",
    body: rowsSearchBody("a string, svcQL that selects spans"),
    response: z.looseObject({
      count: z.int(),
      spans: z.array(z.looseObject({})),
      cursor: z.string().optional(),
      warnings,
    }),
    handle: (input) =>
      searches.run(input, async (store, limits) => {
        const found = await searchSpans(store, toRowsRequest(input.body), limits);
        return listReply({
          name: "spans",
          items: found.spans.values().map(formatSpan),
          after: { count: found.spans.length, ...membersAfterRows(found, input.body) },
        });
      }),
  });
}
