/** /api/v1/tokens: create, list, read, change, revoke. */

import * as z from "zod";
import {
  type IngestBounds,
  ingestBoundsOf,
  type SentBounds,
  type TokenRecord,
  type Tokens,
} from "../access/tokens.ts";
import { jsonBody, parseJsonBody } from "../api/json-body.ts";
import type { Reply, Route, ServerRequest } from "../api/route.ts";
import { jsonReply } from "../api/route.ts";
import { checked } from "../api/validation.ts";
import type { RateBound } from "../limits/rate-limiter.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Role } from "../model/caller.ts";
import { purseOf, roles } from "../model/caller.ts";
import { listedMax, timeMsMax } from "../model/limits.ts";
import { fixed, nameText, positive } from "../model/schema.ts";
import type { Audit, AuditedChange } from "./audit.ts";

const permission = "manage tokens";
const deadlineMs = 10_000;

/** What the bearer may send a second; null: without bound, left out: what the server says for all. */
const ingestBounds = {
  rowsPerSecond: positive.nullable().optional(),
  bytesPerSecond: positive.nullable().optional(),
};

const changeable = {
  /** The role, where none is sent. */
  name: nameText.optional(),
  /** Unix milliseconds; null, as left out: never. */
  expiresAt: z
    .unknown()
    .optional()
    .meta({ type: ["integer", "null"] }),
  groups: z.array(nameText).max(listedMax).optional(),
  ...ingestBounds,
};

const newToken = fixed({
  ...changeable,
  role: z.enum(roles),
  environment: nameText.optional(),
});

/** Role and environment are a token's for life. */
const changedToken = fixed(changeable);

const token = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    role: z.enum(roles),
    createdAt: z.int(),
    expiresAt: z.int().optional(),
    groups: z.array(z.string()).optional(),
    environment: z.string().optional(),
    ...ingestBounds,
    lastUsedAt: z.int().optional(),
  })
  .meta({ id: "Token" });

export interface TokenEdge {
  tokens: Tokens;
  audit: Audit;
  now: () => number;
  rate: RateBound;
  isEnvironment(name: string): boolean;
}

export function tokenRoutes(edge: TokenEdge): Route[] {
  const path = "/api/v1/tokens";
  const one = `${path}/{id}`;
  const shape = { permission, deadlineMs, body: null } as const;
  const { tokens } = edge;
  const tag = "tokens";
  return [
    {
      ...shape,
      method: "POST",
      path,
      body: jsonBody,
      description: {
        summary: "Makes a token; the answer shows it, once",
        tag,
        request: newToken,
        response: token.extend({ token: z.string() }),
        errors: [413, 415, 429],
      },
      answer: (request) => create(edge, request),
    },
    {
      ...shape,
      method: "GET",
      path,
      description: {
        summary: "Lists tokens without their secrets",
        tag,
        response: fixed({ tokens: z.array(token) }),
      },
      answer: async () => jsonReply({ tokens: tokens.list().map((each) => shownToken(each, tokens)) }),
    },
    {
      ...shape,
      method: "GET",
      path: one,
      description: { summary: "Reads one token without its secret", tag, response: token, errors: [404] },
      answer: async (request) => jsonReply(shownToken(known(tokens, request), tokens)),
    },
    {
      ...shape,
      method: "PUT",
      path: one,
      body: jsonBody,
      description: {
        summary: "Gives a token another name, expiry and groups; what is left out is as in a new one",
        tag,
        request: changedToken,
        response: token,
        errors: [404, 413, 415, 429],
      },
      answer: (request) => change(edge, request),
    },
    {
      ...shape,
      method: "DELETE",
      path: one,
      description: {
        summary: "Refuses the token from now on",
        tag,
        response: fixed({ id: z.string() }),
        errors: [404, 429],
      },
      answer: (request) => revoke(edge, request),
    },
  ];
}

