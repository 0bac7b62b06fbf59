/** The routes of one kind of resource: upsert, or create and update; list, read, delete. */

import * as z from "zod";
import type { Sight } from "../access/authorization-scope.ts";
import { jsonBody, parseJsonBody } from "../api/json-body.ts";
import type { Reply, Route, RouteDescription, ServerRequest } from "../api/route.ts";
import { jsonHeaders, jsonReply } from "../api/route.ts";
import { checked } from "../api/validation.ts";
import type { RateBound } from "../limits/rate-limiter.ts";
import { Refusal } from "../limits/refusal.ts";
import type { Verb } from "../model/access-rules.ts";
import type { Caller, Permission } from "../model/caller.ts";
import { purseOf } from "../model/caller.ts";
import { idOrNew, refuseManaged } from "../model/resource-id.ts";
import { fixed } from "../model/schema.ts";
import type { Stored } from "../model/stored-resource.ts";
import { suggestion } from "../text/suggestion.ts";
import type { Collection } from "./collection.ts";
import { etagOf } from "./collection.ts";
import { pageCharactersMax, pageDefault, pageMax } from "./limits.ts";

/** A kind of resource as the API shows it. */
export interface Resource<T> {
  /** The member that wraps one in bodies, `alert`; and many, `alerts`. */
  name: string;
  plural: string;
  /** `/api/v1/alerts` */
  path: string;
  shape: z.ZodType<T>;
  collection: Collection<T>;
  read: Permission;
  write: Permission;
  /** "upsert": `POST …/update` creates and updates; "create": `POST …` creates and `PUT …/{id}` updates. */
  style: "upsert" | "create";
  /** Where the id stands in what is sent, `metadata.id`. */
  idPath: string;
  idOf(value: T): string | undefined;
  withId(value: T, id: string): T;
  /** What the shape cannot say. Throws Refusal 400 naming the field below `path`; answers with warnings. */
  check(value: T, path: string, by: Caller): readonly string[];
  /** What is sent, with what stays of what is there already. Throws Refusal 400 naming the field below `path`. */
  kept?(sent: T, before: T | undefined, path: string): T;
  /** What readers see, who may write it or not. */
  shown?(value: T, mayWrite: boolean): unknown;
  listed?(value: T): unknown;
  /** Beside the resource in the answer to a read. */
  beside?(value: T): Readonly<Record<string, unknown>>;
  /** Throws Refusal where something still needs it. */
  checkUnused?(id: string, by: Caller): void;
}

/** What all resources have at hand. */
export interface ResourceEdge {
  rate: RateBound;
  sight: Sight;
}

const deadlineMs = 10_000;
const id = z.string();
const changed = z.strictObject({ id, warnings: z.array(z.string()).optional() });
const pageShape = {
  limit: z.int().min(1).max(pageMax).optional(),
  cursor: z.string().optional(),
};

export function resourceRoutes<T>(resource: Resource<T>, edge: ResourceEdge): Route[] {
  const { path, read, write } = resource;
  const one = `${path}/{id}`;
  const shape = { deadlineMs, body: null } as const;
  const describe = (summary: string, response: z.ZodType, more: Partial<RouteDescription> = {}) => {
    return { summary, tag: resource.plural, response, ...more };
  };
  const wrapped = fixed({ [resource.name]: resource.shape });
  return [
    ...writeRoutes(resource, edge, wrapped),
    {
      ...shape,
      method: "GET",
      path,
      permission: read,
      description: describe(`Lists ${resource.plural} in the order of their ids`, listShape(resource), {
        query: pageShape,
      }),
      answer: async (request) => list(resource, edge, request),
    },
    {
      ...shape,
      method: "GET",
      path: one,
      permission: read,
      description: describe(`Reads one of the ${resource.plural}`, readShape(resource), { errors: [404] }),
      answer: async (request) => answerRead(resource, edge, request),
    },
    {
      ...shape,
      method: "DELETE",
      path: one,
      permission: write,
      description: describe(`Deletes one of the ${resource.plural}`, z.strictObject({ id }), {
        conditional: true,
        errors: [404, 409, 412, 429],
      }),
      answer: (request) => remove(resource, edge, request),
    },
  ];
}

