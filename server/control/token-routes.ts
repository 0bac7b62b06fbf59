/** The routes of `/api/v1/tokens`: create, list, read, change, revoke. */

import * as z from "zod";
import {
  type IngestBounds,
  ingestBoundsOf,
  type SentBounds,
  type TokenRecord,
  type Tokens,
} from "../access/tokens.ts";
import { defineRoute, json } from "../api/define-route.ts";
import type { Route } from "../api/route.ts";
import { checkInput } from "../api/validation.ts";
import { type Caller, type Role, roles } from "../model/caller.ts";
import { listedMax, timeMsMax } from "../model/limits.ts";
import { integerFrom, nameText, positive, strictObject } from "../model/schema.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Audit, AuditedChange } from "./audit.ts";
import { pageMax } from "./limits.ts";

/** Rows and bytes per second that the bearer may send; null: unlimited, absent: the server's limits. */
const ingestBounds = {
  rowsPerSecond: positive.nullable().optional(),
  bytesPerSecond: positive.nullable().optional(),
};

const changeable = {
  /** Without it, the name of the token is its role. */
  name: nameText.optional(),
  /** Unix milliseconds; null or absent: never. */
  expiresAt: z
    .unknown()
    .optional()
    .meta({ type: ["integer", "null"] }),
  groups: z.array(nameText).max(listedMax).optional(),
  ...ingestBounds,
};

const newTokenShape = strictObject({
  ...changeable,
  role: z.enum(roles),
  environment: nameText.optional(),
});

/** The fields that can be changed. A token keeps its role and environment for life. */
const changedTokenShape = strictObject(changeable);

const tokenShape = z
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

const revokedShape = strictObject({
  id: z.string(),
  alerts: z.array(strictObject({ id: z.string(), name: z.string() })).optional(),
  warnings: z.array(z.string()).optional(),
});

export interface TokenRoutesOptions {
  tokens: Tokens;
  audit: Audit;
  now: () => number;
  limitRate(caller: Caller): void;
  isEnvironment(name: string): boolean;
  /** The alerts that were saved last with a token. */
  alertsSavedBy(tokenId: string): { id: string; name: string }[];
  deleteAlert(id: string, by: Caller): Promise<void>;
}

export function tokenRoutes(options: TokenRoutesOptions): Route[] {
  const path = "/api/v1/tokens";
  const onePath = `${path}/{id}` as const;
  const { tokens } = options;
  const shared = { permission: "manage tokens", tag: "tokens" } as const;
  const changing = { ...shared, limitRate: options.limitRate };
  return [
    defineRoute({
      ...changing,
      method: "POST",
      path,
      summary: "Makes a token; the answer shows it, once",
      body: json(newTokenShape),
      response: tokenShape.extend({ token: z.string() }),
      errors: [429],
      handle: ({ body, caller }) => create(options, body, caller),
    }),
    defineRoute({
      ...shared,
      method: "GET",
      path,
      summary: "Lists tokens without their secrets, the oldest first",
      query: { limit: integerFrom(1, pageMax).optional(), cursor: z.string().optional() },
      parameterName: "parameter",
      response: strictObject({ tokens: z.array(tokenShape), cursor: z.string().optional() }),
      handle: async ({ query }) => list(tokens, query),
    }),
    defineRoute({
      ...shared,
      method: "GET",
      path: onePath,
      summary: "Reads one token without its secret",
      response: tokenShape,
      errors: [404],
      handle: async ({ params }) => tokenReply(getToken(tokens, params.id), tokens),
    }),
    defineRoute({
      ...changing,
      method: "PUT",
      path: onePath,
      summary: "Gives a token another name, expiry and groups; what is left out is as in a new one",
      body: json(changedTokenShape),
      response: tokenShape,
      errors: [404, 429],
      handle: ({ params, body, caller }) => change(options, params.id, body, caller),
    }),
    defineRoute({
      ...changing,
      method: "DELETE",
      path: onePath,
      summary: "Refuses the token from now on; names the alerts that were saved with it",
      query: { alerts: z.enum(["keep", "delete"]).optional() },
      parameterName: "parameter",
      response: revokedShape,
      errors: [404, 429],
      handle: ({ params, query, caller }) => revoke(options, params.id, query.alerts === "delete", caller),
    }),
  ];
}

/** Without a limit, all that are left after the cursor. */
function list(
  tokens: Tokens,
  {
    limit = Number.POSITIVE_INFINITY,
    cursor = "",
  }: { limit?: number | undefined; cursor?: string | undefined },
) {
  const after = Buffer.from(cursor, "base64url").toString();
  const rest = tokens.list().filter((token) => placeOf(token) > after);
  const page = rest.slice(0, limit);
  const isLast = page.length === rest.length;
  return {
    tokens: page.map((each) => tokenReply(each, tokens)),
    ...(isLast ? {} : { cursor: Buffer.from(placeOf(page.at(-1)!)).toString("base64url") }),
  };
}

