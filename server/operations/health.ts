/** Whether the server lives, takes writes, and what it has done. */

import type { Route } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";

const deadlineMs = 5_000;

/** `notReady` gives the reason why nothing should be sent to this server now, or null. */
export function healthRoutes(notReady: () => string | null, metrics: Metrics): Route[] {
  const route = { method: "GET", body: null, deadlineMs } as const;
  return [
    { ...route, path: "/health", permission: null, answer: async () => jsonReply({ status: "ok" }) },
    { ...route, path: "/ready", permission: null, answer: async () => readiness(notReady()) },
    {
      ...route,
      path: "/metrics",
      permission: "search",
      answer: async ({ caller }) => metricsReply(metrics, caller),
    },
  ];
}

function readiness(reason: string | null) {
  if (reason === null) return jsonReply({ status: "ready" });
  return jsonReply({ status: "not ready", error: reason }, 503, { "Retry-After": "5" });
}

/** They count the rows of everybody. */
function metricsReply(metrics: Metrics, { groups, role }: Caller) {
  if (groups !== null && role !== "admin") {
    throw new Refusal(403, "members of groups may not read metrics of the server: they count all rows");
  }
  const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" };
  return { status: 200, headers, body: metrics.text() };
}
