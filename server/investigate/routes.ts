/** The routes of investigations: asks for one, lists them, shows one, and takes what people say of it. */

import * as z from "zod";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import type { Caller } from "../model/caller.ts";
import { feedbackShape, investigationShape, type StoredInvestigation } from "../model/investigation.ts";
import { integerFrom } from "../model/schema.ts";
import type { Searches } from "../search/searches.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Investigate } from "./investigate.ts";
import { hideAlerts, present, type SeenAlerts } from "./presentation.ts";
import { checkQuestion, questionBody, readWindow } from "./question.ts";
import type { InvestigationRecords, OwnedInvestigation } from "./records.ts";

export interface InvestigationRoutesOptions extends SeenAlerts {
  searches: Searches;
  records: InvestigationRecords;
  investigate: Investigate;
  /** Whether a caller reads all rows that another reads, whatever the rules say. */
  canReadAllOf(caller: Caller, other: Caller): boolean;
  now: () => number;
}

const path = "/api/v1/investigations";
const listedMax = 100;
const tag = "investigations";

export function investigationRoutes(options: InvestigationRoutesOptions): Route[] {
  return [askRoute(options), listRoute(options), showRoute(options), feedbackRoute(options)];
}

function askRoute(options: InvestigationRoutesOptions): Route {
  const { searches, records, investigate, now } = options;
  return defineRoute({
    ...searches.shared,
    tag,
    method: "POST",
    path,
    summary: "Says which service causes what happens in a window, compared with the hour before",
    body: questionBody,
    response: investigationShape,
    errors: [404, ...searches.shared.errors],
    handle: (input) => {
      const { body, caller } = input;
      checkQuestion(body);
      return searches.run(input, async (store, limits) => {
        const createdAt = now();
        const window = await readWindow(store, body, limits);
        const answer = await investigate(store, window, limits);
        const investigation: StoredInvestigation = {
          ...{ id: crypto.randomUUID(), status: "completed" },
          ...{ startTime: window.startMs, endTime: window.endMs - 1, createdAt, completedAt: now() },
          ...{ by: caller.name, traceId: body.traceId ?? null, query: body.query ?? null },
          ...{ fires: [], problem: null, answer, feedback: null },
        };
        const owned = { investigation, owner: caller };
        await records.store(owned);
        return jsonReply(present(options, owned, caller));
      });
    },
  });
}

function listRoute(options: InvestigationRoutesOptions): Route {
  return defineRoute({
    tag,
    permission: "search",
    method: "GET",
    path,
    summary: "Investigations, the newest first, without their suspects",
    query: {
      limit: integerFrom(1, listedMax, `an integer from 1 to ${listedMax}`).optional(),
      fireId: z.string().optional(),
    },
    response: z.strictObject({
      investigations: z.array(
        investigationShape
          .omit({ answer: true })
          .extend({ verdict: z.string().nullable(), summary: z.string().nullable() }),
      ),
    }),
    handle: async ({ caller, query: { limit = listedMax, fireId } }) => {
      const seen = options.records
        .list()
        .filter((each) => canSee(options, each, caller))
        .map((each) => hideAlerts(options, each, caller))
        .filter(({ fires }) => fireId === undefined || fires.some((fire) => fire.fireId === fireId));
      return { investigations: seen.slice(0, limit).map(summarize) };
    },
  });
}

function showRoute(options: InvestigationRoutesOptions): Route {
  return defineRoute({
    tag,
    permission: "search",
    method: "GET",
    path: `${path}/{id}`,
    summary: "One investigation",
    response: investigationShape,
    errors: [404],
    handle: async ({ params: { id }, caller }) => present(options, find(options, id, caller), caller),
  });
}

function feedbackRoute(options: InvestigationRoutesOptions): Route {
  return defineRoute({
    tag,
    permission: "configure",
    method: "POST",
    path: `${path}/{id}/feedback`,
    summary: "Says whether an investigation was right, and what the true cause is",
    body: json(feedbackShape),
    response: investigationShape,
    errors: [404],
    handle: async ({ params: { id }, caller, body }) => {
      const owned = find(options, id, caller);
      const feedback = { ...body, by: caller.name, at: options.now() };
      const changed = { ...owned, investigation: { ...owned.investigation, feedback } };
      await options.records.store(changed);
      return present(options, changed, caller);
    },
  });
}

/** Finds an investigation that the caller sees. Throws Refusal 404. */
function find(options: InvestigationRoutesOptions, id: string, caller: Caller): OwnedInvestigation {
  const owned = options.records.get(id);
  if (owned !== undefined && canSee(options, owned, caller)) return owned;
  throw new Refusal(404, `there is no investigation ${JSON.stringify(id.slice(0, 100))}`);
}

/** It shows rows that its owner reads. */
function canSee({ canReadAllOf }: InvestigationRoutesOptions, { owner }: OwnedInvestigation, caller: Caller) {
  return canReadAllOf(caller, owner);
}

function summarize({ answer, ...investigation }: StoredInvestigation) {
  return { ...investigation, verdict: answer?.verdict ?? null, summary: answer?.summary ?? null };
}
