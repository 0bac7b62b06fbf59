/** POST /api/v1/ingest/{logs|spans|metrics|profiles|kubernetes_resources}: JSON lines of each signal. */

import * as z from "zod";
import type { Signal } from "../../engine/index.ts";
import { encodingOf } from "../api/content-encoding.ts";
import { defineRoute, raw } from "../api/define-route.ts";
import type { Values } from "../api/parameters.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "./batch-route.ts";
import type { Intake } from "./intake.ts";
import { flatNameLengthMax, ingestBodyBytesMax } from "./limits.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";
import { signalOfPath } from "./signal-path.ts";

/**
 * JSON lines have no registered type, so every name in use is accepted. curl's default type is not: its `-d` strips
 * newlines.
 */
const contentTypes = [
  "application/json",
  "application/x-ndjson",
  "application/ndjson",
  "application/jsonl",
  "application/x-jsonlines",
  "application/json-lines",
  "text/plain",
  "application/octet-stream",
  "",
];

/** Names of each signal's rows in the API's description. */
const rowNames: Readonly<Record<Signal, string>> = {
  logs: "logs",
  traces: "spans",
  metrics: "samples of metrics",
  profiles: "profiles",
  kubernetes_resources: "states of Kubernetes resources",
};

const takenRows = z.strictObject({
  accepted: z.int(),
  refused: z.int(),
  dropped: z.int().optional(),
  errors: z.array(z.strictObject({ line: z.int(), reason: z.string() })),
  duplicate: z.boolean(),
});

const fieldName = z
  .string()
  .min(1, "must be the name of a field, got an empty text")
  .max(flatNameLengthMax, `must be the name of a field, of at most ${flatNameLengthMax} characters`)
  .optional();
/**
 * Names of fields of log rows, for agents of which only the URL can be set. `flatten-json` stands for the header of that
 * name.
 */
const logParameters = {
  timeField: fieldName,
  levelField: fieldName,
  messageField: fieldName,
  "flatten-json": z.string().optional(),
};

export function ingestRoutes(intake: Intake): Route[] {
  return Object.entries(signalOfPath).map(([name, signal]) => {
    const route = {
      ...batchRoute,
      method: "POST",
      path: `/api/v1/ingest/${name}`,
      summary: `Takes ${rowNames[signal]}, as JSON lines or an array`,
      tag: "ingestion",
      // JSON lines cannot be described by a schema, so the schema is that of an array of rows.
      body: raw({ bytesMax: ingestBodyBytesMax, contentTypes, schema: z.array(z.looseObject({})) }),
      response: takenRows,
    } as const;
    if (signal !== "logs") return defineRoute({ ...route, handle: (input) => ingest(intake, signal, input) });
    return defineRoute({
      ...route,
      query: logParameters,
      handle: (input) => ingest(intake, signal, input, fieldNamesOf(input.query)),
    });
  });
}

/**
 * Answers 200 as soon as one row is taken. Answers 400 where all rows were refused, so that a wrong format does not
 * look like success.
 */
async function ingest(
  intake: Intake,
  signal: Signal,
  input: BatchInput,
  fieldNames?: LogFieldNames,
): Promise<unknown> {
  const taken = await intake.take({
    signal,
    format: "json lines",
    fieldNames,
    encoding: encodingOf(input.request.headers),
    ...toIntakeBody(input),
  });
  const first = taken.errors[0];
  if (taken.accepted > 0 || taken.dropped !== undefined || first === undefined) return taken;
  const rows = taken.refused === 1 ? "the only row was" : `all ${taken.refused} rows were`;
  return jsonReply({ error: `${rows} refused; line ${first.line}: ${first.reason}`, ...taken }, 400);
}

/** Undefined where the sender named no field: then the known names are looked for. */
function fieldNamesOf(query: Values<typeof logParameters>): LogFieldNames | undefined {
  const { timeField: time, levelField: level, messageField: message } = query;
  const isNone = time === undefined && level === undefined && message === undefined;
  return isNone ? undefined : { time, level, message };
}