/** A text by which tokens are in the order of the list. */
function placeOf({ createdAtMs, id }: TokenRecord): string {
  return `${String(createdAtMs).padStart(16, "0")} ${id}`;
}

async function create(options: TokenRoutesOptions, sent: z.infer<typeof newTokenShape>, by: Caller) {
  const { tokens, audit } = options;
  const { role, name = role, groups, environment } = sent;
  const expiresAtMs = expiryOf(sent.expiresAt, options.now());
  if (environment !== undefined && role !== "ingest") {
    throw new Refusal(400, `environment is for tokens of role ingest: it is stamped on what they send`);
  }
  if (environment !== undefined && !options.isEnvironment(environment)) {
    throw new Refusal(400, `environment names ${JSON.stringify(environment)}, which does not exist`);
  }
  const newToken = {
    name,
    role,
    expiresAtMs,
    ...boundsOf(sent, role),
    ...(groups === undefined ? {} : { groups }),
    ...(environment === undefined ? {} : { environment }),
  };
  const minted = await tokens.create(newToken, (record, changes, write) =>
    audit.commit(changeOf("created", record, by), changes, write),
  );
  return { ...tokenReply(minted.record, tokens), token: minted.token };
}

/** Throws Refusal 400 for limits on a token that may not send rows. */
function boundsOf(sent: IngestBounds, role: Role): SentBounds {
  const bounds = ingestBoundsOf(sent);
  const [field] = Object.keys(bounds);
  if (field === undefined || role === "ingest" || role === "admin") return bounds;
  throw new Refusal(400, `${field} is for tokens of role ingest or admin: others send no rows`);
}

/** Unix milliseconds; null where none was sent. Throws Refusal 400 for what is not a time in the future. */
function expiryOf(sent: unknown, nowMs: number): number | null {
  if (sent === undefined || sent === null) return null;
  const expiry = z
    .int()
    .min(nowMs + 1)
    .max(timeMsMax)
    .safeParse(sent);
  if (expiry.success) return expiry.data;
  const shape = z.custom<number>(() => false, "must be an integer in the future, Unix time in milliseconds");
  return checkInput(shape, sent, "expiresAt");
}

async function change(
  { tokens, audit, now }: TokenRoutesOptions,
  id: string,
  sent: z.infer<typeof changedTokenShape>,
  by: Caller,
): Promise<z.infer<typeof tokenShape>> {
  const before = getToken(tokens, id);
  const { name = before.role, groups } = sent;
  const { groups: _, rowsPerSecond: _rows, bytesPerSecond: _bytes, ...unchanged } = before;
  const expiresAtMs = expiryOf(sent.expiresAt, now());
  const bounds = boundsOf(sent, before.role);
  const record = { ...unchanged, name, expiresAtMs, ...bounds, ...(groups === undefined ? {} : { groups }) };
  await tokens.change(record, (changes, write) =>
    audit.commit(changeOf("updated", record, by), changes, write),
  );
  return tokenReply(record, tokens);
}

/** Revokes a token. The alerts that it saved last go on with the rights of its groups, unless they are deleted, too. */
async function revoke(
  { tokens, audit, alertsSavedBy, deleteAlert }: TokenRoutesOptions,
  id: string,
  deletesAlerts: boolean,
  by: Caller,
): Promise<z.infer<typeof revokedShape>> {
  const record = getToken(tokens, id);
  const alerts = alertsSavedBy(record.id);
  await tokens.revoke(
    [record.id],
    () => alerts.length > 0,
    (changes, write) => audit.commit(changeOf("deleted", record, by), changes, write),
  );
  if (alerts.length === 0) return { id: record.id };
  if (!deletesAlerts) return { id: record.id, alerts, warnings: [describeRights(record)] };
  for (const alert of alerts) await deleteAlert(alert.id, by);
  return { id: record.id, alerts };
}

function describeRights({ role, groups }: TokenRecord): string {
  const rights = groups === undefined ? `role ${role}` : `groups ${groups.join(", ")}`;
  return (
    `alerts that were saved with this token go on with the rights of its ${rights}: ` +
    "save them with another, or delete those that should not, as where the token was in wrong hands"
  );
}

function changeOf(action: AuditedChange["action"], { id, name }: TokenRecord, by: Caller): AuditedChange {
  return { by, action, resource: "token", id, title: name };
}

/** Throws Refusal 404. */
function getToken(tokens: Tokens, id: string): TokenRecord {
  const record = tokens.get(id);
  if (record !== undefined) return record;
  throw new Refusal(404, `there is no token of id ${JSON.stringify(id.slice(0, 60))}`);
}

/** What answers show of a token: all but its hash. */
function tokenReply(record: TokenRecord, tokens: Tokens): z.infer<typeof tokenShape> {
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
