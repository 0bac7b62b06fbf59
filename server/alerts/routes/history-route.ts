/** GET /api/v1/alerts/{id}/history: the transitions of an alert's instances, a page at a time. */

import * as z from "zod";
import type { Visibility } from "../../access/alert-visibility.ts";
import { defineRoute } from "../../api/define-route.ts";
import type { Route } from "../../api/route.ts";
import { integerFrom, timeMs } from "../../model/schema.ts";
import { Refusal } from "../../throttle/refusal.ts";
import type { Evaluator } from "../evaluator.ts";
import { historyPageDefault, historyPageMax } from "../limits.ts";
import type { HistoryPage, HistoryQuery } from "../transition-history.ts";
import { findAlert, partialNote } from "./alert-lookup.ts";

interface HistoryRouteOptions {
  evaluator: Evaluator;
  visibility: Visibility;
}

const labelsShape = z.record(z.string(), z.string());

const query = {
  rule: z.string().optional(),
  labels: z.string().optional().meta({ description: 'Labels of the instance, as JSON: {"name":"cart"}' }),
  startTime: timeMs.optional(),
  endTime: timeMs.optional(),
  limit: integerFrom(1, historyPageMax).optional(),
  cursor: z.string().optional(),
};

export function historyRoute({ evaluator, visibility }: HistoryRouteOptions): Route {
  return defineRoute({
    ...{ tag: "alerts", deadlineMs: 60_000, errors: [404], permission: "search", parameterName: "parameter" },
    method: "GET",
    path: "/api/v1/alerts/{id}/history",
    summary: "The transitions of an alert's instances, the newest first",
    query,
    response: z.strictObject({
      transitions: z.array(z.looseObject({})),
      keptFrom: z.int(),
      cursor: z.string().optional(),
      warnings: z.array(z.string()).optional(),
    }),
    handle: async ({ params: { id }, query: asked, caller }) => {
      const { isWhole } = findAlert({ visibility }, id, caller);
      const { rule, startTime: startMs, endTime: endMs, limit = historyPageDefault, cursor } = asked;
      const labels = asked.labels === undefined ? undefined : readLabels(asked.labels);
      const page = readPage(evaluator, id, { rule, labels, startMs, endMs, limit, cursor });
      const { transitions, keptFromMs: keptFrom, ...next } = page;
      if (!isWhole) return { transitions: [], keptFrom, warnings: [partialNote] };
      return { transitions: transitions.map((each) => ({ ...each })), keptFrom, ...next };
    },
  });
}

/** Throws Refusal 400. */
function readLabels(text: string): Record<string, string> {
  const problem = 'labels must be a JSON object of texts, such as {"service.name":"cart"}';
  try {
    return labelsShape.parse(JSON.parse(text));
  } catch {
    throw new Refusal(400, problem);
  }
}

/** Throws Refusal 400 where the cursor is none. */
function readPage(evaluator: Evaluator, id: string, asked: HistoryQuery): HistoryPage {
  try {
    return evaluator.historyPage(id, asked);
  } catch (error) {
    throw new Refusal(400, (error as Error).message);
  }
}
