/** Authentication: which caller a request comes from, and whether that caller has the permission of a route. */

import { isIP } from "node:net";
import type { Caller, Permission } from "../model/caller.ts";
import { makeUnauthorized, Refusal } from "../throttle/refusal.ts";
import { permissionsOf } from "./permissions.ts";

/**
 * A request with such a header came through a proxy: its sender is not on this machine, whatever the socket says. Every
 * proxy has names of its own, so all names count that begin with `x-` or sound of forwarding.
 */
const forwardingHeader =
  /^(?:x-|cf-|fly-|fastly-|akamai-|true-|via$)|forward|proxy|proxied|client-?ip|real-?ip|remote-?(?:addr|ip)|original|cdn/;
/** Sent by programs that ask a server directly. */
const directHeaders: ReadonlySet<string> = new Set(["x-requested-with", "proxy-connection"]);

/** What authentication reads of a request. */
export interface RequestHead {
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
}

/** How callers are found, and what callers without a token may do. */
export interface AccessRules {
  /** Whether requests without a token may search. */
  anonymousReads: boolean;
  /** The server can be reached from its own machine only. */
  onLoopback: boolean;
  /** Host names that the server answers to on loopback, besides its own. */
  hostNames: readonly string[];
  /** The bearer of a token, or null where the token is unknown, expired or revoked. */
  callerOf(token: string): Caller | null;
  /**
   * The user whom a token of the identity provider names. Rejects with Refusal 401, 403, or 503 where the provider
   * gives no answer. Undefined where no provider is configured.
   */
  userOf?: ((token: string) => Promise<Caller>) | undefined;
}

const anonymous: Caller = {
  tokenId: null,
  name: "anonymous",
  role: "anonymous",
  groups: null,
  environment: null,
};

/** A JSON Web Token: three parts in base64url with dots between. Tokens of this server hold no dot. */
const webTokenForm = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * The caller of a request. Throws Refusal 401, or 403 for a Host that is not this server's and for a page of another
 * site that asks for what needs no token, or rejects with one.
 */
export function identify(
  head: RequestHead,
  permission: Permission | null,
  rules: AccessRules,
): Caller | Promise<Caller> {
  checkHost(head, rules);
  if (permission === null) {
    if (isFromOtherSite(head) && !isNavigation(head))
      throw new Refusal(403, "pages of other sites are not answered");
    return anonymous;
  }
  const token = tokenOf(head, permission);
  if (token === null) return anonymousCaller(head, rules, permission);
  if (rules.userOf === undefined || !webTokenForm.test(token)) return callerOfToken(token, rules);
  // Users are people, who send no telemetry; and large bodies must not wait for the identity provider.
  if (permission === "ingest") throw makeUnauthorized("rows are sent with a token of this server");
  return rules.userOf(token);
}

/** Throws Refusal 403 unless the caller's role has the permission; null needs none. */
export function checkPermission(caller: Caller, permission: Permission | null): void {
  if (permission === null || permissionsOf[caller.role].includes(permission)) return;
  throw new Refusal(
    403,
    `a token of role ${caller.role} may not ${permission}: it takes ${rolesWith(permission)}`,
  );
}

/** The caller before any token is checked; null where the request has a token. */
export function presumeCaller(head: RequestHead): Caller | null {
  return head.headers.has("authorization") ? null : anonymous;
}

/**
 * The token of `Authorization: Bearer …`, or of the bare header; null without the header. Agents that send telemetry
 * may support other schemes only: `Basic` with the token as the password, and Elasticsearch's `ApiKey` with it as the
 * key.
 */
function tokenOf(head: RequestHead, permission: Permission): string | null {
  const header = head.headers.get("authorization")?.trim();
  if (header === undefined) return null;
  const [, scheme = "bearer", rest] = /^(?:(\S+)\s+)?(\S+)$/.exec(header) ?? [];
  const isPair = permission === "ingest" && ["basic", "apikey"].includes(scheme.toLowerCase());
  if (rest !== undefined && isPair) return secretOf(rest);
  if (rest === undefined || scheme.toLowerCase() !== "bearer") {
    throw makeUnauthorized("the Authorization header must be `Bearer TOKEN`");
  }
  return rest;
}

