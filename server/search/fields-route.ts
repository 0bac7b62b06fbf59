/** POST /api/v1/query/fields: the fields of the rows that a search finds, or the labels of series. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { type ListedLabel, queryFields, queryLabels } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { integerFrom } from "../model/schema.ts";
import { listReply } from "./list-reply.ts";
import { prefix, range, rangedBody, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const fieldsDefault = 1_000;

export function fieldsRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/fields",
    summary: "Lists the fields of the rows that a search finds, or the labels of series",
    body: rangedBody({
      signal: z.enum(signals),
      query: z.string().nullish(),
      ...range,
      prefix,
      limit: integerFrom(1, 10_000).nullish(),
    }),
    response: z.looseObject({
      fields: z.array(z.looseObject({ name: z.string() })),
      isWhole: z.boolean(),
      warnings,
    }),
    handle: (input) => {
      const { signal, query, startTime: startMs, endTime: endMs, prefix, limit } = input.body;
      const request = {
        query: query ?? "",
        startMs,
        endMs,
        prefix: prefix ?? "",
        limit: limit ?? fieldsDefault,
      };
      return searches.run(input, async (store, limits) => {
        if (signal === "metrics") {
          const { found, isWhole, warnings } = await queryLabels(store, request, limits);
          const after = { isWhole, ...warningsMember(warnings) };
          return listReply({ name: "fields", items: found.map(formatLabel), after });
        }
        const { fields, count, isWhole, warnings } = await queryFields(store, { signal, ...request }, limits);
        return listReply({
          name: "fields",
          items: fields.map((field) => JSON.stringify(field)),
          after: { count, isWhole, ...warningsMember(warnings) },
        });
      });
    },
  });
}

function formatLabel({ text, series }: ListedLabel): string {
  return JSON.stringify({ name: text, series });
}
