/** Requests to the control plane of a running server. */

import type { Got, Running } from "../running.ts";
import { call } from "../running.ts";

export interface Asking {
  /** Token of the admin where absent; null sends none. */
  token?: string | null;
  headers?: Record<string, string>;
}

/** Sends a request with `body` as JSON, if given. The path is relative to /api/v1. */
export function ask<T = Record<string, unknown>>(
  server: Running,
  method: string,
  path: string,
  body?: unknown,
  { token = server.adminToken, headers = {} }: Asking = {},
): Promise<Got<T>> {
  return call<T>(server, `/api/v1${path}`, {
    method,
    ...(token === null ? {} : { token }),
    headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
