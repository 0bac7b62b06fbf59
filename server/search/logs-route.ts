/** POST /api/v1/query/logs: log entries, newest first (interface specification, sections 2.4 and 4). */

import * as z from "zod";
import { searchLogs } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { formatLogEntry } from "./log-entry.ts";
import { identifiedSearchBody, logEntry, membersAfterRows, toRowsRequest, warnings } from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function logsRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/logs",
    summary: "Searches logs, newest first",
    body: identifiedSearchBody("a string, svcQL or search terms"),
    response: z.looseObject({
      count: z.int(),
      logs: z.array(logEntry),
      cursor: z.string().optional(),
      warnings,
    }),
    handle: (input) =>
      searches.run(input, async (store, limits) => {
        const found = await searchLogs(store, toRowsRequest(input.body), limits);
        return listReply({
          before: { count: found.rows.length },
          name: "logs",
          items: found.rows.values().map((row) => formatLogEntry(row, input.body.ids === true)),
          after: membersAfterRows(found, input.body),
        });
      }),
  });
}
