/**
 * The one way to declare a route: a method, a path, who may, schemas of what comes and goes, and a handler.
 * What comes is checked before the handler runs; the API's document is made from the same schemas.
 */

import * as z from "zod";
import type { Caller, Permission } from "../model/caller.ts";
import { parseJsonBody } from "./json-body.ts";
import { jsonBodyBytesMax } from "./limits.ts";
import { type Parameters, readHeaders, readPathParameters, readQuery, type Values } from "./parameters.ts";
import { type ErrorBody, jsonReply, Reply, type Route, type RouteBody, type ServerRequest } from "./route.ts";
import { checkInput } from "./validation.ts";

/** What a route takes as its body, and what its handler gets of it. */
export interface BodyDefinition<Body> extends RouteBody {
  /** Of the JSON that comes, for the document. */
  schema: z.ZodType;
  /** Throws Refusal. */
  read(request: ServerRequest): Body;
}

/**
 * A JSON body that fits the schema, which must not transform.
 * `nullIsAbsent`: a field that is null counts as left out.
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

/** The bytes as they come over the wire, which the handler decodes. */
export function raw(body: RouteBody & { schema?: z.ZodType }): BodyDefinition<Uint8Array<ArrayBuffer>> {
  return { schema: z.unknown(), ...body, read: (request) => request.body };
}

/** Names of the variable parts of a path. */
type PathNames<Path extends string> = string extends Path
  ? string
  : Path extends `${string}{${infer Name}}${infer Rest}`
    ? Name | PathNames<Rest>
    : Path extends `${string}/*`
      ? "*"
      : never;

/** A request once all of it was checked. */
export interface Input<Path extends string, Body, Query extends Parameters, Headers extends Parameters> {
  params: Readonly<Record<PathNames<Path>, string>>;
  query: Values<Query>;
  /** By the names under which they are declared. */
  headers: Values<Headers>;
  body: Body;
  caller: Caller;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  signal: AbortSignal;
  /** For what is not declared. */
  request: ServerRequest;
}

interface RouteBase<Path extends string, Body, Query extends Parameters, Headers extends Parameters> {
  method: Route["method"];
  path: Path;
  /** What the caller must be allowed to do; null is open to all. */
  permission: Permission | null;
  /** The signal is aborted and 503 answered after this time; ten seconds where absent. */
  deadlineMs?: number;
  /** Of parts of the path that are not any text. */
  params?: { readonly [Name in PathNames<Path>]?: z.ZodType };
  /** Where it is declared, other parameters are refused. */
  query?: Query;
  /** What a complaint calls a parameter that is not declared; "query parameter" where absent. */
  parameterName?: string;
  headers?: Headers;
  body?: BodyDefinition<Body>;
  /** Counts the request against what its caller may do, before its input is read. Throws Refusal 429. */
  limitRate?(caller: Caller): void;
  /** JSON, or a Reply. */
  handle(input: Input<Path, Body, Query, Headers>): Promise<unknown>;
}

/** A route of this server's own API, which its document tells of. */
interface OwnRoute {
  /** What it does, in a few words. */
  summary: string;
  /** The part of the API that it belongs to. */
  tag: string;
  /** Of a success. Answers are not checked against it. */
  response: z.ZodType;
  /** Of a success, where that is not JSON. */
  contentType?: string;
  /** Statuses besides 400, 401, 403, 500, 503, and 413 and 415 of those with a body. */
  errors?: readonly number[];
}

/** A route of a protocol that is described elsewhere. */
interface ForeignRoute {
  /** Writes errors in the protocol's own form, given the headers of the request. */
  errorBody(error: { status: number; message: string }, headers: ReadonlyMap<string, string>): ErrorBody;
}

export type RouteDefinition<
  Path extends string,
  Body,
  Query extends Parameters,
  Headers extends Parameters,
> = RouteBase<Path, Body, Query, Headers> & (OwnRoute | ForeignRoute);

type None = Record<never, never>;

const deadlineMsDefault = 10_000;

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
    permission,
    deadlineMs,
    body: body === undefined ? null : { bytesMax: body.bytesMax, contentTypes: body.contentTypes },
    answer: async (request) => {
      definition.limitRate?.(request.caller);
      const answered = await definition.handle(inputOf(definition, request));
      return answered instanceof Reply ? answered : jsonReply(answered);
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

/** Throws Refusal 400 naming what is wrong, and where. */
function inputOf<Path extends string, Body, Query extends Parameters, Headers extends Parameters>(
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
