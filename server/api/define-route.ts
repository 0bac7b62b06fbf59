/**
 * The one way to declare a route: a method, a path, a permission, schemas of input and answer, and a handler.
 * Input is checked before the handler runs; the OpenAPI document is made from the same schemas.
 */

import * as z from "zod";
import type { Caller, Permission } from "../model/caller.ts";
import { parseJsonBody } from "./json-body.ts";
import { jsonBodyBytesMax } from "./limits.ts";
import { type Parameters, readHeaders, readPathParameters, readQuery, type Values } from "./parameters.ts";
import {
  jsonReply,
  Reply,
  type Route,
  type RouteBody,
  type RouteDescription,
  type ServerRequest,
} from "./route.ts";
import { checkInput } from "./validation.ts";

/** How a route's body is read, and what its handler gets of it. */
export interface BodyDefinition<Body> extends RouteBody {
  /** Schema of the JSON body, for the document. */
  schema: z.ZodType;
  /** Reads the body of a request. Throws Refusal. */
  read(request: ServerRequest): Body;
}

/**
 * A JSON body that fits the schema, which must not transform.
 * `nullIsAbsent`: the error for a null field says that it is missing.
 */
export function json<Schema extends z.ZodType>(
  schema: Schema,
  { nullIsAbsent = false }: { nullIsAbsent?: boolean } = {},
): BodyDefinition<z.infer<Schema>> {
  return {
    bytesMax: jsonBodyBytesMax,
    contentTypes: ["application/json"],
    schema,
    read: (request) => checkInput(schema, parseJsonBody(request), "", { nullIsAbsent }),
  };
}

/** A body that the handler decodes: the bytes as they came over the wire. */
export function raw(body: RouteBody & { schema?: z.ZodType }): BodyDefinition<Uint8Array> {
  return { schema: z.unknown(), ...body, read: (request) => request.body };
}

/** Names of the `{…}` parts of a path, and `*` of a prefix. */
type PathNames<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | PathNames<Rest>
    : Path extends `${string}/*`
      ? "*"
      : never;

/** A checked request. */
export interface Input<Path extends string, Body, Query extends Parameters, Headers extends Parameters> {
  params: Readonly<Record<PathNames<Path>, string>>;
  query: Values<Query>;
  /** Checked values, by the names that the route declares. */
  headers: Values<Headers>;
  body: Body;
  caller: Caller;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  signal: AbortSignal;
  /** The whole request, for input that is not declared. */
  request: ServerRequest;
}

interface RouteBase<Path extends string, Body, Query extends Parameters, Headers extends Parameters> {
  method: Route["method"];
  path: Path;
  accepts?: Route["accepts"];
  grpcMethod?: NonNullable<Route["grpcMethod"]>;
  tokenParameter?: PathNames<Path>;
  /** What the caller must be allowed to do; null: the route is open to all. */
  permission: Permission | null;
  /** After this time the signal is aborted and 503 answered; ten seconds where it is absent. */
  deadlineMs?: number;
  /** Schemas of path parts that may not be any text. */
  params?: { readonly [Name in PathNames<Path>]?: z.ZodType };
  /** Schemas of the query parameters. Where they are declared, unknown parameters are refused. */
  query?: Query;
  /** What an error calls an unknown parameter; "query parameter" where it is absent. */
  parameterName?: string;
  headers?: Headers;
  body?: BodyDefinition<Body>;
  /** Takes parts of a body before the whole of it is received; see `RouteParts`. */
  parts?: { bytes: number; take(input: Input<Path, Body, Query, Headers>): Promise<number> };
  /** Counts the request against the caller's rate limit before the input is read. Throws Refusal 429. */
  limitRate?(caller: Caller): void;
  /** Returns a value to send as JSON, or a Reply. */
  handle(input: Input<Path, Body, Query, Headers>): Promise<unknown>;
}

/** A route of this server's own API, which the document describes. */
interface OwnRoute extends Pick<RouteDescription, "summary" | "tag" | "response" | "contentType"> {
  /** Statuses of errors, besides 400, 401, 403, 500, 503, and 413 and 415 of routes with a body. */
  errors?: readonly number[];
}

/** A route of another protocol, which the document leaves out. */
type ForeignRoute = Required<Pick<Route, "errorBody">>;

export type RouteDefinition<
  Path extends string,
  Body,
  Query extends Parameters,
  Headers extends Parameters,
> = RouteBase<Path, Body, Query, Headers> & (OwnRoute | ForeignRoute);

type None = Record<never, never>;

const deadlineMsDefault = 10_000;

/** Makes a route that checks its input and turns what `handle` returns into an answer. */
export function defineRoute<
  const Path extends string,
  Body = undefined,
  Query extends Parameters = None,
  Headers extends Parameters = None,
>(definition: RouteDefinition<Path, Body, Query, Headers>): Route {
  const { method, path, permission, body, deadlineMs = deadlineMsDefault } = definition;
  const base: Route = {
    method,
    path,
    ...(definition.accepts === undefined ? {} : { accepts: definition.accepts }),
    ...(definition.grpcMethod === undefined ? {} : { grpcMethod: definition.grpcMethod }),
    ...(definition.tokenParameter === undefined ? {} : { tokenParameter: definition.tokenParameter }),
    permission,
    deadlineMs,
    body: body === undefined ? null : { ...toRouteBody(body), ...toRouteParts(definition) },
    answer: async (request) => {
      definition.limitRate?.(request.caller);
      const result = await definition.handle(checkRequest(definition, request));
      return result instanceof Reply ? result : jsonReply(result);
    },
  };
  if ("errorBody" in definition) return { ...base, errorBody: definition.errorBody };
  const { summary, tag, response, contentType, query = {}, headers = {}, errors = [] } = definition;
  return {
    ...base,
    description: {
      summary,
      tag,
      response,
      query,
      headers,
      errors: body === undefined ? errors : [413, 415, ...errors],
      ...(body === undefined ? {} : { request: body.schema }),
      ...(contentType === undefined ? {} : { contentType }),
    },
  };
}

function toRouteBody({ bytesMax, contentTypes, memory }: RouteBody): RouteBody {
  return { bytesMax, contentTypes, ...(memory === undefined ? {} : { memory }) };
}

function toRouteParts<Path extends string, Body, Query extends Parameters, Headers extends Parameters>(
  definition: RouteBase<Path, Body, Query, Headers>,
): Pick<RouteBody, "parts"> {
  const { parts } = definition;
  if (parts === undefined) return {};
  return {
    parts: { bytes: parts.bytes, take: (request) => parts.take(checkRequest(definition, request)) },
  };
}

/** Checks the input of a request. Throws Refusal 400 naming the field. */
function checkRequest<Path extends string, Body, Query extends Parameters, Headers extends Parameters>(
  {
    params = {},
    query,
    parameterName = "query parameter",
    headers,
    body,
  }: RouteBase<Path, Body, Query, Headers>,
  request: ServerRequest,
): Input<Path, Body, Query, Headers> {
  const { caller, signal } = request;
  return {
    params: readPathParameters(params, request.params),
    query: readQuery(query, request.query, parameterName),
    headers: readHeaders(headers, request.headers),
    body: body?.read(request) as Body,
    caller,
    signal,
    request,
  };
}
