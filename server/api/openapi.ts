/** Makes the API's document (OpenAPI 3.1) from the routes and the schemas that check their input. */

import * as z from "zod";
import type { Permission } from "../model/caller.ts";
import { eventEnvelopes } from "../model/event.ts";
import type { Route } from "./route.ts";

type Member = Record<string, unknown>;

/** An OpenAPI document. Only the members that are read in TypeScript have exact types. */
export interface OpenApi {
  openapi: "3.1.0";
  info: { title: string; version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  /** What the server sends, by the type of event. */
  webhooks: Record<string, Member>;
  components: { schemas: Record<string, Member>; securitySchemes: Member };
}

export interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Member[];
  parameters?: Member[];
  requestBody?: Member;
  responses: Record<string, Member>;
}

const securitySchemes: Member = {
  token: { type: "http", scheme: "bearer", description: "A token of this server" },
  user: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "A token of the identity provider, where --oidc-issuer names one: the caller is its user",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-svc-session",
    description: "The cookie of a browser that has signed in; on this machine its name is svc-session",
  },
};

const errorShape = z
  .looseObject({
    error: z.string(),
    field: z.string().optional(),
    place: z
      .strictObject({ line: z.int(), column: z.int(), start: z.int(), end: z.int() })
      .optional()
      .meta({ description: "Where in the query the mistake is; offsets in UTF-16 units" }),
  })
  .meta({ id: "Error" });

/** Description of each status, for all routes. */
const meanings: Readonly<Record<number, string>> = {
  400: "The input is wrong; the sentence names the field",
  401: "No token, or one that is unknown, expired or revoked",
  403: "The caller may not do this",
  404: "There is no such thing",
  409: "It is there already, still needed, or managed by Kubernetes",
  412: "If-Match does not hold",
  413: "The body is too large",
  415: "Another Content-Type or Content-Encoding is needed",
  429: "Too much at once; Retry-After tells when to come again",
  500: "A fault of the server's, logged under the number in the answer",
  503: "Not now: the deadline, overload or a full disk",
};

export function openApiOf(routes: readonly Route[]): OpenApi {
  const schemas: Record<string, Member> = {};
  const paths: OpenApi["paths"] = {};
  for (const route of routes) {
    // Routes of other protocols are described by those protocols.
    if (route.errorBody !== undefined) continue;
    // OpenAPI has no routes by prefix: what follows the prefix becomes a parameter.
    const path = route.path.replace(/\*$/, "{path}");
    const operations = paths[path] ?? {};
    operations[route.method.toLowerCase()] = operationOf({ ...route, path }, schemas);
    paths[path] = operations;
  }
  const description = "Stores, searches and alerts on the logs, traces and metrics of Kubernetes clusters.";
  return {
    openapi: "3.1.0",
    info: { title: "svc", version: "1", description },
    paths,
    webhooks: webhooksOf(schemas),
    components: { schemas, securitySchemes },
  };
}

function webhooksOf(schemas: Record<string, Member>): OpenApi["webhooks"] {
  const entries = Object.entries(eventEnvelopes).map(([type, envelope]): [string, Member] => {
    const content = { "application/json": { schema: jsonSchema(envelope, schemas) } };
    const description = "2XX: taken; 410: switches the integration off; else the event is sent again";
    const post = {
      ...{ operationId: type, summary: `An event ${type}`, tags: ["webhooks"] },
      requestBody: { required: true, content },
      responses: { "2XX": { description } },
    };
    return [type, { post }];
  });
  return Object.fromEntries(entries);
}

function operationOf(route: Route, schemas: Record<string, Member>): Operation {
  const { method, path, permission, description } = route;
  const parameters = parametersOf(route, schemas);
  return {
    operationId: operationId(method, path),
    summary: description?.summary ?? `${method} ${path}`,
    tags: [description?.tag ?? "other"],
    security: securityOf(permission),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === null ? {} : { requestBody: requestBodyOf(route, schemas) }),
    responses: responsesOf(route, schemas),
  };
}

/** For example `postAlertsUpdate` for POST /api/v1/alerts/update. */
function operationId(method: string, path: string): string {
  const words = path.replace("/api/v1", "").match(/[A-Za-z0-9]+/g) ?? [];
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}

/** What callers may show. A search may need nothing. Users of an identity provider and sessions may not ingest rows. */
function securityOf(permission: Permission | null): Member[] {
  if (permission === null) return [];
  if (permission === "ingest" || permission === "synchronize") return [{ token: [] }];
  const known = [{ token: [] }, { user: [] }, { session: [] }];
  return permission === "search" || permission === "sign in" ? [...known, {}] : known;
}

function parametersOf({ path, description }: Route, schemas: Record<string, Member>): Member[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => {
    return { name, in: "path", required: true, schema: { type: "string" } };
  });
  const inQuery = Object.entries(description?.query ?? {}).map(([name, schema]) => {
    const required = schema.safeParse(undefined).success ? {} : { required: true };
    return { name, in: "query", ...required, schema: jsonSchema(schema, schemas) };
  });
  const inHeaders = Object.entries(description?.headers ?? {}).map(([name, schema]) => {
    return { name, in: "header", schema: jsonSchema(schema, schemas) };
  });
  return [...inPath, ...inQuery, ...inHeaders];
}

function requestBodyOf({ body, description }: Route, schemas: Record<string, Member>): Member {
  const schema = description?.request === undefined ? {} : jsonSchema(description.request, schemas);
  const types = (body?.contentTypes ?? []).filter((type) => type !== "");
  return { required: true, content: Object.fromEntries(types.map((type) => [type, { schema }])) };
}

function responsesOf(route: Route, schemas: Record<string, Member>): Record<string, Member> {
  const { permission, description } = route;
  const guarded = permission === null ? [] : [401, 403];
  const statuses = [400, ...guarded, ...(description?.errors ?? []), 500, 503];
  const success = description === undefined ? {} : jsonSchema(description.response, schemas);
  const responses: Record<string, Member> = {
    200: {
      description: "Done",
      content: { [description?.contentType ?? "application/json"]: { schema: success } },
    },
  };
  for (const status of statuses) {
    const schema = jsonSchema(errorShape, schemas);
    responses[status] = {
      description: meanings[status] ?? "Not done",
      content: { "application/json": { schema } },
    };
  }
  return responses;
}

/** The JSON Schema of a zod schema. Those with an id are put into `schemas`, and referred to. */
function jsonSchema(shape: z.ZodType, schemas: Record<string, Member>): Member {
  // Wrapped in an array, so that a schema with an id is a reference even at the top.
  const { $defs = {}, items } = referToComponents(z.toJSONSchema(z.array(shape), { io: "input" }));
  for (const [name, schema] of Object.entries($defs as Record<string, Member>)) schemas[name] = schema;
  return items as Member;
}

function referToComponents(schema: unknown): Member {
  return JSON.parse(JSON.stringify(schema).replaceAll("#/$defs/", "#/components/schemas/")) as Member;
}
