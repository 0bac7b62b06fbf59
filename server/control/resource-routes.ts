/** The routes of one kind of stored resource: list, read, delete, and either upsert, or create and replace. */

import * as z from "zod";
import type { AuthorizationScope } from "../access/authorization-scope.ts";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonHeaders, jsonReply, Reply, type Route } from "../api/route.ts";
import type { Verb } from "../model/access-rules.ts";
import type { Caller, Permission } from "../model/caller.ts";
import { managedMember } from "../model/managed-member.ts";
import { checkOrMakeId, refuseManaged } from "../model/resource-id.ts";
import { integerFrom, strictObject } from "../model/schema.ts";
import type { Stored } from "../model/stored-resource.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { Collection, Write } from "./collection.ts";
import { etagOf } from "./collection.ts";
import { pageCharactersMax, pageDefault, pageMax } from "./limits.ts";

/** A kind of resource as the API shows it to readers. */
export interface ReadableKind<T> {
  /** The member of a body that holds one resource, for example `alert`. */
  name: string;
  /** The member of a body that holds many resources, for example `alerts`. */
  plural: string;
  /** Path of the routes, for example `/api/v1/alerts`. */
  path: string;
  schema: z.ZodType<T>;
  collection: Collection<T>;
  read: Permission;
  write: Permission;
  /** The value as answers show it; `canWrite`: the caller may write the resource. */
  hideSecrets?(value: T, canWrite: boolean): unknown;
  /**
   * Why the caller may not change what is stored under an id, or begin to: because of rows that they may not read. A
   * sentence; undefined where they may.
   */
  findChangeProblem?(id: string, stored: Stored<T> | undefined, by: Caller): string | undefined;
  /** The value in a list, where that is less than the whole. */
  summarize?(value: T): unknown;
  /** Members beside the resource in the answer to a read. */
  extraMembers?(value: T): Readonly<Record<string, unknown>>;
}

/** A kind of resource with all routes of its own. */
export interface ResourceKind<T> extends ReadableKind<T> {
  /** "upsert": `POST …/update` creates and updates; "create": `POST …` creates and `PUT …/{id}` updates. */
  style: "upsert" | "create";
  /** Where the id is in a resource, for example `metadata.id`. */
  idPath: string;
  idOf(value: T): string | undefined;
  withId(value: T, id: string): T;
  /** Checks what the schema cannot express. Throws Refusal 400 naming the field below `path`; returns warnings. */
  check(value: T, path: string, by: Caller): readonly string[];
  /** Replaces the placeholders in a sent value by stored secrets. Throws Refusal 400 naming the field below `path`. */
  restoreSecrets?(sent: T, before: T | undefined, path: string): T;
  /** Called before a resource is deleted. Throws Refusal where another resource refers to it. */
  checkUnused?(id: string, by: Caller): void;
}

/** What the routes of all kinds share: the rate limit of changes, and the callers' authorization scope. */
export interface ResourceContext {
  limitRate(caller: Caller): void;
  scope: AuthorizationScope;
}

/** The header whose ETag names the revision that a request changes or deletes. */
export const ifMatchHeader = { "If-Match": z.string().optional() };

const idSchema = z.string();
const changeResponse = z.strictObject({ id: idSchema, warnings: z.array(z.string()).optional() });
const pageQuery = { limit: integerFrom(1, pageMax).optional(), cursor: z.string().optional() };

/** All routes of a kind. */
export function resourceRoutes<T>(kind: ResourceKind<T>, context: ResourceContext): Route[] {
  const { path, write, plural } = kind;
  return [
    ...writeRoutes(kind, context),
    ...readRoutes(kind, context),
    defineRoute({
      method: "DELETE",
      path: `${path}/{id}`,
      permission: write,
      summary: `Deletes one of the ${plural}`,
      tag: plural,
      limitRate: context.limitRate,
      headers: ifMatchHeader,
      response: z.strictObject({ id: idSchema }),
      errors: [404, 409, 412, 429],
      handle: (input) => remove(kind, context, input.params.id!, toWrite(input)),
    }),
  ];
}

/** The routes that list resources and read one. */
export function readRoutes<T>(kind: ReadableKind<T>, context: ResourceContext): Route[] {
  const { path, read, name, plural, schema, summarize } = kind;
  const listed = summarize === undefined ? schema : z.looseObject({});
  return [
    defineRoute({
      method: "GET",
      path,
      permission: read,
      summary: `Lists ${plural} in the order of their ids`,
      tag: plural,
      query: pageQuery,
      parameterName: "parameter",
      response: z.looseObject({ [plural]: z.array(listed), cursor: z.string().optional() }),
      handle: async ({ query, caller }) => list(kind, context, query, caller),
    }),
    defineRoute({
      method: "GET",
      path: `${path}/{id}` as const,
      permission: read,
      summary: `Reads one of the ${plural}`,
      tag: plural,
      response: z.looseObject({
        [name]: schema,
        createdAt: z.int(),
        updatedAt: z.int(),
        updatedBy: z.string(),
      }),
      errors: [404],
      handle: async ({ params, caller }) => answerRead(kind, context, params.id, caller),
    }),
  ];
}

