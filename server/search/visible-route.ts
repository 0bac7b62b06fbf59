/** POST /api/v1/query/visible: what members of groups may read, for those who manage access. */

import * as z from "zod";
import { queryFields, queryLabelValues, queryValues } from "../../query/index.ts";
import { defineRoute } from "../api/define-route.ts";
import { jsonReply, type Route } from "../api/route.ts";
import type { Caller } from "../model/caller.ts";
import { nameText } from "../model/schema.ts";
import { range, rangedBody, rowSignals } from "./search-body.ts";
import type { Searches } from "./searches.ts";

const listedMax = 20;
const groupsMax = 20;

const listed = z.array(z.strictObject({ value: z.string(), count: z.int() }));

export function visibleRoute(searches: Searches): Route {
  return defineRoute({
    ...searches.shared,
    method: "POST",
    path: "/api/v1/query/visible",
    permission: "manage access",
    summary: "Says what members of groups may read of a range: rows by signal, their services, metrics",
    body: rangedBody({ groups: z.array(nameText).min(1).max(groupsMax), ...range }),
    response: z.strictObject({
      signals: z.array(z.strictObject({ signal: z.string(), rows: z.int(), services: listed })),
      metrics: z.strictObject({ names: z.array(z.string()), isWhole: z.boolean() }),
    }),
    handle: ({ body, caller, signal }) => {
      const { groups, startTime: startMs, endTime: endMs } = body;
      // Neither a user nor a bearer, whose own groups and role would hold. The search counts as the caller's.
      const member: Caller = { tokenId: null, name: "member", role: "viewer", groups, environment: null };
      const store = searches.storeFor(member);
      const request = { query: "", startMs, endMs, prefix: "", limit: listedMax };
      return searches.run({ caller, signal }, async (_, limits) => {
        const signals = [];
        for (const each of rowSignals) {
          const { count } = await queryFields(store, { signal: each, ...request, limit: 1 }, limits);
          const asked = { signal: each, field: "service.name", ...request };
          const services = count === 0 ? [] : (await queryValues(store, asked, limits)).values;
          signals.push({ signal: each, rows: count, services });
        }
        const { found, isWhole } = await queryLabelValues(store, "__name__", request, limits);
        return jsonReply({ signals, metrics: { names: found.map(({ text }) => text), isWhole } });
      });
    },
  });
}