async function create(edge: TokenEdge, request: ServerRequest): Promise<Reply> {
  const { tokens, audit } = edge;
  edge.rate.spend(purseOf(request.caller));
  const sent = checked(newToken, parseJsonBody(request), "");
  const { role, name = role, groups, environment } = sent;
  const expiresAtMs = expiryOf(sent.expiresAt, edge.now());
  if (environment !== undefined && role !== "ingest") {
    throw new Refusal(400, `environment is for tokens of role ingest: it is stamped on what they send`);
  }
  if (environment !== undefined && !edge.isEnvironment(environment)) {
    throw new Refusal(400, `environment names ${JSON.stringify(environment)}, which does not exist`);
  }
  const wanted = {
    name,
    role,
    expiresAtMs,
    ...boundsOf(sent, role),
    ...(groups === undefined ? {} : { groups }),
    ...(environment === undefined ? {} : { environment }),
  };
  const minted = await tokens.create(wanted, (record, changes, write) =>
    audit.commit(changeOf("created", record, request), changes, write),
  );
  return jsonReply({ ...shownToken(minted.record, tokens), token: minted.token });
}

/** Throws Refusal 400 for a token that may not send rows. */
function boundsOf(sent: IngestBounds, role: Role): SentBounds {
  const bounds = ingestBoundsOf(sent);
  const [given] = Object.keys(bounds);
  if (given === undefined || role === "ingest" || role === "admin") return bounds;
  throw new Refusal(400, `${given} is for tokens of role ingest or admin: others send no rows`);
}

/** Null where none was sent. Throws Refusal 400. */
function expiryOf(sent: unknown, nowMs: number): number | null {
  if (sent === undefined || sent === null) return null;
  const expiry = z
    .int()
    .min(nowMs + 1)
    .max(timeMsMax)
    .safeParse(sent);
  if (expiry.success) return expiry.data;
  const shape = z.custom<number>(() => false, "must be an integer in the future, Unix time in milliseconds");
  return checked(shape, sent, "expiresAt");
}

async function change({ tokens, audit, rate, now }: TokenEdge, request: ServerRequest): Promise<Reply> {
  rate.spend(purseOf(request.caller));
  const sent = checked(changedToken, parseJsonBody(request), "");
  const before = known(tokens, request);
  const { name = before.role, groups } = sent;
  const { groups: _, rowsPerSecond: _rows, bytesPerSecond: _bytes, ...kept } = before;
  const expiresAtMs = expiryOf(sent.expiresAt, now());
  const bounds = boundsOf(sent, before.role);
  const record = { ...kept, name, expiresAtMs, ...bounds, ...(groups === undefined ? {} : { groups }) };
  await tokens.change(record, (changes, write) =>
    audit.commit(changeOf("updated", record, request), changes, write),
  );
  return jsonReply(shownToken(record, tokens));
}

async function revoke({ tokens, audit, rate }: TokenEdge, request: ServerRequest): Promise<Reply> {
  rate.spend(purseOf(request.caller));
  const record = known(tokens, request);
  await tokens.revoke([record.id], (changes, write) =>
    audit.commit(changeOf("deleted", record, request), changes, write),
  );
  return jsonReply({ id: record.id });
}

function changeOf(
  action: AuditedChange["action"],
  { id, name }: TokenRecord,
  { caller }: ServerRequest,
): AuditedChange {
  return { by: caller, action, resource: "token", id, title: name };
}

/** Throws Refusal 404. */
function known(tokens: Tokens, request: ServerRequest): TokenRecord {
  const id = request.params.id!;
  const record = tokens.get(id);
  if (record !== undefined) return record;
  throw new Refusal(404, `there is no token of id ${JSON.stringify(id.slice(0, 60))}`);
}

/** What may be shown of a token: all but its hash. */
function shownToken(record: TokenRecord, tokens: Tokens): z.infer<typeof token> {
  const { id, name, role, createdAtMs, expiresAtMs, groups, environment } = record;
  const usedAtMs = tokens.usedAtMs(id);
  return {
    id,
    name,
    role,
    createdAt: createdAtMs,
    ...(expiresAtMs === null ? {} : { expiresAt: expiresAtMs }),
    ...(groups === undefined ? {} : { groups: [...groups] }),
    ...(environment === undefined ? {} : { environment }),
    ...ingestBoundsOf(record),
    ...(usedAtMs === null ? {} : { lastUsedAt: usedAtMs }),
  };
}
