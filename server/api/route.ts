/**
 * The contract between the sockets (`http/`) and everything that answers a request: plain data in, plain data out,
 * so that what answers can be read and tested without a socket.
 */

import type * as z from "zod";
import type { Caller, Permission } from "../model/caller.ts";

type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface ServerRequest {
  method: Method;
  path: string;
  /** Values of the `{…}` parts of the route's path, percent-decoded; under `*` what a path ending in `/*` stands for. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  /** As it came over the wire, still compressed where Content-Encoding says so; empty without a body. */
  body: Uint8Array<ArrayBuffer>;
  caller: Caller;
  /** Who asks as of now: throws Refusal, or rejects with it, where such a request would not be let in any more. */
  readmit(): Caller | Promise<Caller>;
  /** Aborted when the client goes away, the deadline passes or the server stops. */
  signal: AbortSignal;
}

/** What an answer that goes on until one side ends it needs besides its pieces. */
export interface Stream {
  /** Written between pieces, also to a reader that is behind with them: else a connection where nothing goes on would be given up. */
  heartbeat(): Uint8Array;
  heartbeatMs: number;
  /** Once aborted, a reader that is behind is waited for no longer. */
  ending: AbortSignal;
}

/** An answer that is more than JSON with status 200. Any value that has its members is one for the sockets. */
export class Reply {
  declare readonly status: number;
  declare readonly headers?: Readonly<Record<string, string>>;
  /** Pieces are written one after the other, at the pace of the reader. */
  declare readonly body: string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Of an answer without end: no time is set for it. */
  declare readonly stream?: Stream;
  /** The answer may take as long as it likes while the reader takes a piece at least this often; without it, it has a time in all. */
  declare readonly stallMsMax?: number;
  /** Called once when the answer has been written, or nobody is left to read it. */
  declare readonly onEnd?: () => void;

  constructor(members: Reply) {
    Object.assign(this, members);
  }
}

export interface RouteBody {
  /** Bytes on the wire; one more gives 413. */
  bytesMax: number;
  /** Media types; "" stands for a missing Content-Type. */
  contentTypes: readonly string[];
}

/** An error as a protocol writes it. */
export interface ErrorBody {
  contentType: string;
  body: string | Uint8Array;
}

/** What the API's document says of a route. */
interface RouteDescription {
  /** What it does, in a few words. */
  summary: string;
  /** The part of the API that it belongs to. */
  tag: string;
  /** Of the JSON body. */
  request?: z.ZodType;
  /** Of the JSON of a success. */
  response: z.ZodType;
  /** Of a success, where that is not JSON. */
  contentType?: string;
  /** Headers of the request that mean something, by name; all may be left out. */
  headers: Readonly<Record<string, z.ZodType>>;
  /** In the query part of the URL, by name. */
  query: Readonly<Record<string, z.ZodType>>;
  /** Statuses besides those that any route may answer with. */
  errors: readonly number[];
}

/** A route as the sockets see it; `defineRoute` makes one. */
export interface Route {
  method: Method;
  /** Exact; `{name}` stands for one segment, as in `/api/v1/tokens/{id}`, and a last segment `*` for one or more. */
  path: string;
  /** What the caller must be allowed to do; null is open to all. */
  permission: Permission | null;
  /** Whether the route reads a body; null: there is none. */
  body: RouteBody | null;
  /** The signal is aborted and 503 answered after this time, counted from the last byte of the request. */
  deadlineMs: number;
  /** Writes errors in the protocol's own form, given the headers of the request; without it they are `{ "error": … }`. */
  errorBody?(error: { status: number; message: string }, headers: ReadonlyMap<string, string>): ErrorBody;
  description?: RouteDescription;
  answer(request: ServerRequest): Promise<Reply>;
}

export const jsonHeaders = { "Content-Type": "application/json; charset=utf-8" } as const;

export function jsonReply(value: unknown, status = 200, headers: Record<string, string> = {}): Reply {
  return new Reply({ status, headers: { ...jsonHeaders, ...headers }, body: `${JSON.stringify(value)}\n` });
}
