/** POST /gelf: Graylog's input of GELF over HTTP. */

import type { Route } from "../../api/route.ts";
import { wholeBodyRoute } from "../batch-route.ts";
import type { Intake } from "../intake.ts";

/** Graylog takes any type, and senders name many. */
const contentTypes = ["application/json", "text/plain", "application/x-www-form-urlencoded", ""];

export function gelfRoutes(intake: Intake): Route[] {
  const body = {
    path: "/gelf",
    contentTypes,
    signal: "logs",
    format: "gelf",
    rowName: "message",
  } as const;
  return [wholeBodyRoute(intake, body)];
}
