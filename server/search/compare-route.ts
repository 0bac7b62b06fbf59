/** POST /api/v1/query/compare: how two selections of rows differ: fields, values and patterns, ranked. */

import * as z from "zod";
import type { RowSignal } from "../../engine/index.ts";
import { planSearch, queryComparison } from "../../query/index.ts";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { refuseQuery } from "../model/query-refusal.ts";
import { strictObject } from "../model/schema.ts";
import { limit, orderedRange, range, rowSignals, warnings, warningsMember } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const limitDefault = 20;

const side = orderedRange(strictObject({ query: z.string().nullish(), ...range }));
const difference = { selection: z.int(), baseline: z.int(), score: z.number() };

export function compareRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/compare",
    summary:
      "Tells how two selections of rows differ: fields, values and patterns, those that differ most first",
    body: json(
      strictObject({
        signal: z.enum(rowSignals).nullish(),
        query: z.string().nullish(),
        selection: side,
        baseline: side,
        limit,
      }),
      { nullIsAbsent: true },
    ),
    response: z.strictObject({
      selection: z.int(),
      baseline: z.int(),
      fields: z.array(
        z.strictObject({
          field: z.string(),
          score: z.number(),
          values: z.array(z.strictObject({ value: z.string().nullable(), ...difference })),
        }),
      ),
      patterns: z.array(
        z.strictObject({
          template: z.string(),
          text: z.string(),
          example: z.string(),
          level: z.string(),
          ...difference,
        }),
      ),
      uncompared: z.array(z.string()),
      warnings,
    }),
    handle: (input) => {
      const { body } = input;
      const signal = body.signal ?? "logs";
      const request = {
        signal,
        query: checkedQuery("query", body.query, signal),
        selection: readSide("selection", body.selection, signal),
        baseline: readSide("baseline", body.baseline, signal),
        limit: body.limit ?? limitDefault,
      };
      return searches.run(input, async (store, limits) => {
        const { warnings: found, ...compared } = await queryComparison(store, request, limits);
        return jsonReply({ ...compared, ...warningsMember(found) });
      });
    },
  });
}

function readSide(name: string, { query, startTime, endTime }: z.infer<typeof side>, signal: RowSignal) {
  return { query: checkedQuery(`${name}.query`, query, signal), startMs: startTime, endMs: endTime };
}

/** Throws Refusal 400 that names the member: there are three queries that a mistake could be in. */
function checkedQuery(member: string, query: string | null | undefined, signal: RowSignal): string {
  const text = query ?? "";
  refuseQuery(member, () => planSearch(signal, text));
  return text;
}
