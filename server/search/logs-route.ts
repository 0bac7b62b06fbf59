/** POST /api/v1/query/logs: log entries, newest first (interface specification, sections 2.4 and 4). */

import * as z from "zod";
import type { FoundRow } from "../../engine/index.ts";
import { searchLogs } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { formatLogEntry } from "./log-entry.ts";
import { limitDefault, logEntry, rowsSearchBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function logsRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/logs",
    summary: "Searches logs, newest first",
    body: json(rowsSearchBody("a string, svcQL or search terms"), { nullIsAbsent: true }),
    response: z.looseObject({
      count: z.int(),
      logs: z.array(logEntry),
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
        const found = await searchLogs(store, request, limits);
        return listReply({
          before: { count: found.rows.length },
          name: "logs",
          items: formatEntries(found.rows),
          after: {
            cursor: found.cursor,
            ...warningsMember(found.warnings),
            ...(explain === true ? { explain: found.explained } : {}),
          },
        });
      });
    },
  });
}

function* formatEntries(rows: readonly FoundRow[]): Generator<string> {
  for (const row of rows) yield formatLogEntry(row);
}
