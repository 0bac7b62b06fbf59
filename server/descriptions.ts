/** What the API's document tells of the routes that read telemetry and take it. */

import * as z from "zod";
import { bucketSecondsMax, timeMsMax } from "./limits.ts";
import type { Route, RouteDescription } from "./route.ts";

const timeMs = z.int().min(0).max(timeMsMax);
const range = { query: z.string(), startTime: timeMs, endTime: timeMs };
const limit = z.int().min(1).max(1_000).optional();
const warnings = z.array(z.string()).optional();

const logEntry = z
  .strictObject({
    timestamp: z.int(),
    log_level: z.string(),
    message: z.string(),
    attributes: z.record(z.string(), z.string()),
  })
  .meta({ id: "LogEntry" });

const descriptions: Readonly<Record<string, RouteDescription>> = {
  "POST /api/v1/query/logs": {
    summary: "Searches logs, newest first",
    tag: "queries",
    request: z.strictObject({
      ...range,
      limit,
      cursor: z.string().optional(),
      explain: z.boolean().optional(),
    }),
    response: z.looseObject({
      count: z.int(),
      logs: z.array(logEntry),
      cursor: z.string().optional(),
      warnings,
    }),
    errors: [413, 415, 429],
  },
  "POST /api/v1/query/timeseries": {
    summary: "Calculates series over time",
    tag: "queries",
    request: z.strictObject({
      ...range,
      bucketSize: z.int().min(0).max(bucketSecondsMax).optional(),
      explain: z.boolean().optional(),
    }),
    response: z.looseObject({
      series: z.array(
        z.strictObject({
          labels: z.record(z.string(), z.string()),
          points: z.array(z.tuple([z.int(), z.number()])),
        }),
      ),
      bucketSize: z.int(),
      partial: z.array(z.int()),
      warnings,
    }),
    errors: [413, 415, 429],
  },
  "POST /api/v1/query/patterns": {
    summary: "Tells which patterns messages have",
    tag: "queries",
    request: z.strictObject({ ...range, limit }),
    response: z.looseObject({
      count: z.int(),
      distinct: z.int(),
      patterns: z.array(z.looseObject({})),
      warnings,
    }),
    errors: [413, 415, 429],
  },
  "GET /health": {
    summary: "200 while the process lives",
    tag: "probes",
    response: z.strictObject({ status: z.literal("ok") }),
  },
  "GET /ready": {
    summary: "200 when rows are taken, 503 with the reason when not",
    tag: "probes",
    response: z.strictObject({ status: z.literal("ready") }),
  },
};

/** The routes with what is told of them; one that tells of itself is left as it is. */
export function described(routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    const description = route.description ?? descriptions[`${route.method} ${route.path}`];
    return description === undefined ? route : { ...route, description };
  });
}
