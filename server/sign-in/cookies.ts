/** The cookies that sign-in sets. */

import { type RequestHead, type ServerPlace, transportOf } from "../access/request-origin.ts";
import { cookieNameOf, findCookie, sessionCookieName } from "../access/session-cookie.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { BegunSession } from "./session.ts";

/** How a request came that may set cookies. */
export type SafeTransport = "https" | "loopback";

/** Throws Refusal 403 for a request over a network that could read the cookie. */
export function requireSafeTransport(head: RequestHead, place: ServerPlace): SafeTransport {
  const transport = transportOf(head, place);
  if (transport !== "plain") return transport;
  throw new Refusal(
    403,
    "signing in takes HTTPS, but on this machine: name the address with --public-url https://…, or have a proxy on this machine add X-Forwarded-Proto",
  );
}

/** The value of Set-Cookie for a session that has begun. */
export function sessionCookie(
  { secret, session }: BegunSession,
  transport: SafeTransport,
  nowMs: number,
): string {
  return cookie(sessionCookieName, secret, transport, "Strict", session.endsAtMs - nowMs);
}

/** The secret of the session that the request's cookie holds; undefined without such a cookie. */
export function sentSecret(head: RequestHead): string | undefined {
  return findCookie(head, sessionCookieName)?.value;
}

/** The value of Set-Cookie for a login at the identity provider. From there the browser comes back by a link. */
export function loginCookie(value: string, transport: SafeTransport, endsInMs: number): string {
  return cookie(loginCookieName, value, transport, "Lax", endsInMs);
}

/** The values of Set-Cookie that remove a cookie, whichever name it has. */
export function removalOf(name: string): string[] {
  const sameSite = name === loginCookieName ? "Lax" : "Strict";
  return [cookie(name, "", "https", sameSite, 0), cookie(name, "", "loopback", sameSite, 0)];
}

/** The name of the cookie of a login at the identity provider. */
export const loginCookieName = "svc-login";

function cookie(
  name: string,
  value: string,
  transport: SafeTransport,
  sameSite: "Strict" | "Lax",
  endsInMs: number,
): string {
  const secure = transport === "https" ? "; Secure" : "";
  const seconds = Math.max(0, Math.ceil(endsInMs / 1000));
  return `${cookieNameOf(name, transport)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly${secure}; SameSite=${sameSite}`;
}
