/** The routes of one kind of resource: upsert, or create and update; list, read, delete. */

import * as z from "zod";
import type { AuthorizationScope } from "../access/authorization-scope.ts";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonHeaders, jsonReply, Reply, type Route } from "../api/route.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Verb } from "../model/access-rules.ts";
import { type Caller, type Permission, rateLimitKeyOf } from "../model/caller.ts";
import { checkOrMakeId, refuseManaged } from "../model/resource-id.ts";
import { integerFrom, strictObject } from "../model/schema.ts";
import type { Stored } from "../model/stored-resource.ts";
import type { Collection, Write } from "./collection.ts";
import { etagOf } from "./collection.ts";
import { pageCharactersMax, pageDefault, pageMax } from "./limits.ts";

/** A kind of resource as the API shows it. */
export interface ResourceKind<T> {
  /** The member that wraps one in bodies, `alert`; and many, `alerts`. */
  name: string;
  plural: string;
  /** `/api/v1/alerts` */
  path: string;
  schema: z.ZodType<T>;
  collection: Collection<T>;
  read: Permission;
  write: Permission;
  /** "upsert": `POST …/update` creates and updates; "create": `POST …` creates and `PUT …/{id}` updates. */
  style: "upsert" | "create";
  /** Where the id stands in what is sent, `metadata.id`. */
  idPath: string;
  idOf(value: T): string | undefined;
  withId(value: T, id: string): T;
  /** What the schema cannot say. Throws Refusal 400 naming the field below `path`; answers with warnings. */
  check(value: T, path: string, by: Caller): readonly string[];
  /** What is sent, with the secrets that are stored already. Throws Refusal 400 naming the field below `path`. */
  restoreSecrets?(sent: T, before: T | undefined, path: string): T;
  /** What readers see, who may write it or not. */
  hideSecrets?(value: T, mayWrite: boolean): unknown;
  /** What lists show of one, where that is less. */
  summarize?(value: T): unknown;
  /** Beside the resource in the answer to a read. */
  extraMembers?(value: T): Readonly<Record<string, unknown>>;
  /** Throws Refusal where something still needs it. */
  checkUnused?(id: string, by: Caller): void;
}

/** What the routes of all kinds share. */
export interface ResourceContext {
  rate: RateLimiter;
  scope: AuthorizationScope;
}

/** The revision that a change is made to, as an ETag. */
export const ifMatchHeader = { "If-Match": z.string().optional() };

const id = z.string();
const changed = z.strictObject({ id, warnings: z.array(z.string()).optional() });
const pageQuery = { limit: integerFrom(1, pageMax).optional(), cursor: z.string().optional() };

export function resourceRoutes<T>(kind: ResourceKind<T>, context: ResourceContext): Route[] {
  const { path, read, write, plural } = kind;
  const one = `${path}/{id}` as const;
  return [
    ...writeRoutes(kind, context),
    defineRoute({
      method: "GET",
      path,
      permission: read,
      summary: `Lists ${plural} in the order of their ids`,
      tag: plural,
      query: pageQuery,
      parameterName: "parameter",
      response: listSchema(kind),
      handle: async ({ query, caller }) => list(kind, context, query, caller),
    }),
    defineRoute({
      method: "GET",
      path: one,
      permission: read,
      summary: `Reads one of the ${plural}`,
      tag: plural,
      response: readSchema(kind),
      errors: [404],
      handle: async ({ params, caller }) => answerRead(kind, context, params.id, caller),
    }),
    defineRoute({
      method: "DELETE",
      path: one,
      permission: write,
      summary: `Deletes one of the ${plural}`,
      tag: plural,
      limitRate: (caller) => context.rate.spend(rateLimitKeyOf(caller)),
      headers: ifMatchHeader,
      response: z.strictObject({ id }),
      errors: [404, 409, 412, 429],
      handle: ({ params, headers, caller }) =>
        remove(kind, context, params.id, { by: caller, ifMatch: headers["If-Match"] ?? null }),
    }),
  ];
}

