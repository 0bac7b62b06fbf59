/** POST /api/v1/query/around: a row and the rows before and after it. */

import * as z from "zod";
import { queryAround } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonHeaders, Reply, type Route } from "../api/route.ts";
import { timeMsMax } from "../model/limits.ts";
import { expects, integerFrom, strictObject, timeMs } from "../model/schema.ts";
import { Refusal } from "../throttle/refusal.ts";
import { formatBodyEntry, formatLogEntry } from "./log-entry.ts";
import { bodyEntry, logEntry } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const rows = integerFrom(0, 500).nullish();
const rowsDefault = 20;

const body = strictObject({
  signal: z.enum(["logs", "profiles", "kubernetes_resources"]).nullish(),
  id: z.string(expects("a string, the id of a row of an earlier answer")),
  query: z.string(expects("a string, svcQL or search terms")).nullish(),
  before: rows,
  after: rows,
  startTime: timeMs.nullish(),
  endTime: timeMs.nullish(),
});

const entry = z.union([logEntry, bodyEntry]);

export function aroundRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/around",
    summary: "Shows a row with the rows before and after it",
    body: json(body, { nullIsAbsent: true }),
    errors: [404],
    response: z.looseObject({
      row: entry,
      before: z.array(entry),
      after: z.array(entry),
      hasMoreBefore: z.boolean(),
      hasMoreAfter: z.boolean(),
    }),
    handle: (input) =>
      searches.run(input, async (store, limits) => {
        const { signal, id, query, before, after, startTime, endTime } = input.body;
        const asked = signal ?? "logs";
        const found = await queryAround(
          store,
          {
            ...{ signal: asked, id, query: query ?? "" },
            ...{ before: before ?? rowsDefault, after: after ?? rowsDefault },
            ...{ startMs: startTime ?? 0, endMs: endTime ?? timeMsMax },
          },
          limits,
        );
        // Whoever may not read a row does not learn that it is there.
        if (found === undefined) throw new Refusal(404, "there is no row with this id");
        const format = asked === "logs" ? formatLogEntry : formatBodyEntry;
        const list = (each: typeof found.before) => `[${each.map((row) => format(row, true)).join(",")}]`;
        const { row, hasMoreBefore, hasMoreAfter } = found;
        const text = `{"row":${format(row, true)},"before":${list(found.before)},"after":${list(found.after)},"hasMoreBefore":${hasMoreBefore},"hasMoreAfter":${hasMoreAfter}}\n`;
        return new Reply({ status: 200, headers: jsonHeaders, body: text });
      }),
  });
}