/** Who asks for a change, and of which revision. */
interface ChangeInput {
  headers: { "If-Match"?: string | undefined };
  caller: Caller;
}

/** The input of a route that writes a resource: only the path of PUT holds an id. */
interface SaveInput<T> extends ChangeInput {
  body: Record<string, T>;
  params: { id?: string };
}

export function toWrite({ headers, caller }: ChangeInput): Write {
  return { by: caller, ifMatch: headers["If-Match"] ?? null };
}

function writeRoutes<T>(kind: ResourceKind<T>, context: ResourceContext): Route[] {
  const { path, write, name, plural } = kind;
  const shared = {
    permission: write,
    tag: plural,
    limitRate: context.limitRate,
    body: json(strictObject({ [name]: kind.schema })),
    headers: ifMatchHeader,
    response: changeResponse,
    errors: [409, 412, 429],
    handle: (input: SaveInput<T>) => save(kind, context, input),
  };
  if (kind.style === "upsert") {
    const summary = `Creates the ${name}, or replaces the one of its ${kind.idPath}`;
    return [defineRoute({ ...shared, method: "POST", path: `${path}/update`, summary })];
  }
  return [
    defineRoute({ ...shared, method: "POST", path, summary: `Creates one of the ${plural}` }),
    defineRoute({
      ...shared,
      method: "PUT",
      path: `${path}/{id}` as const,
      summary: `Replaces one of the ${plural}, or creates it under that id`,
    }),
  ];
}

async function save<T>(kind: ResourceKind<T>, context: ResourceContext, input: SaveInput<T>): Promise<Reply> {
  const { name, collection, style } = kind;
  const value = input.body[name]!;
  const pathId = input.params.id;
  const write = toWrite(input);
  const id = chooseId(kind, value, pathId);
  refuseManagedWrite(kind, context, write.by, id, collection.get(id) ? "update" : "create");
  refuseUnreadable(kind, id, collection.get(id), write.by);
  const withSecrets = (sent: T, before: Stored<T> | undefined) =>
    kind.restoreSecrets?.(sent, before?.value, name) ?? sent;
  const warnings = kind.check(withSecrets(value, collection.get(id)), name, write.by);
  const stored = await collection.put(
    id,
    (before) => {
      if (before !== undefined && style === "create" && pathId === undefined) {
        throw makeExistsRefusal(kind, id);
      }
      // It may have been changed since.
      refuseUnreadable(kind, id, before, write.by);
      return withSecrets(kind.withId(value, id), before);
    },
    write,
  );
  const more = warnings.length === 0 ? {} : { warnings };
  return jsonReply({ id, ...more }, 200, { ETag: etagOf(stored) });
}

/**
 * Returns the id in the path; without one, the id in the body, or a new one. Throws Refusal 400 where path and body
 * name different ids, or the id cannot be stored.
 */
function chooseId<T>(kind: ResourceKind<T>, value: T, inPath: string | undefined): string {
  const idPath = `${kind.name}.${kind.idPath}`;
  const sent = kind.idOf(value);
  if (inPath === undefined) return checkOrMakeId(sent, idPath);
  if (sent !== undefined && sent !== "" && sent !== inPath) {
    throw new Refusal(400, `${idPath} must be the id in the path, ${JSON.stringify(inPath.slice(0, 100))}`);
  }
  return checkOrMakeId(inPath, "the id in the path");
}

function makeExistsRefusal<T>(kind: ResourceKind<T>, id: string): Refusal {
  const update = `PUT ${kind.path}/${encodeURIComponent(id)} replaces it`;
  return new Refusal(409, `there is a ${kind.name} ${JSON.stringify(id)} already; ${update}`);
}

async function remove<T>(
  kind: ResourceKind<T>,
  context: ResourceContext,
  id: string,
  write: Write,
): Promise<{ id: string }> {
  refuseManagedWrite(kind, context, write.by, id, "delete");
  const stored = kind.collection.get(id);
  if (stored === undefined) throw makeNotFoundRefusal(kind, id);
  refuseUnreadable(kind, id, stored, write.by);
  const check = (before: Stored<T>) => {
    refuseUnreadable(kind, id, before, write.by);
    kind.checkUnused?.(id, write.by);
  };
  if (!(await kind.collection.remove(id, write, check))) throw makeNotFoundRefusal(kind, id);
  return { id };
}