function writeRoutes<T>(kind: ResourceKind<T>, context: ResourceContext): Route[] {
  const { path, write, name, plural } = kind;
  const shared = {
    permission: write,
    tag: plural,
    limitRate: (caller: Caller) => context.rate.spend(rateLimitKeyOf(caller)),
    body: json(strictObject({ [name]: kind.schema })),
    headers: ifMatchHeader,
    response: changed,
    errors: [409, 412, 429],
  };
  const writeOf = (caller: Caller, ifMatch: string | undefined): Write => ({
    by: caller,
    ifMatch: ifMatch ?? null,
  });
  const saveAs =
    (saving: Saving) =>
    ({
      body,
      headers,
      caller,
    }: {
      body: Record<string, T>;
      headers: { "If-Match"?: string | undefined };
      caller: Caller;
    }) =>
      save(
        kind,
        context,
        { value: body[name]!, saving, pathId: undefined },
        writeOf(caller, headers["If-Match"]),
      );
  if (kind.style === "upsert") {
    const summary = `Creates the ${name}, or replaces the one of its ${kind.idPath}`;
    return [
      defineRoute({ ...shared, method: "POST", path: `${path}/update`, summary, handle: saveAs("upsert") }),
    ];
  }
  return [
    defineRoute({
      ...shared,
      method: "POST",
      path,
      summary: `Creates one of the ${plural}`,
      handle: saveAs("create"),
    }),
    defineRoute({
      ...shared,
      method: "PUT",
      path: `${path}/{id}` as const,
      summary: `Replaces one of the ${plural}, or creates it under that id`,
      handle: ({ body, params, headers, caller }) => {
        const sent = { value: body[name]!, saving: "replace", pathId: params.id } as const;
        return save(kind, context, sent, writeOf(caller, headers["If-Match"]));
      },
    }),
  ];
}

function listSchema<T>(kind: ResourceKind<T>): z.ZodType {
  const item = kind.summarize === undefined ? kind.schema : z.looseObject({});
  return z.looseObject({ [kind.plural]: z.array(item), cursor: z.string().optional() });
}

function readSchema<T>(kind: ResourceKind<T>): z.ZodType {
  return z.looseObject({
    [kind.name]: kind.schema,
    createdAt: z.int(),
    updatedAt: z.int(),
    updatedBy: z.string(),
  });
}

type Saving = "upsert" | "create" | "replace";

interface Sent<T> {
  value: T;
  saving: Saving;
  /** The id in the path, where there is one. */
  pathId: string | undefined;
}

async function save<T>(
  kind: ResourceKind<T>,
  context: ResourceContext,
  { value, saving, pathId }: Sent<T>,
  write: Write,
): Promise<Reply> {
  const { name, collection } = kind;
  const chosen = chooseId(kind, value, pathId);
  refuseUnlessAllowed(kind, context, write.by, chosen, collection.get(chosen) ? "update" : "create");
  const whole = (sent: T, before: Stored<T> | undefined) =>
    kind.restoreSecrets?.(sent, before?.value, name) ?? sent;
  const found = kind.check(whole(value, collection.get(chosen)), name, write.by);
  const stored = await collection.put(
    chosen,
    (before) => {
      if (before !== undefined && saving === "create") throw alreadyThere(kind, chosen);
      return whole(kind.withId(value, chosen), before);
    },
    write,
  );
  const warnings = found.length === 0 ? {} : { warnings: found };
  return jsonReply({ id: chosen, ...warnings }, 200, { ETag: etagOf(stored) });
}

/** The id in the path holds; one in the body must agree with it. */
function chooseId<T>(kind: ResourceKind<T>, value: T, inPath: string | undefined): string {
  const idPath = `${kind.name}.${kind.idPath}`;
  const sent = kind.idOf(value);
  if (inPath === undefined) return checkOrMakeId(sent, idPath);
  if (sent !== undefined && sent !== "" && sent !== inPath) {
    throw new Refusal(400, `${idPath} must be the id in the path, ${JSON.stringify(inPath.slice(0, 100))}`);
  }
  return checkOrMakeId(inPath, "the id in the path");
}

