/** POST /api/v1/query/timeseries. */

import * as z from "zod";
import { queryTimeseries, type SeriesColumns } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import { strictObject } from "../model/schema.ts";
import { seriesMax } from "./limits.ts";
import { listReply } from "./list-reply.ts";
import { bucketSize, ordered, queryText, range, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const body = ordered(
  strictObject({
    query: queryText("a string, svcQL with an aggregation"),
    ...range,
    explain: z.boolean().nullish(),
    bucketSize,
  }),
);

export function timeseriesRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/timeseries",
    summary: "Calculates series over time",
    body: json(body, { nullIsAbsent: true }),
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
      return searches.run(input, async (store, limits) => {
        const asked = { query, startMs, endMs, ...(bucketSeconds == null ? {} : { bucketSeconds }) };
        const found = await queryTimeseries(store, asked, limits);
        checkSeriesCount(found.columns.length);
        const after = {
          bucketSize: found.bucketSeconds,
          partial: found.partial,
          ...warningsMember(found.warnings),
          ...(explain === true ? { explain: found.explained } : {}),
        };
        return listReply({ before: {}, name: "series", items: seriesTexts(found.columns), after });
      });
    },
  });
}

/** Throws Refusal 400. */
function checkSeriesCount(count: number): void {
  if (count <= seriesMax) return;
  const problem = `the query gives ${count} series, and an answer holds ${seriesMax} at most`;
  throw new Refusal(400, `${problem}; group by fewer labels, or take the greatest with topk(…)`);
}

/** Written from the columns, since points are many and objects of them would be made for this alone. */
function* seriesTexts(columns: SeriesColumns): Generator<string> {
  for (let place = 0; place < columns.length; place++) {
    let points = "";
    columns.eachPoint(place, (ms, value) => {
      points += `${points === "" ? "" : ","}[${ms},${value}]`;
    });
    yield `{"labels":${JSON.stringify(columns.labels(place))},"points":[${points}]}`;
  }
}
