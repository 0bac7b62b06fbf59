/**
 * POST /api/v1/ingest/{logs|spans|metrics|profiles|kubernetes_resources}: JSON lines of each signal. GET
 * /api/v1/ingest/{…}/limits: what a body that is sent in pieces may have.
 */

import * as z from "zod";
import type { MemoryBudget, Signal } from "../../engine/index.ts";
import { encodingOf } from "../api/content-encoding.ts";
import { defineRoute, raw } from "../api/define-route.ts";
import type { Values } from "../api/parameters.ts";
import { jsonReply, type Route } from "../api/route.ts";
import { Refusal } from "../throttle/refusal.ts";
import { type BatchInput, batchRoute, toIntakeBody } from "./batch-route.ts";
import type { Intake, IntakeBody, PiecesResult } from "./intake.ts";
import { flatNameLengthMax, jsonLinesBodyBytesMax, refusedRowsListed } from "./limits.ts";
import type { LogFieldNames } from "./loggers/field-names.ts";
import { bodyGroupSizeOf, piecesHeader } from "./pieces/group-size.ts";
import { piecesHeaderSchema, readPieces } from "./pieces/piece-header.ts";
import type { PieceIntake } from "./pieces/piece-intake.ts";
import type { BoundedBodies } from "./pieces/shared-bodies.ts";
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

/** The header as requests have it. */
const piecesHeaderKey = piecesHeader.toLowerCase();

const takenRows = z.strictObject({
  accepted: z.int(),
  refused: z.int(),
  dropped: z.int().optional(),
  errors: z.array(z.strictObject({ line: z.int(), reason: z.string() })),
  duplicate: z.boolean(),
  /** Those of the accepted rows that pieces of the body had added before. */
  duplicates: z.int().optional(),
});

const pieceLimits = z.strictObject({
  /** Of one body. */
  bytesMax: z.int(),
  linesMax: z.int(),
  /** Bodies of one sender that are read at a time. */
  atATime: z.int(),
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

/** What takes bodies, as a whole or in pieces. */
interface Takers {
  intake: Intake;
  pieces: PieceIntake;
  memory: MemoryBudget;
  bodies: BoundedBodies;
}

export function ingestRoutes(takers: Takers): Route[] {
  return Object.entries(signalOfPath).flatMap(([name, signal]) => [
    limitsRoute(name, signal, takers),
    bodyRoute(name, signal, takers),
  ]);
}

function limitsRoute(name: string, signal: Signal, { intake, memory }: Takers): Route {
  return defineRoute({
    method: "GET",
    path: `/api/v1/ingest/${name}/limits`,
    permission: "ingest",
    summary: `How much a body of ${rowNames[signal]} in pieces may have (${piecesHeader})`,
    tag: "ingestion",
    response: pieceLimits,
    handle: async () => {
      intake.expectPieces();
      return bodyGroupSizeOf(memory, signal);
    },
  });
}

function bodyRoute(name: string, signal: Signal, takers: Takers): Route {
  const route = {
    ...batchRoute,
    headers: { ...batchRoute.headers, [piecesHeader]: piecesHeaderSchema },
    method: "POST",
    path: `/api/v1/ingest/${name}`,
    summary: `Takes ${rowNames[signal]}, as JSON lines or an array`,
    tag: "ingestion",
    // JSON lines cannot be described by a schema, so the schema is that of an array of rows.
    body: raw({
      bytesMax: jsonLinesBodyBytesMax,
      contentTypes,
      memory: {
        take: (bytes, headers) => (headers.has(piecesHeaderKey) ? takers.bodies.take(bytes) : undefined),
        giveBack: (memory) => takers.bodies.giveBack(memory),
      },
      schema: z.array(z.looseObject({})),
    }),
    response: takenRows,
  } as const;
  if (signal !== "logs") return defineRoute({ ...route, handle: (input) => ingest(takers, signal, input) });
  return defineRoute({
    ...route,
    query: logParameters,
    handle: (input) => ingest(takers, signal, input, fieldNamesOf(input.query)),
  });
}

/**
 * Answers 200 as soon as one row is taken. Answers 400 where all rows were refused, so that a wrong format does not
 * look like success.
 */
async function ingest(
  takers: Takers,
  signal: Signal,
  input: BatchInput,
  fieldNames?: LogFieldNames,
): Promise<unknown> {
  const taken = await takeRows(takers, signal, input, fieldNames).finally(() =>
    takers.bodies.giveBack(input.body),
  );
  const first = taken.errors[0];
  if (taken.accepted > 0 || taken.dropped !== undefined || first === undefined) return taken;
  const rows = taken.refused === 1 ? "the only row was" : `all ${taken.refused} rows were`;
  return jsonReply({ error: `${rows} refused; line ${first.line}: ${first.reason}`, ...taken }, 400);
}

/** Takes a body as a whole, or in pieces where it has any. Throws Refusal. */
async function takeRows(
  takers: Takers,
  signal: Signal,
  input: BatchInput,
  fieldNames: LogFieldNames | undefined,
): Promise<PiecesResult> {
  const encoding = encodingOf(input.request.headers);
  const body: IntakeBody = { signal, format: "json lines", fieldNames, encoding, ...toIntakeBody(input) };
  const header = input.request.headers.get(piecesHeaderKey);
  return header === undefined ? takers.intake.take(body) : takePieces(takers, body, header);
}

/** Takes a body in the pieces that a header names. Throws Refusal 400, and 413 where the body is too large to be read at once. */
async function takePieces(
  { pieces, memory, bodies }: Takers,
  { body, key, ...source }: IntakeBody,
  header: string,
): Promise<PiecesResult> {
  if (key !== null) throw new Refusal(400, `${piecesHeader} and Idempotency-Key exclude each other`);
  if (source.encoding !== "identity")
    throw new Refusal(400, `${piecesHeader} needs a body without Content-Encoding, got ${source.encoding}`);
  const { bytesMax } = bodyGroupSizeOf(memory, source.signal);
  if (body.length > bytesMax)
    throw new Refusal(
      413,
      `a body in pieces may have ${bytesMax} bytes, got ${body.length}: send fewer pieces`,
    );
  const { accepted, duplicates, dropped, ...taken } = await pieces.take(
    source,
    readPieces(header, body),
    () => bodies.giveBack(body),
  );
  return {
    ...taken,
    accepted: accepted + duplicates,
    ...(dropped > 0 ? { dropped } : {}),
    errors: taken.errors.toSorted((a, b) => a.line - b.line).slice(0, refusedRowsListed),
    duplicate: duplicates > 0 && accepted === 0,
    ...(duplicates > 0 ? { duplicates } : {}),
  };
}

/** Undefined where the sender named no field: then the known names are looked for. */
function fieldNamesOf(query: Values<typeof logParameters>): LogFieldNames | undefined {
  const { timeField: time, levelField: level, messageField: message } = query;
  const isNone = time === undefined && level === undefined && message === undefined;
  return isNone ? undefined : { time, level, message };
}
