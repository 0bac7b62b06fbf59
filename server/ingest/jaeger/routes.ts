/** POST /api/traces: what Jaeger's clients send to its collector, as Thrift over HTTP. */

import type { Route } from "../../api/route.ts";
import { wholeBodyRoute } from "../batch-route.ts";
import type { Intake } from "../intake.ts";

const contentTypes = ["application/x-thrift", "application/vnd.apache.thrift.binary"];

export function jaegerRoutes(intake: Intake): Route[] {
  const body = {
    path: "/api/traces",
    contentTypes,
    signal: "traces",
    format: "jaeger",
    rowName: "span",
  } as const;
  return [wholeBodyRoute(intake, body)];
}
