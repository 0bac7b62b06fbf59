/** The cookie of a session: what browsers send in the place of a token, and what they must send with it. */

import { Refusal } from "../throttle/refusal.ts";
import {
  findProxySign,
  isFromOtherSite,
  isFromOwnPage,
  isNavigation,
  type RequestHead,
  type ServerPlace,
} from "./request-origin.ts";

/** A cookie of a request. */
export interface SentCookie {
  value: string;
  /** "https": only this host can have set it, over TLS. */
  transport: "https" | "loopback";
}

/** The name of the session's cookie. */
export const sessionCookieName = "svc-session";

/** The name of a cookie over a transport. Browsers take the prefix from this host alone, and only over TLS. */
export function cookieNameOf(name: string, transport: "https" | "loopback"): string {
  return transport === "https" ? `__Host-${name}` : name;
}

/**
 * The cookie of that name; null without one. A cookie without the prefix counts on this machine alone: elsewhere other
 * hosts of the domain could have set it.
 */
export function findCookie(head: RequestHead, name: string): SentCookie | null {
  const header = head.headers.get("cookie");
  if (header === undefined) return null;
  const secure = valueIn(header, cookieNameOf(name, "https"));
  if (secure !== undefined) return { value: secure, transport: "https" };
  const plain = findProxySign(head) === undefined ? valueIn(header, name) : undefined;
  return plain === undefined ? null : { value: plain, transport: "loopback" };
}

function valueIn(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

/**
 * Throws Refusal 403 for a request with the cookie that no page of this server sent: browsers send cookies whoever made
 * them ask. What only reads may also come from a link, or from a program that says nothing of pages.
 */
export function checkPageOfCookie(head: RequestHead, { transport }: SentCookie, place: ServerPlace): void {
  if (head.method === "GET" || head.method === "HEAD") {
    const isOwn = isFromOwnPage(head, transport, place);
    if (isOwn || isNavigation(head) || !isFromOtherSite(head)) return;
    throw new Refusal(403, "pages of other sites are not answered");
  }
  if (!isFromOwnPage(head, transport, place)) {
    throw new Refusal(
      403,
      "a request with a session's cookie must come from a page of this server: Sec-Fetch-Site or Origin must say so",
    );
  }
  const isJson = /^\s*application\/json\s*(?:;|$)/i.test(head.headers.get("content-type") ?? "");
  if (hasBody(head) && !isJson) {
    throw new Refusal(
      403,
      "a request with a session's cookie must have a body of Content-Type application/json, or none",
    );
  }
}

function hasBody({ headers }: RequestHead): boolean {
  return (headers.get("content-length") ?? "0") !== "0" || headers.has("transfer-encoding");
}
