/** POST /api/v1/query/timeseries: series of an aggregation over time. */

import * as z from "zod";
import { queryTimeseries, type SeriesColumns } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { Refusal } from "../throttle/refusal.ts";
import { seriesMax } from "./limits.ts";
import { listReply } from "./list-reply.ts";
import {
  bucketSize,
  range,
  rangedBody,
  requiredQuery,
  variables,
  warnings,
  warningsMember,
} from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function timeseriesRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/timeseries",
    summary: "Calculates series over time",
    body: rangedBody({
      query: requiredQuery("a string, svcQL with an aggregation"),
      ...range,
      variables,
      explain: z.boolean().nullish(),
      bucketSize,
    }),
    response: z.looseObject({
      series: z.array(
        z.strictObject({
          labels: z.record(z.string(), z.string()),
          points: z.array(z.tuple([z.int(), z.number()])),
        }),
      ),
      bucketSize: z.int(),
      partial: z.array(z.int()),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs, bucketSize: bucketSeconds, explain } = input.body;
      const given = input.body.variables == null ? {} : { variables: input.body.variables };
      return searches.run(input, async (store, limits) => {
        const request = {
          query,
          startMs,
          endMs,
          ...given,
          ...(bucketSeconds == null ? {} : { bucketSeconds }),
          isExplained: explain === true,
        };
        const timeseries = await queryTimeseries(store, request, limits);
        checkSeriesCount(timeseries.columns.length);
        const after = {
          bucketSize: timeseries.bucketSeconds,
          partial: timeseries.partial,
          ...warningsMember(timeseries.warnings),
          ...(explain === true ? { explain: timeseries.explained } : {}),
        };
        return listReply({ name: "series", items: formatSeries(timeseries.columns), after });
      });
    },
  });
}

/** Throws Refusal 400 above `seriesMax`. */
function checkSeriesCount(count: number): void {
  if (count <= seriesMax) return;
  const problem = `the query gives ${count} series, and an answer holds ${seriesMax} at most`;
  throw new Refusal(400, `${problem}; group by fewer labels, or take the greatest with topk(…)`);
}

/** Writes JSON straight from the columns. Points are many, and an object for each would be made only to be written. */
function* formatSeries(columns: SeriesColumns): Generator<string> {
  for (let position = 0; position < columns.length; position++) {
    let points = "";
    columns.eachPoint(position, (ms, value) => {
      points += `${points === "" ? "" : ","}[${ms},${value}]`;
    });
    yield `{"labels":${JSON.stringify(columns.labels(position))},"points":[${points}]}`;
  }
}