function writeRoutes<T>(resource: Resource<T>, edge: ResourceEdge, wrapped: z.ZodType): Route[] {
  const { path, write, name, plural } = resource;
  const shape = { deadlineMs, body: jsonBody, permission: write } as const;
  const describe = (summary: string): RouteDescription => {
    const errors = [409, 412, 413, 415, 429];
    return { summary, tag: plural, request: wrapped, response: changed, conditional: true, errors };
  };
  if (resource.style === "upsert") {
    const description = describe(`Creates the ${name}, or replaces the one of its ${resource.idPath}`);
    const answer = (request: ServerRequest) => save(resource, edge, request, "upsert");
    return [{ ...shape, method: "POST", path: `${path}/update`, description, answer }];
  }
  return [
    {
      ...shape,
      method: "POST",
      path,
      description: describe(`Creates one of the ${plural}`),
      answer: (request) => save(resource, edge, request, "create"),
    },
    {
      ...shape,
      method: "PUT",
      path: `${path}/{id}`,
      description: describe(`Replaces one of the ${plural}, or creates it under that id`),
      answer: (request) => save(resource, edge, request, "replace"),
    },
  ];
}

function listShape<T>(resource: Resource<T>): z.ZodType {
  const item = resource.listed === undefined ? resource.shape : z.looseObject({});
  return z.looseObject({ [resource.plural]: z.array(item), cursor: z.string().optional() });
}

function readShape<T>(resource: Resource<T>): z.ZodType {
  return z.looseObject({
    [resource.name]: resource.shape,
    createdAt: z.int(),
    updatedAt: z.int(),
    updatedBy: z.string(),
  });
}

type Saving = "upsert" | "create" | "replace";

async function save<T>(
  resource: Resource<T>,
  edge: ResourceEdge,
  request: ServerRequest,
  saving: Saving,
): Promise<Reply> {
  edge.rate.spend(purseOf(request.caller));
  const { name, collection } = resource;
  const body = checked(fixed({ [name]: z.unknown() }), parseJsonBody(request), "");
  const value = checked(resource.shape, body[name], name);
  const idPath = `${name}.${resource.idPath}`;
  const chosen = idOf(resource, request, value, idPath);
  refuseUnlessAllowed(resource, edge, request, chosen, collection.get(chosen) ? "update" : "create");
  const whole = (sent: T, before: Stored<T> | undefined) =>
    resource.kept?.(sent, before?.value, name) ?? sent;
  const warnings = resource.check(whole(value, collection.get(chosen)), name, request.caller);
  const stored = await collection.put(
    chosen,
    (before) => {
      if (before !== undefined && saving === "create") throw taken(resource, chosen);
      return whole(resource.withId(value, chosen), before);
    },
    { by: request.caller, ifMatch: ifMatchOf(request) },
  );
  const told = warnings.length === 0 ? {} : { warnings };
  return jsonReply({ id: chosen, ...told }, 200, { ETag: etagOf(stored) });
}

/** The id in the path holds; one in the body must agree with it. */
function idOf<T>(resource: Resource<T>, request: ServerRequest, value: T, idPath: string): string {
  const sent = resource.idOf(value);
  const inPath = request.params.id;
  if (inPath === undefined) return idOrNew(sent, idPath);
  if (sent !== undefined && sent !== "" && sent !== inPath) {
    throw new Refusal(400, `${idPath} must be the id in the path, ${JSON.stringify(inPath.slice(0, 100))}`);
  }
  return idOrNew(inPath, "the id in the path");
}

function taken<T>(resource: Resource<T>, chosen: string): Refusal {
  const update = `PUT ${resource.path}/${encodeURIComponent(chosen)} replaces it`;
  return new Refusal(409, `there is a ${resource.name} ${JSON.stringify(chosen)} already; ${update}`);
}

async function remove<T>(resource: Resource<T>, edge: ResourceEdge, request: ServerRequest): Promise<Reply> {
  edge.rate.spend(purseOf(request.caller));
  const chosen = request.params.id!;
  refuseUnlessAllowed(resource, edge, request, chosen, "delete");
  if (resource.collection.get(chosen) === undefined) throw unknown(resource, chosen);
  resource.checkUnused?.(chosen, request.caller);
  const write = { by: request.caller, ifMatch: ifMatchOf(request) };
  if (!(await resource.collection.remove(chosen, write))) throw unknown(resource, chosen);
  return jsonReply({ id: chosen });
}

