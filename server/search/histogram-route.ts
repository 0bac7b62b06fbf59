/** POST /api/v1/query/histogram: counts of the rows that a search finds, by time and by level or status. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { queryHistogram, type RowHistogram } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { strictObject } from "../model/schema.ts";
import { listReply } from "./list-reply.ts";
import {
  bucketSize,
  range,
  requiredQuery,
  warnings,
  warningsMember,
  withOrderedRange,
} from "./search-body.ts";
import type { Searches } from "./searches.ts";

const body = withOrderedRange(
  strictObject({
    signal: z.enum(signals).exclude(["metrics"]).nullish(),
    query: requiredQuery("a string, svcQL that selects rows (of logs, or search terms)"),
    ...range,
    bucketSize,
  }),
);

export function histogramRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/histogram",
    summary: "Counts the rows that a search finds, over time and by level or status",
    body: json(body, { nullIsAbsent: true }),
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
          items: formatSeries(histogram),
          after: { count: histogram.count, ...warningsMember(histogram.warnings) },
        });
      });
    },
  });
}

function* formatSeries({ by, series }: RowHistogram): Generator<string> {
  for (const { kind, points } of series)
    yield JSON.stringify(by === null ? { points } : { [by]: kind, points });
}
