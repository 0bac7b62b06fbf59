/** POST /api/v1/query/histogram: counts of the rows that a search finds, by time and by level or status. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { queryHistogram } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { listReply } from "./list-reply.ts";
import { bucketSize, range, rangedBody, requiredQuery, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function histogramRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/histogram",
    summary: "Counts the rows that a search finds, over time and by level or status",
    body: rangedBody({
      signal: z.enum(signals).exclude(["metrics"]).nullish(),
      query: requiredQuery("a string, svcQL that selects rows (of logs, or search terms)"),
      ...range,
      bucketSize,
    }),
    response: z.looseObject({
      bucketSize: z.int(),
      partial: z.array(z.int()),
      series: z.array(z.looseObject({})),
      count: z.int(),
      warnings,
    }),
    handle: (input) => {
      const { signal, query, startTime: startMs, endTime: endMs, bucketSize: bucketSeconds } = input.body;
      return searches.run(input, async (store, limits) => {
        const request = {
          signal: signal ?? "logs",
          query,
          startMs,
          endMs,
          ...(bucketSeconds == null ? {} : { bucketSeconds }),
        };
        const histogram = await queryHistogram(store, request, limits);
        return listReply({
          before: { bucketSize: histogram.bucketSeconds, partial: histogram.partial },
          name: "series",
          items: histogram.series.values().map(({ kind, points }) => {
            return JSON.stringify(histogram.by === null ? { points } : { [histogram.by]: kind, points });
          }),
          after: { count: histogram.count, ...warningsMember(histogram.warnings) },
        });
      });
    },
  });
}
