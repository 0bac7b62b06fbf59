/** GET /api/v1/alerts/{id}/fires/{fireId}/explanation: the window of buckets for which a rule began to fire. */

import * as z from "zod";
import type { Visibility } from "../../access/alert-visibility.ts";
import { defineRoute } from "../../api/define-route.ts";
import { jsonReply, type Route } from "../../api/route.ts";
import type { Searches } from "../../search/searches.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { Evaluator } from "../evaluator.ts";
import { findAlert, partialNote } from "../routes/alert-lookup.ts";
import { isBreaching } from "../state/alert-definition.ts";
import type { Fire } from "../state/fire.ts";
import type { FireOpening } from "../state/fire-opening.ts";
import { readOpening } from "./opening.ts";

export interface ExplanationOptions {
  searches: Searches;
  evaluator: Evaluator;
  visibility: Visibility;
}

const response = z.strictObject({
  fireId: z.string(),
  rule: z.string(),
  labels: z.record(z.string(), z.string()),
  firedAt: z.int(),
  query: z.string(),
  bucketSize: z.int(),
  source: z.enum(["stored", "replayed", "none"]),
  operators: z.array(z.looseObject({})),
  persistenceSettings: z.looseObject({}).nullable(),
  points: z.array(z.tuple([z.int(), z.number().nullable()])),
  breaching: z.array(z.boolean().nullable()),
  more: z.int(),
  verdict: z.enum(["ok", "firing", "noData", "keep"]).nullable(),
  why: z.string().nullable(),
  warnings: z.array(z.string()).optional(),
});

export function explanationRoute(options: ExplanationOptions): Route {
  const { searches, evaluator, visibility } = options;
  return defineRoute({
    ...searches.shared,
    method: "GET",
    path: "/api/v1/alerts/{id}/fires/{fireId}/explanation",
    summary: "Why a fire began: the buckets that its rule looked at, and what it compared",
    tag: "alerts",
    errors: [404, 429],
    response,
    handle: async (input) => {
      const { id, fireId } = input.params;
      const { isWhole } = findAlert({ visibility }, id, input.caller);
      const fire = evaluator.fireOf(id, fireId);
      if (fire === undefined) {
        throw new Refusal(404, `the alert has no fire ${JSON.stringify(fireId.slice(0, 100))}`);
      }
      if (!isWhole) return explanationReply({ ...fire, labels: {} }, "none", undefined, [partialNote]);
      if (fire.opening !== undefined) return explanationReply(fire, "stored", fire.opening, []);
      return searches.run(input, async (_, { abort }) => {
        const { opening, warnings } = await readOpening(evaluator, fire, abort ?? input.signal);
        const source = opening === undefined ? "none" : "replayed";
        return jsonReply(explanationReply(fire, source, opening, warnings));
      });
    },
  });
}

function explanationReply(
  { id, rule, labels, firedAtMs, query, bucketSeconds }: Fire,
  source: "stored" | "replayed" | "none",
  opening: FireOpening | undefined,
  warnings: readonly string[],
) {
  const { operators = [], points = [], olderPoints = 0, verdict = null, why = null } = opening ?? {};
  const settings = opening && { missingDatapointBehavior: "notBreaching", ...opening.persistenceSettings };
  return {
    ...{ fireId: id, rule, labels, firedAt: firedAtMs, query, bucketSize: bucketSeconds, source, operators },
    persistenceSettings: settings ?? null,
    points,
    breaching: points.map(([, value]) => (value === null ? null : opening && isBreaching(value, opening))),
    more: olderPoints,
    ...{ verdict, why },
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}
