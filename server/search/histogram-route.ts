/** POST /api/v1/query/histogram: counts of the rows that a search finds, by time and by level or status. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { queryHistogram } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { nameLengthMax } from "../model/limits.ts";
import { expects, integerFrom } from "../model/schema.ts";
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
      by: z.string(expects("a string, the name of a field")).min(1).max(nameLengthMax).nullish(),
      top: integerFrom(1, 50).nullish(),
    }),
    response: z.looseObject({
      bucketSize: z.int(),
      partial: z.array(z.int()),
      series: z.array(z.looseObject({})),
      count: z.int(),
      warnings,
    }),
    handle: (input) => {
      const {
        signal,
        query,
        startTime: startMs,
        endTime: endMs,
        bucketSize: bucketSeconds,
        by,
        top,
      } = input.body;
      return searches.run(input, async (store, limits) => {
        const request = {
          signal: signal ?? "logs",
          query,
          startMs,
          endMs,
          ...(bucketSeconds == null ? {} : { bucketSeconds }),
          ...(by == null ? {} : { by }),
          ...(top == null ? {} : { top }),
        };
        const histogram = await queryHistogram(store, request, limits);
        return listReply({
          before: { bucketSize: histogram.bucketSeconds, partial: histogram.partial },
          name: "series",
          items: histogram.series.values().map(({ kind, points }) => {
            if (by != null)
              return JSON.stringify(kind === undefined ? { other: true, points } : { value: kind, points });
            return JSON.stringify(histogram.by === null ? { points } : { [histogram.by]: kind, points });
          }),
          after: { count: histogram.count, ...warningsMember(histogram.warnings) },
        });
      });
    },
  });
}