function alreadyThere<T>(kind: ResourceKind<T>, chosen: string): Refusal {
  const update = `PUT ${kind.path}/${encodeURIComponent(chosen)} replaces it`;
  return new Refusal(409, `there is a ${kind.name} ${JSON.stringify(chosen)} already; ${update}`);
}

async function remove<T>(
  kind: ResourceKind<T>,
  context: ResourceContext,
  chosen: string,
  write: Write,
): Promise<{ id: string }> {
  refuseUnlessAllowed(kind, context, write.by, chosen, "delete");
  if (kind.collection.get(chosen) === undefined) throw notThere(kind, chosen);
  kind.checkUnused?.(chosen, write.by);
  if (!(await kind.collection.remove(chosen, write))) throw notThere(kind, chosen);
  return { id: chosen };
}

/** What Kubernetes manages is changed there alone; to those who may not see it, it is as if it did not exist. */
function refuseUnlessAllowed<T>(
  kind: ResourceKind<T>,
  { scope }: ResourceContext,
  caller: Caller,
  chosen: string,
  verb: Verb,
): void {
  const { name, plural, write } = kind;
  const stored = kind.collection.get(chosen);
  if (stored?.managed !== undefined && scope.canSee(caller, plural, stored)) {
    if (!scope.canUse(caller, plural, verb, write, stored)) {
      throw new Refusal(403, `no rule of your groups lets you ${verb} this ${name}`);
    }
  }
  refuseManaged(chosen, `the ${name}`);
}

function visibleValue<T>(
  kind: ResourceKind<T>,
  { scope }: ResourceContext,
  caller: Caller,
  stored: Stored<T>,
): unknown {
  const mayWrite = scope.canUse(caller, kind.plural, "update", kind.write, stored);
  return kind.hideSecrets?.(stored.value, mayWrite) ?? stored.value;
}

function answerRead<T>(
  kind: ResourceKind<T>,
  context: ResourceContext,
  chosen: string,
  caller: Caller,
): Reply {
  const stored = kind.collection.get(chosen);
  if (stored === undefined || !context.scope.canSee(caller, kind.plural, stored))
    throw notThere(kind, chosen);
  const { value, createdAtMs, updatedAtMs, updatedBy } = stored;
  const answer = {
    [kind.name]: visibleValue(kind, context, caller, stored),
    ...kind.extraMembers?.(value),
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    updatedBy: updatedBy.name,
  };
  return jsonReply(answer, 200, { ETag: etagOf(stored) });
}

function list<T>(
  kind: ResourceKind<T>,
  context: ResourceContext,
  { limit = pageDefault, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  caller: Caller,
): Reply {
  const after = cursor === undefined ? null : Buffer.from(cursor, "base64url").toString();
  const stored = kind.collection.list();
  const first = after === null ? 0 : stored.findIndex(([at]) => at > after);
  const found: string[] = [];
  let characters = 0;
  let last = "";
  for (const [at, one] of first < 0 ? [] : stored.slice(first)) {
    if (!context.scope.canSee(caller, kind.plural, one)) continue;
    if (found.length === limit || characters > pageCharactersMax) return pageReply(kind, found, last);
    const text = JSON.stringify(kind.summarize?.(one.value) ?? visibleValue(kind, context, caller, one));
    characters += text.length;
    found.push(text);
    last = at;
  }
  return pageReply(kind, found, null);
}

/** `last`: the id that the next page begins behind; null where there is none. */
function pageReply<T>({ plural }: ResourceKind<T>, found: readonly string[], last: string | null): Reply {
  const cursor = last === null ? "" : `,"cursor":"${Buffer.from(last).toString("base64url")}"`;
  const body = `{"${plural}":[${found.join(",")}]${cursor}}\n`;
  return new Reply({ status: 200, headers: jsonHeaders, body });
}

function notThere<T>(kind: ResourceKind<T>, chosen: string): Refusal {
  return new Refusal(404, `there is no ${kind.name} of id ${JSON.stringify(chosen.slice(0, 100))}`);
}
