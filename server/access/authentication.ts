/** Authentication: which caller a request comes from, and whether that caller has the permission of a route. */

import type { Caller, Permission } from "../model/caller.ts";
import { makeUnauthorized, Refusal } from "../throttle/refusal.ts";
import { permissionsOf } from "./permissions.ts";
import {
  findProxySign,
  hostName,
  isFromOtherSite,
  isFromOwnPage,
  isLoopbackName,
  isNavigation,
  type RequestHead,
  type ServerPlace,
} from "./request-origin.ts";
import { checkPageOfCookie, findCookie, sessionCookieName } from "./session-cookie.ts";

/** How callers are found, and what callers without a token may do. */
export interface AccessRules extends ServerPlace {
  /** Whether requests without a token may search. */
  anonymousReads: boolean;
  /** Host names that the server answers to on loopback, besides its own. */
  hostNames: readonly string[];
  /** The bearer of a token, or null where the token is unknown, expired or revoked. */
  callerOf(token: string): Caller | null;
  /**
   * The user whom a token of the identity provider names. Rejects with Refusal 401, 403, or 503 where the provider
   * gives no answer. Undefined where no provider is configured.
   */
  userOf?: ((token: string) => Promise<Caller>) | undefined;
  /**
   * The caller whose session a cookie holds, or null where there is none or it is over. Throws Refusal 403 for a user
   * who is in no group any more. Undefined where no sessions are kept.
   */
  callerOfSession?: ((secret: string) => Caller | null) | undefined;
}

const anonymous: Caller = {
  tokenId: null,
  name: "anonymous",
  role: "anonymous",
  groups: null,
  environment: null,
};

/** True for a JSON Web Token: three parts in base64url with dots between. Tokens of this server hold no dot. */
export function isWebToken(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*$/.test(token);
}

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
  if (token === null)
    return callerOfCookie(head, permission, rules) ?? anonymousCaller(head, rules, permission);
  if (rules.userOf === undefined || !isWebToken(token)) return callerOfToken(token, rules);
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

/** The caller before anything is checked; null where the request has a token or a session. */
export function presumeCaller(head: RequestHead): Caller | null {
  const hasToken = head.headers.has("authorization") || head.headers.has(agentTokenName);
  const isKnown = hasToken || findCookie(head, sessionCookieName) !== null;
  return isKnown ? null : anonymous;
}

/** Schemes of agents whose credentials are a pair with the token after the colon: `Basic`, and Elasticsearch's. */
const pairSchemes: readonly string[] = ["basic", "apikey"];
/** Schemes of agents that send the token as it is: Splunk's, and InfluxDB's `Token`. */
const agentSchemes: readonly string[] = ["splunk", "token"];
/** Datadog's header, which some of its clients send as a parameter of the query. */
const agentTokenName = "dd-api-key";
/** The password in the query of InfluxDB's version 1. */
const passwordParameter = "p";

/**
 * The token of `Authorization: Bearer …`, or of the bare header; null without the header. Agents that send telemetry
 * may support other schemes or another header only.
 */
function tokenOf(head: RequestHead, permission: Permission): string | null {
  const header = head.headers.get("authorization")?.trim();
  const isAgent = permission === "ingest";
  if (header === undefined) return isAgent ? agentTokenOf(head) : null;
  const [, named = "bearer", rest] = /^(?:(\S+)\s+)?(\S+)$/.exec(header) ?? [];
  const scheme = named.toLowerCase();
  if (rest !== undefined && isAgent && pairSchemes.includes(scheme)) return secretOf(rest);
  const isBare = scheme === "bearer" || (isAgent && agentSchemes.includes(scheme));
  if (rest === undefined || !isBare) {
    throw makeUnauthorized("the Authorization header must be `Bearer TOKEN`");
  }
  return rest;
}

function agentTokenOf({ headers, queryText = "", tokenInPath }: RequestHead): string | null {
  const query = new URLSearchParams(queryText);
  const inQuery = query.get(agentTokenName) ?? query.get(passwordParameter);
  return headers.get(agentTokenName)?.trim() ?? tokenInPath ?? inQuery;
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

/**
 * The caller whose session the request's cookie holds; null without such a cookie. Routes of the sign-in look the
 * session up themselves, since they also answer callers whose session is over. Throws Refusal 401 or 403.
 */
function callerOfCookie(head: RequestHead, permission: Permission, rules: AccessRules): Caller | null {
  const cookie = findCookie(head, sessionCookieName);
  if (cookie === null) return null;
  if (permission === "ingest" || permission === "synchronize")
    throw makeUnauthorized("rows are sent with a token of this server, not by a session");
  checkPageOfCookie(head, cookie, rules);
  if (permission === "sign in") return anonymous;
  const caller = rules.callerOfSession?.(cookie.value) ?? null;
  if (caller === null) throw makeUnauthorized("the session is over: sign in again");
  return caller;
}

function anonymousCaller(head: RequestHead, rules: AccessRules, permission: Permission): Caller {
  if (permission === "sign in") {
    if (isFromOtherSite(head) && !isFromOwnPage(head, "https", rules))
      throw new Refusal(403, "pages of other sites are not answered");
    return anonymous;
  }
  const missing = "a token is needed: send it as `Authorization: Bearer TOKEN`";
  if (!permissionsOf.anonymous.includes(permission)) throw makeUnauthorized(missing);
  const reason = whyNoAnonymousRead(head, rules);
  if (reason !== null) throw makeUnauthorized(`${missing}${reason}`);
  return anonymous;
}

/** Whether a request like this one may search without a token. */
export function mayReadAnonymously(head: RequestHead, rules: AccessRules): boolean {
  return whyNoAnonymousRead(head, rules) === null;
}

/** Why a request without a token may not search, in parentheses where it has to do with the request; null: it may. */
function whyNoAnonymousRead(head: RequestHead, rules: AccessRules): string | null {
  if (!rules.anonymousReads) return "";
  const proxySign = rules.onLoopback ? findProxySign(head) : undefined;
  if (proxySign !== undefined) return ` (${proxySign})`;
  return isFromOtherSite(head) ? " (the request comes from a page of another site)" : null;
}

function rolesWith(permission: Permission): string {
  const roles = Object.entries(permissionsOf).filter(([, allowed]) => allowed.includes(permission));
  return roles
    .map(([role]) => role)
    .filter((role) => role !== "anonymous")
    .join(" or ");
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
