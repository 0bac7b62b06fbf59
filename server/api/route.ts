/**
 * The contract between the sockets (`http/`) and the routes: plain data in, plain data out, so that routes can be read
 * and tested without a socket.
 */

import type * as z from "zod";
import type { Caller, Permission } from "../model/caller.ts";
import type { Refusal } from "../throttle/refusal.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

/** A request whose caller is known and whose body is in memory. */
export interface ServerRequest {
  method: Method;
  path: string;
  /** Values of the path's `{…}` parts, percent-decoded; under `*` the rest of a path that ends in `/*`. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  /** As it came over the wire, still compressed where Content-Encoding says so; empty without a body. */
  body: Uint8Array;
  caller: Caller;
  /** Checks access again. Returns the caller with present rights; throws or rejects with Refusal if it has none. */
  readmit(): Caller | Promise<Caller>;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  signal: AbortSignal;
}

/** The part of an answer without end, such as a tail, that an answer with an end does not have. */
export interface Stream {
  /** Returns bytes to write between pieces, even to a reader that lags: an idle connection would be closed. */
  heartbeat(): Uint8Array;
  heartbeatMs: number;
  /** Once aborted, the server no longer waits for a reader that lags. */
  ending: AbortSignal;
}

/** An answer with its status, headers and body. Any value with these members is accepted. */
export class Reply {
  declare readonly status: number;
  declare readonly headers?: Readonly<Record<string, string>>;
  /** Values of Set-Cookie headers. */
  declare readonly cookies?: readonly string[];
  /** The refusal that this answer stands for, such as a redirect of a browser: it is counted and audited as one. */
  declare readonly refusal?: Refusal;
  /** Pieces are written one after the other, at the pace of the reader. */
  declare readonly body: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Present in an answer without end, which has no time limit. */
  declare readonly stream?: Stream;
  /** Limits the time between two pieces that the reader takes, instead of the time of the whole answer. */
  declare readonly stallMsMax?: number;
  /** Called once when the answer was written, or its reader is gone. */
  declare readonly onEnd?: () => void;

  constructor(members: Reply) {
    Object.assign(this, members);
  }
}

/** Lends memory for the large bodies of a route. No two bodies have the same memory at a time. */
interface RouteMemory {
  /** Undefined where new memory is to be taken. The route has the memory back with the body. */
  take: (bytes: number, headers: ServerRequest["headers"]) => Uint8Array | undefined;
  /** Takes back the memory of a body that the route does not get, as that of a client that went away. */
  giveBack: (memory: Uint8Array) => void;
}

/** Which bodies a route accepts. */
export interface RouteBody {
  /** Bytes on the wire; more are answered with 413. Of a body in parts, the bytes that no part has taken yet. */
  bytesMax: number;
  /** Media types; "" stands for a missing Content-Type. */
  contentTypes: readonly string[];
  /** Memory for large bodies; new memory by default. */
  memory?: RouteMemory;
  /** Bodies without a Content-Encoding are taken in parts: `answer` gets the rest, which no part has taken. */
  parts?: RouteParts;
}

/** How a body is taken while it is being received. */
interface RouteParts {
  /** From so many bytes on a part is taken. */
  bytes: number;
  /**
   * Takes whole things off the beginning of the body of `request`, which is what was received and not taken yet. Resolves
   * to the number of bytes that it took.
   */
  take(request: ServerRequest): Promise<number>;
}

/** The parts of one body. */
export interface BodyParts extends Pick<RouteParts, "bytes"> {
  take(received: Uint8Array): Promise<number>;
}

/** An error as a protocol writes it. */
export interface ErrorBody {
  contentType: string;
  body: string | Uint8Array;
}

/** What the API's document says about a route. */
export interface RouteDescription {
  /** What the route does, in a few words. */
  summary: string;
  /** The section of the document that the route belongs to. */
  tag: string;
  /** Schema of the JSON body. */
  request?: z.ZodType;
  /** Schema of a successful answer. Answers are not checked against it. */
  response: z.ZodType;
  /** Content type of a successful answer, where that is not JSON. */
  contentType?: string;
  /** Optional headers of the request that the route reads, by name. */
  headers: Readonly<Record<string, z.ZodType>>;
  /** Query parameters, by name. */
  query: Readonly<Record<string, z.ZodType>>;
  /** Statuses of errors, besides those that any route may answer with. */
  errors: readonly number[];
}

/** A route as the sockets see it; `defineRoute` makes one. */
export interface Route {
  method: Method;
  /**
   * Matched exactly, but `{name}` stands for one segment, as in `/api/v1/tokens/{id}`, and a last segment `*` for one
   * or more.
   */
  path: string;
  /** The method of gRPC that does the same with a protobuf message, such as `package.Service/Method`; absent: none. */
  grpcMethod?: string;
  /** A media type. The route answers requests whose Accept header names it; those that name none get the other route. */
  accepts?: string;
  /** The `{…}` part of the path in which agents send their token; absent: none. */
  tokenParameter?: string;
  /** What the caller must be allowed to do; null: the route is open to all. */
  permission: Permission | null;
  /** The bodies that it accepts; null: none. */
  body: RouteBody | null;
  /** After this time, counted from the last byte of the request, the signal is aborted and 503 answered. */
  deadlineMs: number;
  /** Writes errors in another protocol's form; `headers` are those of the request. Absent: `{ "error": … }`. */
  errorBody?(error: { status: number; message: string }, headers: ReadonlyMap<string, string>): ErrorBody;
  description?: RouteDescription;
  answer(request: ServerRequest): Promise<Reply>;
}

export const jsonHeaders = { "Content-Type": "application/json; charset=utf-8" } as const;

export function jsonReply(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return new Reply({ status, headers: { ...jsonHeaders, ...headers }, body: `${JSON.stringify(value)}\n` });
}
