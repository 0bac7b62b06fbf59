/** POST /api/v1/query/values: the values of a field in the rows that a search finds, or of a label of series. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { type ListedLabel, queryLabelValues, queryValues } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { expects } from "../model/schema.ts";
import { listReply } from "./list-reply.ts";
import { limit, limitDefault, prefix, range, rangedBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const fieldName = expects("a string, the name of a field");

export function valuesRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/values",
    summary: "Lists the values of a field in the rows that a search finds, or of a label of series",
    body: rangedBody({
      field: z.string(fieldName).min(1, fieldName),
      signal: z.enum(signals),
      query: z.string().nullish(),
      ...range,
      prefix,
      limit,
    }),
    response: z.looseObject({
      values: z.array(z.looseObject({ value: z.string() })),
      isWhole: z.boolean(),
      warnings,
    }),
    handle: (input) => {
      const { signal, field, query, startTime: startMs, endTime: endMs, prefix, limit } = input.body;
      const request = {
        query: query ?? "",
        startMs,
        endMs,
        prefix: prefix ?? "",
        limit: limit ?? limitDefault,
      };
      return searches.run(input, async (store, limits) => {
        if (signal === "metrics") {
          const { found, isWhole, warnings } = await queryLabelValues(store, field, request, limits);
          const after = { isWhole, ...warningsMember(warnings) };
          return listReply({ name: "values", items: found.map(formatLabelValue), after });
        }
        const found = await queryValues(store, { signal, field, ...request }, limits);
        const { values, isWhole, countedFromMs, warnings } = found;
        return listReply({
          name: "values",
          items: values.map((value) => JSON.stringify(value)),
          after: { isWhole, countedFrom: countedFromMs, ...warningsMember(warnings) },
        });
      });
    },
  });
}

function formatLabelValue({ text, ...counts }: ListedLabel): string {
  return JSON.stringify({ value: text, ...counts });
}
