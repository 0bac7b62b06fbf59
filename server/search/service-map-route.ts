/** POST /api/v1/query/service-map: which services call which, by the spans that a search finds. */

import * as z from "zod";
import { queryServiceMap } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { range, rangedBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

export function serviceMapRoute(searches: Searches): Route {
  const quantile = z.number().nullable();
  const calls = {
    calls: z.int(),
    errors: z.int(),
    ...{ p50: quantile, p90: quantile, p99: quantile },
  };
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/service-map",
    summary: "Tells which services call which, by the spans that a search finds",
    body: rangedBody({ query: z.string().nullish(), ...range }),
    response: z.strictObject({
      startTime: z.int(),
      endTime: z.int(),
      spans: z.int(),
      services: z.array(
        z.strictObject({
          name: z.string(),
          kind: z.enum(["service", "database", "messaging", "external"]),
          ...calls,
        }),
      ),
      edges: z.array(z.strictObject({ from: z.string(), to: z.string(), ...calls })),
      warnings,
    }),
    handle: (input) => {
      const { query, startTime: startMs, endTime: endMs } = input.body;
      return searches.run(input, async (store, limits) => {
        const asked = { query: query ?? "", startMs, endMs };
        const {
          warnings: found,
          startMs: from,
          endMs: to,
          ...map
        } = await queryServiceMap(store, asked, limits);
        return jsonReply({ startTime: from, endTime: to, ...map, ...warningsMember(found) });
      });
    },
  });
}