/** What Kubernetes manages is changed there alone; to those who may not see it, it is as if it did not exist. */
function refuseUnlessAllowed<T>(
  resource: Resource<T>,
  { sight }: ResourceEdge,
  { caller }: ServerRequest,
  chosen: string,
  verb: Verb,
): void {
  const { name, plural, write } = resource;
  const stored = resource.collection.get(chosen);
  if (stored?.managed !== undefined && sight.sees(caller, plural, stored)) {
    if (!sight.mayUse(caller, plural, verb, write, stored)) {
      throw new Refusal(403, `no rule of your groups lets you ${verb} this ${name}`);
    }
  }
  refuseManaged(chosen, `the ${name}`);
}

function shownTo<T>(
  resource: Resource<T>,
  { sight }: ResourceEdge,
  caller: Caller,
  stored: Stored<T>,
): unknown {
  const mayWrite = sight.mayUse(caller, resource.plural, "update", resource.write, stored);
  return resource.shown?.(stored.value, mayWrite) ?? stored.value;
}

function answerRead<T>(resource: Resource<T>, edge: ResourceEdge, request: ServerRequest): Reply {
  const chosen = request.params.id!;
  const stored = resource.collection.get(chosen);
  const { caller } = request;
  if (stored === undefined || !edge.sight.sees(caller, resource.plural, stored)) {
    throw unknown(resource, chosen);
  }
  const { value, createdAtMs, updatedAtMs, updatedBy } = stored;
  const answer = {
    [resource.name]: shownTo(resource, edge, caller, stored),
    ...resource.beside?.(value),
    createdAt: createdAtMs,
    updatedAt: updatedAtMs,
    updatedBy: updatedBy.name,
  };
  return jsonReply(answer, 200, { ETag: etagOf(stored) });
}

function list<T>(resource: Resource<T>, edge: ResourceEdge, request: ServerRequest): Reply {
  const { limit, after } = pageOf(request.query);
  const stored = resource.collection.list();
  const first = after === null ? 0 : stored.findIndex(([at]) => at > after);
  const found: string[] = [];
  let characters = 0;
  let last = "";
  for (const [at, one] of first < 0 ? [] : stored.slice(first)) {
    if (!edge.sight.sees(request.caller, resource.plural, one)) continue;
    if (found.length === limit || characters > pageCharactersMax) return pageReply(resource, found, last);
    const text = JSON.stringify(resource.listed?.(one.value) ?? shownTo(resource, edge, request.caller, one));
    characters += text.length;
    found.push(text);
    last = at;
  }
  return pageReply(resource, found, null);
}

/** `last`: the id that the next page begins behind; null where there is none. */
function pageReply<T>({ plural }: Resource<T>, found: readonly string[], last: string | null): Reply {
  const cursor = last === null ? "" : `,"cursor":"${Buffer.from(last).toString("base64url")}"`;
  return { status: 200, headers: jsonHeaders, body: `{"${plural}":[${found.join(",")}]${cursor}}\n` };
}

/** Throws Refusal 400 for parameters that are none. */
function pageOf(query: URLSearchParams): { limit: number; after: string | null } {
  for (const name of query.keys()) {
    if (Object.hasOwn(pageShape, name)) continue;
    const known = Object.keys(pageShape);
    throw new Refusal(
      400,
      `unknown parameter ${JSON.stringify(name.slice(0, 60))}${suggestion(name, known)}`,
    );
  }
  const text = query.get("limit");
  const limit = text === null ? pageDefault : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > pageMax) {
    throw new Refusal(400, `limit must be an integer from 1 to ${pageMax}, got ${JSON.stringify(text)}`);
  }
  const cursor = query.get("cursor");
  return { limit, after: cursor === null ? null : Buffer.from(cursor, "base64url").toString() };
}

function ifMatchOf(request: ServerRequest): string | null {
  return request.headers.get("if-match") ?? null;
}

function unknown<T>(resource: Resource<T>, chosen: string): Refusal {
  return new Refusal(404, `there is no ${resource.name} of id ${JSON.stringify(chosen.slice(0, 100))}`);
}
