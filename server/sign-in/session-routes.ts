/** The routes of `/api/v1/session`: sign in with a token, ask who one is, sign out. */

import * as z from "zod";
import { type AccessRules, isWebToken, mayReadAnonymously } from "../access/authentication.ts";
import type { IdentityProvider } from "../access/identity-provider.ts";
import { permissionsOf } from "../access/permissions.ts";
import { transportOf } from "../access/request-origin.ts";
import { sessionCookieName } from "../access/session-cookie.ts";
import type { Tokens } from "../access/tokens.ts";
import { defineRoute, json } from "../api/define-route.ts";
import { jsonReply, Reply, type Route, type ServerRequest } from "../api/route.ts";
import type { Caller, Permission, User } from "../model/caller.ts";
import { strictObject } from "../model/schema.ts";
import { makeUnauthorized } from "../throttle/refusal.ts";
import { removalOf, requireSafeTransport, sentSecret, sessionCookie } from "./cookies.ts";
import { signInTokenLengthMax } from "./limits.ts";
import type { Login } from "./login.ts";
import { type Credential, credentialOf, type Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { SignIn } from "./sign-in.ts";

const newSessionShape = strictObject({ token: z.string().min(1).max(signInTokenLengthMax) });

const sessionShape = z
  .strictObject({
    /** True where a session's cookie came; a token in a header shows who asks, too, but is no session. */
    signedIn: z.boolean(),
    name: z.string(),
    role: z.string(),
    /** Groups whose rules bind the caller; null: the role alone decides. */
    groups: z.array(z.string()).nullable(),
    environment: z.string().optional(),
    /** When the session ends at the latest, Unix milliseconds. */
    expiresAt: z.int().optional(),
    /** What the caller may do here and now. */
    permissions: z.array(z.string()),
    features: z.strictObject({
      /** Whether a browser can sign in from where the caller is: not over plain HTTP. */
      signIn: z.boolean(),
      /** Whether people can sign in at an identity provider: `/api/v1/session/oidc/start`. */
      oidc: z.boolean(),
      /** Whether the caller may search without signing in. */
      anonymousRead: z.boolean(),
    }),
  })
  .meta({ id: "Session" });

type SessionReply = z.infer<typeof sessionShape>;

export interface SessionRoutesOptions {
  access: AccessRules;
  tokens: Pick<Tokens, "callerOf" | "get">;
  provider: IdentityProvider | undefined;
  /** Makes the caller for a user. Throws Refusal 403 for a user who is in no group. */
  memberOf(user: User & { name: string }): Caller;
  sessions: Sessions;
  signIn: SignIn;
  /** Undefined where people cannot sign in at an identity provider. */
  login: Login | undefined;
  now: () => number;
}

export function sessionRoutes(options: SessionRoutesOptions): Route[] {
  const shared = { path: "/api/v1/session", permission: "sign in", tag: "session" } as const;
  return [
    defineRoute({
      ...shared,
      method: "POST",
      summary: "Signs a browser in with a token: the answer sets a cookie",
      body: json(newSessionShape),
      response: sessionShape,
      errors: [429],
      handle: ({ body, request }) => begin(options, body.token, request),
    }),
    defineRoute({
      ...shared,
      method: "GET",
      summary: "Says who asks, and what they may do",
      response: sessionShape,
      handle: async ({ request }) => show(options, request),
    }),
    defineRoute({
      ...shared,
      method: "DELETE",
      summary: "Signs out; redirect is where to sign out at the identity provider",
      response: strictObject({ redirect: z.string().optional() }),
      handle: async ({ request }) => end(options, request),
    }),
  ];
}

async function begin(options: SessionRoutesOptions, token: string, request: ServerRequest): Promise<Reply> {
  const transport = requireSafeTransport(request, options.access);
  const isUser = options.provider !== undefined && isWebToken(token);
  const begun = await options.signIn.count(isUser ? "user token" : "token", async () => {
    const { caller, credential, endsAtMs } = isUser
      ? await verifyUserToken(options, options.provider!, token)
      : verifyToken(options, token);
    return { caller, ...(await options.signIn.begin(caller, credential, endsAtMs, sentSecret(request))) };
  });
  const { headers, status, body } = jsonReply(replyOf(options, request, begun.caller, begun.session));
  const cookies = [sessionCookie(begun, transport, options.now())];
  return new Reply({ status, ...(headers === undefined ? {} : { headers }), body, cookies });
}

interface Verified {
  caller: Caller;
  credential: Credential;
  /** Unix milliseconds; null: never. */
  endsAtMs: number | null;
}

function verifyToken({ tokens }: SessionRoutesOptions, token: string): Verified {
  const caller = tokens.callerOf(token);
  if (caller === null || caller.tokenId === null)
    throw makeUnauthorized("the token is unknown, expired or revoked");
  const { tokenId } = caller;
  const endsAtMs = tokens.get(tokenId)?.expiresAtMs ?? null;
  return { caller, credential: { kind: "token", tokenId }, endsAtMs };
}

async function verifyUserToken(
  { memberOf }: SessionRoutesOptions,
  provider: IdentityProvider,
  token: string,
): Promise<Verified> {
  const { claims, expiresAtMs } = await provider.verify(token);
  const identity = provider.identityOf(claims);
  const credential = credentialOf(identity, provider.settings, false);
  return { caller: memberOf(identity), credential, endsAtMs: expiresAtMs };
}

function show(options: SessionRoutesOptions, request: ServerRequest): Reply | SessionReply {
  if (request.caller.role !== "anonymous") return replyOf(options, request, request.caller, undefined);
  const secret = sentSecret(request);
  const found = secret === undefined ? null : options.sessions.find(secret);
  const reply = replyOf(options, request, found?.caller ?? request.caller, found?.session);
  if (secret === undefined || found !== null) return reply;
  // The session is over. A page cannot remove the cookie by itself.
  const { headers = {}, status, body } = jsonReply(reply);
  return new Reply({ status, headers, body, cookies: removalOf(sessionCookieName) });
}

/** What is said of a caller; without a session, of the bearer of a token or of nobody in particular. */
function replyOf(
  { access, login, tokens }: SessionRoutesOptions,
  request: ServerRequest,
  { name, role, groups, environment }: Caller,
  session: Session | undefined,
): SessionReply {
  const anonymousRead = mayReadAnonymously(request, access);
  const isAllowed = (permission: Permission) => {
    if (permission === "sign in") return false;
    if (role === "anonymous") return anonymousRead;
    return session === undefined || (permission !== "ingest" && permission !== "synchronize");
  };
  return {
    signedIn: session !== undefined,
    name,
    role,
    groups: groups === null ? null : [...groups],
    ...(environment === null ? {} : { environment }),
    ...(session === undefined ? {} : { expiresAt: endOf(session, tokens) }),
    permissions: permissionsOf[role].filter(isAllowed),
    features: {
      signIn: transportOf(request, access) !== "plain",
      oidc: login !== undefined,
      anonymousRead,
    },
  };
}

/** When a session ends at the latest: its token may have been given an earlier end since. */
function endOf({ endsAtMs, credential }: Session, tokens: Pick<Tokens, "get">): number {
  if (credential.kind !== "token") return endsAtMs;
  return Math.min(endsAtMs, tokens.get(credential.tokenId)?.expiresAtMs ?? endsAtMs);
}

async function end(options: SessionRoutesOptions, request: ServerRequest): Promise<Reply> {
  const secret = sentSecret(request);
  const by = secret === undefined ? undefined : options.sessions.find(secret)?.caller;
  const session = secret === undefined ? undefined : await options.signIn.end(secret, by);
  const isAtProvider = session?.credential.kind === "user" && session.credential.isAtProvider;
  const redirect = isAtProvider ? await options.login?.logoutUrl(request) : undefined;
  const { headers = {}, status, body } = jsonReply(redirect === undefined ? {} : { redirect });
  return new Reply({ status, headers, body, cookies: removalOf(sessionCookieName) });
}
