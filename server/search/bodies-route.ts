/** POST /api/v1/query/{profiles|kubernetes_resources}: rows that are a body and attributes, newest first. */

import * as z from "zod";
import { type BodySignal, searchBodies } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { formatBodyEntry } from "./log-entry.ts";
import { bodyEntry, identifiedSearchBody, membersAfterRows, toRowsRequest, warnings } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const rowsOf: Readonly<Record<BodySignal, string>> = {
  profiles: "profiles",
  kubernetes_resources: "states of Kubernetes resources",
};

export function bodiesRoute(searches: Searches, signal: BodySignal): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: `/api/v1/query/${signal}`,
    summary: `Searches ${rowsOf[signal]}, newest first`,
    body: identifiedSearchBody(`a string, svcQL that selects ${signal}`),
    response: z.looseObject({
      count: z.int(),
      rows: z.array(bodyEntry),
      cursor: z.string().optional(),
      warnings,
    }),
    handle: (input) =>
      searches.run(input, async (store, limits) => {
        const found = await searchBodies(store, signal, toRowsRequest(input.body), limits);
        return listReply({
          before: { count: found.rows.length },
          name: "rows",
          items: found.rows.values().map((row) => formatBodyEntry(row, input.body.ids === true)),
          after: membersAfterRows(found, input.body),
        });
      }),
  });
}
