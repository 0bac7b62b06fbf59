/** What the API's document tells of the routes that read telemetry and take it. */

import * as z from "zod";
import { signals } from "../../engine/index.ts";
import { bucketSecondsMax, timeMsMax } from "../model/limits.ts";
import type { Route, RouteDescription } from "./route.ts";

/** Of these bodies, a field that is null counts as left out. */
const timeMs = z.int().min(0).max(timeMsMax);
const range = { query: z.string(), startTime: timeMs, endTime: timeMs };
const limit = z.int().min(1).max(1_000).nullish();
const bucketSize = z.int().min(0).max(bucketSecondsMax).nullish();
const rowSignal = z.enum(signals).exclude(["metrics"]);
const searchErrors = [413, 415, 429];
const warnings = z.array(z.string()).optional();

const logEntry = z
  .strictObject({
    timestamp: z.int(),
    log_level: z.string(),
    message: z.string(),
    attributes: z.record(z.string(), z.string()),
  })
  .meta({ id: "LogEntry" });

const taken = z.strictObject({
  accepted: z.int(),
  refused: z.int(),
  dropped: z.int().optional(),
  errors: z.array(z.strictObject({ line: z.int(), reason: z.string() })),
  duplicate: z.boolean(),
});

/** Of logs and of spans. */
const rowsSearch = z.strictObject({
  ...range,
  limit,
  cursor: z.string().nullish(),
  explain: z.boolean().nullish(),
});

const descriptions: Readonly<Record<string, RouteDescription>> = {
  "POST /api/v1/query/logs": {
    summary: "Searches logs, newest first",
    tag: "queries",
    request: rowsSearch,
    response: z.looseObject({
      count: z.int(),
      logs: z.array(logEntry),
      cursor: z.string().optional(),
      warnings,
    }),
    errors: searchErrors,
  },
  "POST /api/v1/query/timeseries": {
    summary: "Calculates series over time",
    tag: "queries",
    request: z.strictObject({
      ...range,
      bucketSize,
      explain: z.boolean().nullish(),
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
    errors: searchErrors,
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
    errors: searchErrors,
  },
  "POST /api/v1/query/traces": {
    summary: "Searches spans, newest first",
    tag: "queries",
    request: rowsSearch,
    response: z.looseObject({
      count: z.int(),
      spans: z.array(z.looseObject({})),
      cursor: z.string().optional(),
      warnings,
    }),
    errors: searchErrors,
  },
  "POST /api/v1/query/histogram": {
    summary: "Counts the rows that a search finds, over time and by level or status",
    tag: "queries",
    request: z.strictObject({ ...range, signal: rowSignal.nullish(), bucketSize }),
    response: z.looseObject({
      bucketSize: z.int(),
      partial: z.array(z.int()),
      series: z.array(z.looseObject({})),
      count: z.int(),
      warnings,
    }),
    errors: searchErrors,
  },
  "POST /api/v1/query/fields": {
    summary: "Lists the fields of the rows that a search finds, or the labels of series",
    tag: "queries",
    request: z.strictObject({
      ...range,
      query: z.string().nullish(),
      signal: z.enum(signals),
      prefix: z.string().nullish(),
      limit: z.int().min(1).max(10_000).nullish(),
    }),
    response: z.looseObject({
      fields: z.array(z.looseObject({ name: z.string() })),
      isWhole: z.boolean(),
      warnings,
    }),
    errors: searchErrors,
  },
  "POST /api/v1/query/values": {
    summary: "Lists the values of a field in the rows that a search finds, or of a label of series",
    tag: "queries",
    request: z.strictObject({
      ...range,
      query: z.string().nullish(),
      signal: z.enum(signals),
      field: z.string(),
      prefix: z.string().nullish(),
      limit,
    }),
    response: z.looseObject({
      values: z.array(z.looseObject({ value: z.string() })),
      isWhole: z.boolean(),
      warnings,
    }),
    errors: searchErrors,
  },
  "GET /api/v1/traces/{traceId}": {
    summary: "Reads a whole trace as a tree, with its logs",
    tag: "queries",
    query: { startTime: timeMs.optional(), endTime: timeMs.optional() },
    response: z.looseObject({
      traceId: z.string(),
      roots: z.array(z.looseObject({})),
      logs: z.array(logEntry),
    }),
    errors: [404, 429],
  },
  "GET /api/v1/query/tail": {
    summary: "Sends logs or spans as they arrive, as server-sent events",
    tag: "queries",
    query: { query: z.string(), startTime: timeMs.optional() },
    headers: { "Last-Event-ID": z.string() },
    response: z.string(),
    contentType: "text/event-stream",
    errors: [429],
  },
  "POST /api/v1/ingest/logs": ingestion("logs"),
  "POST /api/v1/ingest/spans": ingestion("spans"),
  "POST /api/v1/ingest/metrics": ingestion("samples of metrics"),
  "POST /api/v1/ingest/profiles": ingestion("profiles"),
  "POST /api/v1/ingest/kubernetes_resources": ingestion("states of Kubernetes resources"),
  "GET /metrics": {
    summary: "Figures of the server itself, as Prometheus reads them",
    tag: "probes",
    response: z.string(),
    contentType: "text/plain",
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

/** Rows come as JSON lines too; a JSON array of them is what a schema can tell. */
function ingestion(what: string): RouteDescription {
  return {
    summary: `Takes ${what}, as JSON lines or an array`,
    tag: "ingestion",
    request: z.array(z.looseObject({})),
    response: taken,
    errors: [413, 415],
  };
}

/** The routes with what is told of them; one that tells of itself is left as it is. */
export function described(routes: readonly Route[]): Route[] {
  return routes.map((route) => {
    const description = route.description ?? descriptions[`${route.method} ${route.path}`];
    return description === undefined ? route : { ...route, description };
  });
}
