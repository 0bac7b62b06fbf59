/** POST /api/v1/query/durations: how long the spans took that a search finds. */

import * as z from "zod";
import { queryDurations } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { range, rangedBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function durationsRoute(searches: Searches): Route {
  const quantile = z.number().nullable();
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/durations",
    summary: "Counts the spans that a search finds by their duration",
    body: rangedBody({ query: z.string().nullish(), ...range }),
    response: z.strictObject({
      count: z.int(),
      errors: z.int(),
      ...{ p50: quantile, p90: quantile, p99: quantile },
      buckets: z.array(
        z.strictObject({ fromMs: z.number(), toMs: z.number(), count: z.int(), errors: z.int() }),
      ),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs } = input.body;
      return searches.run(input, async (store, limits) => {
        const asked = { query: query ?? "", startMs, endMs };
        const { warnings: found, ...histogram } = await queryDurations(store, asked, limits);
        return jsonReply({ ...histogram, ...warningsMember(found) });
      });
    },
  });
}
