/** POST /api/v1/investigations: which service causes what happens in a window. */

import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { range, rangedBody } from "../search/search-body.ts";
import type { Searches } from "../search/searches.ts";
import { makeFieldRefusal } from "../throttle/refusal.ts";
import { describeSuspect } from "./evidence.ts";
import { addExample } from "./examples.ts";
import { baselineMsDefault, investigate } from "./investigate.ts";

/** A longer window hides what began within it. */
const windowMsMax = 3_600_000;
const suspectsMax = 5;
/** Weaker evidence is of the noise that is always there. */
const scoreMin = 0.1;

export function investigationRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/investigations",
    summary: "Says which service causes what happens in a window, compared with the hour before",
    body: rangedBody(range),
    response: z.strictObject({
      startTime: z.int(),
      endTime: z.int(),
      suspects: z.array(
        z.strictObject({
          service: z.string(),
          kind: z.enum(["code", "exception", "latency", "network", "cpu"]),
          score: z.number(),
          evidence: z.array(
            z.strictObject({
              sentence: z.string(),
              query: z.string(),
              message: z.string().optional(),
              traceId: z.string().optional(),
            }),
          ),
        }),
      ),
      spans: z.int(),
      logs: z.int(),
    }),
    handle: (input) => {
      const { startTime, endTime } = input.body;
      if (endTime - startTime >= windowMsMax)
        throw makeFieldRefusal("endTime", "must be less than an hour after startTime");
      return searches.run(input, async (store, limits) => {
        const incident = {
          ...{ startMs: startTime, endMs: endTime + 1 },
          baselineMs: Math.max(0, startTime - baselineMsDefault),
        };
        const { suspects, spans, logs } = await investigate(store, incident, limits);
        const strong = suspects.filter(({ score }) => score >= scoreMin).slice(0, suspectsMax);
        const named = await Promise.all(
          strong.map(async (suspect) => {
            const { service, kind, score } = suspect;
            const shown = describeSuspect(suspect).map((each) => addExample(store, each, incident, limits));
            return { service, kind, score, evidence: await Promise.all(shown) };
          }),
        );
        return jsonReply({ startTime, endTime, suspects: named, spans, logs });
      });
    },
  });
}