/** The text after the colon of a pair in Base64; without a colon all of it. */
function secretOf(pair: string): string {
  const text = Buffer.from(pair, "base64").toString("utf8");
  return text.slice(text.indexOf(":") + 1);
}

function callerOfToken(token: string, rules: AccessRules): Caller {
  const caller = rules.callerOf(token);
  if (caller === null) throw makeUnauthorized("the token is unknown, expired or revoked");
  return caller;
}

function anonymousCaller(head: RequestHead, rules: AccessRules, permission: Permission): Caller {
  const missing = "a token is needed: send it as `Authorization: Bearer TOKEN`";
  const isAllowed = rules.anonymousReads && permissionsOf.anonymous.includes(permission);
  if (!isAllowed) throw makeUnauthorized(missing);
  const proxySign = rules.onLoopback ? findProxySign(head) : undefined;
  if (proxySign !== undefined) throw makeUnauthorized(`${missing} (${proxySign})`);
  if (isFromOtherSite(head))
    throw makeUnauthorized(`${missing} (the request comes from a page of another site)`);
  return anonymous;
}

/** What shows that the request came through a proxy, in words; undefined where nothing does. */
function findProxySign({ headers }: RequestHead): string | undefined {
  for (const name of headers.keys()) {
    if (forwardingHeader.test(name) && !directHeaders.has(name))
      return `the request came through a proxy: it bears the header ${name.slice(0, 100)}`;
  }
  const name = hostName(headers.get("host") ?? "");
  return isLoopbackName(name)
    ? undefined
    : `its Host ${JSON.stringify(name.slice(0, 100))} is not this machine's own`;
}

function rolesWith(permission: Permission): string {
  const roles = Object.entries(permissionsOf).filter(([, allowed]) => allowed.includes(permission));
  return roles
    .map(([role]) => role)
    .filter((role) => role !== "anonymous")
    .join(" or ");
}

/**
 * True where a page of another site made the browser ask: it could not read the answer, but would cost the server work.
 */
function isFromOtherSite(head: RequestHead): boolean {
  const origin = head.headers.get("origin");
  if (origin === undefined) {
    const site = head.headers.get("sec-fetch-site");
    return site !== undefined && site !== "same-origin" && site !== "none";
  }
  return URL.parse(origin)?.host !== head.headers.get("host");
}

/** True where a person follows a link: the page that has the link gets nothing of the answer. */
function isNavigation({ headers }: RequestHead): boolean {
  return headers.get("sec-fetch-dest") === "document";
}

/**
 * Throws Refusal 403 for a foreign Host header on loopback: a page of another site whose name resolves to 127.0.0.1
 * (DNS rebinding) would otherwise be same-origin with the server.
 */
function checkHost(head: RequestHead, rules: AccessRules): void {
  if (!rules.onLoopback) return;
  const host = head.headers.get("host") ?? "";
  const name = hostName(host);
  if (isLoopbackName(name) || rules.hostNames.includes(name)) return;
  throw new Refusal(
    403,
    `the Host header ${JSON.stringify(host.slice(0, 100))} does not name this server: add it with --host-name`,
  );
}

/** The name without its port, in lower case; `[::1]:80` gives `::1`. */
function hostName(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(host.toLowerCase()) ?? [];
  return bracketed ?? plain ?? "";
}

/** True where only this machine can reach the address. */
export function isLoopbackName(name: string): boolean {
  if (isIP(name) === 4) return name.startsWith("127.");
  if (isIP(name) === 6) return name === "::1" || name === "0:0:0:0:0:0:0:1";
  return name === "localhost" || name.endsWith(".localhost");
}
