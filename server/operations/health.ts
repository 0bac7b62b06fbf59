/** Probes for liveness and readiness, and the server's own metrics. */

import * as z from "zod";
import { defineRoute } from "../api/define-route.ts";
import { jsonReply, Reply, type Route } from "../api/route.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Caller } from "../model/caller.ts";
import { Refusal } from "../throttle/refusal.ts";

const probe = { method: "GET", tag: "probes", deadlineMs: 5_000 } as const;

/** `notReady` returns why nothing should be sent to this server now; null where it is ready. */
export function healthRoutes(notReady: () => string | null, metrics: Metrics): Route[] {
  return [
    defineRoute({
      ...probe,
      path: "/health",
      permission: null,
      summary: "200 while the process lives",
      response: z.strictObject({ status: z.literal("ok") }),
      handle: async () => ({ status: "ok" }),
    }),
    defineRoute({
      ...probe,
      path: "/ready",
      permission: null,
      summary: "200 when rows are taken, 503 with the reason when not",
      response: z.strictObject({ status: z.literal("ready") }),
      handle: async () => readiness(notReady()),
    }),
    defineRoute({
      ...probe,
      path: "/metrics",
      permission: "search",
      summary: "Figures of the server itself, as Prometheus reads them",
      response: z.string(),
      contentType: "text/plain",
      handle: async ({ caller }) => metricsReply(metrics, caller),
    }),
  ];
}

function readiness(reason: string | null): unknown {
  if (reason === null) return { status: "ready" };
  return jsonReply({ status: "not ready", error: reason }, 503, { "Retry-After": "5" });
}

/** Throws Refusal 403 for members of groups: the metrics count the rows of everybody. */
function metricsReply(metrics: Metrics, { groups, role }: Caller): Reply {
  if (groups !== null && role !== "admin") {
    throw new Refusal(403, "members of groups may not read metrics of the server: they count all rows");
  }
  const headers = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" };
  return new Reply({ status: 200, headers, body: metrics.text() });
}
