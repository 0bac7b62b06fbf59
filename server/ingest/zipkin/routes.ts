/** POST /api/v2/spans: what tracers and OpenTelemetry's exporters send to Zipkin. */

import type { Route } from "../../api/route.ts";
import { wholeBodyRoute } from "../batch-route.ts";
import type { Intake } from "../intake.ts";

export function zipkinRoutes(intake: Intake): Route[] {
  const body = {
    path: "/api/v2/spans",
    contentTypes: ["application/json", ""],
    signal: "traces",
    format: "zipkin",
    rowName: "span",
  } as const;
  return [wholeBodyRoute(intake, body)];
}