/** Throws Refusal 403 where the change would decide on rows that the caller may not read. */
function refuseUnreadable<T>(
  kind: ReadableKind<T>,
  id: string,
  stored: Stored<T> | undefined,
  by: Caller,
): void {
  const problem = kind.findChangeProblem?.(id, stored, by);
  if (problem !== undefined) throw new Refusal(403, problem);
}

/**
 * Throws Refusal for a resource that Kubernetes manages: 403 where the caller sees it and no rule allows the verb,
 * else 409, whether it exists or not.
 */
function refuseManagedWrite<T>(
  kind: ResourceKind<T>,
  { scope }: ResourceContext,
  caller: Caller,
  id: string,
  verb: Verb,
): void {
  const { name, plural, write } = kind;
  const stored = kind.collection.get(id);
  const isSeen = stored?.managed !== undefined && scope.canSee(caller, plural, stored);
  if (isSeen && !scope.canUse(caller, plural, verb, write, stored)) {
    throw new Refusal(403, `no rule of your groups lets you ${verb} this ${name}`);
  }
  refuseManaged(id, `the ${name}`, stored?.managed);
}

function visibleValue<T>(
  kind: ReadableKind<T>,
  { scope }: ResourceContext,
  caller: Caller,
  id: string,
  stored: Stored<T>,
): unknown {
  if (kind.hideSecrets === undefined) return stored.value;
  // Nobody writes a managed resource here: who may update it by a rule sees its secrets.
  const canWrite =
    scope.canUse(caller, kind.plural, "update", kind.write, stored) &&
    (stored.managed !== undefined || kind.findChangeProblem?.(id, stored, caller) === undefined);
  return kind.hideSecrets(stored.value, canWrite);
}

function answerRead<T>(kind: ReadableKind<T>, context: ResourceContext, id: string, caller: Caller): Reply {
  const stored = kind.collection.get(id);
  if (stored === undefined || !context.scope.canSee(caller, kind.plural, stored))
    throw makeNotFoundRefusal(kind, id);
  const { value, createdAtMs, updatedAtMs, updatedBy, managed } = stored;
  const answer = {
    [kind.name]: visibleValue(kind, context, caller, id, stored),
    ...kind.extraMembers?.(value),
    ...(managed === undefined ? {} : { managed: managedMember(kind.plural, managed) }),
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    updatedBy: updatedBy.name,
  };
  return jsonReply(answer, 200, { ETag: etagOf(stored) });
}

function list<T>(
  kind: ReadableKind<T>,
  context: ResourceContext,
  { limit = pageDefault, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  caller: Caller,
): Reply {
  const after = cursor === undefined ? null : Buffer.from(cursor, "base64url").toString();
  const all = kind.collection.list();
  const first = after === null ? 0 : all.findIndex(({ id }) => id > after);
  const items: string[] = [];
  const managed: Record<string, object> = {};
  let characters = 0;
  let last = "";
  for (const { id, value: stored } of first < 0 ? [] : all.slice(first)) {
    if (!context.scope.canSee(caller, kind.plural, stored)) continue;
    if (items.length === limit || characters > pageCharactersMax)
      return pageReply(kind, items, managed, last);
    const text = JSON.stringify(
      kind.summarize?.(stored.value) ?? visibleValue(kind, context, caller, id, stored),
    );
    characters += text.length;
    items.push(text);
    if (stored.managed !== undefined) managed[id] = managedMember(kind.plural, stored.managed);
    last = id;
  }
  return pageReply(kind, items, managed, null);
}

/**
 * `managed`: the managed ones among the items, by their ids. `last`: the next page begins after this id; null on the last
 * page.
 */
function pageReply<T>(
  { plural }: ReadableKind<T>,
  items: readonly string[],
  managed: Readonly<Record<string, object>>,
  last: string | null,
): Reply {
  const badges = Object.keys(managed).length === 0 ? "" : `,"managed":${JSON.stringify(managed)}`;
  const cursor = last === null ? "" : `,"cursor":"${Buffer.from(last).toString("base64url")}"`;
  const body = `{"${plural}":[${items.join(",")}]${badges}${cursor}}\n`;
  return new Reply({ status: 200, headers: jsonHeaders, body });
}

export function makeNotFoundRefusal({ name }: { name: string }, id: string): Refusal {
  return new Refusal(404, `there is no ${name} of id ${JSON.stringify(id.slice(0, 100))}`);
}
