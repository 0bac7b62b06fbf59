/** Exchanges the code of a login for the user's claims (OpenID Connect Core 1.0, sections 3.1.3 and 5.3). */

import type { IdentityProvider } from "../access/identity-provider.ts";
import { type IssuerEndpoints, IssuerUnavailable } from "../access/issuer-keys.ts";
import { askIssuer, problemOf, readIssuer } from "../access/issuer-request.ts";
import { isSame } from "./login-cookie.ts";
import { LoginProblem } from "./login-problem.ts";

/** How this server is known at the provider. */
export interface OidcClient {
  id: string;
  /** Undefined for a public client, which proves by PKCE alone that it began the login. */
  secret?: string | undefined;
  /** What is asked for, such as `openid profile email groups`. */
  scopes: string;
}

export interface SentCode {
  code: string;
  redirectUri: string;
  verifier: string;
  nonce: string;
}

/** Claims of a user, and until when they hold. */
export interface LoginClaims {
  claims: Record<string, unknown>;
  /** Unix milliseconds at which the ID token expires. */
  expiresAtMs: number;
}

/**
 * The claims of the user who signed in. Rejects with LoginProblem, with Refusal 401 for an ID token that is not right,
 * and with Refusal 503 where the provider gives no keys.
 */
export async function exchangeCode(
  provider: IdentityProvider,
  client: OidcClient,
  sent: SentCode,
): Promise<LoginClaims> {
  const endpoints = await unlessAway(provider.endpoints());
  const { idToken, accessToken } = await requestTokens(endpoints, client, sent);
  const { claims, expiresAtMs } = await provider.verify(idToken, [client.id]);
  if (typeof claims.nonce !== "string" || !isSame(claims.nonce, sent.nonce))
    throw new LoginProblem("token", "the ID token has another nonce: it is not of this login");
  if (claims.azp !== undefined && claims.azp !== client.id)
    throw new LoginProblem("token", "the ID token was given to another client, which azp names");
  if (provider.namesGroups(claims) || endpoints.userInfo === undefined || accessToken === undefined)
    return { claims, expiresAtMs };
  const more = await requestUserInfo(endpoints.userInfo, accessToken);
  if (more.sub !== claims.sub)
    throw new LoginProblem("token", "the userinfo endpoint speaks of another user than the ID token");
  return { claims: { ...more, ...claims }, expiresAtMs };
}

/** The provider's answer, or LoginProblem where it gave none. */
export function unlessAway<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    if (error instanceof IssuerUnavailable) throw new LoginProblem("issuer", error.message);
    throw error;
  });
}

async function requestTokens(
  { token: address, takesSecretInBody }: IssuerEndpoints,
  client: OidcClient,
  { code, redirectUri, verifier }: SentCode,
): Promise<{ idToken: string; accessToken: string | undefined }> {
  if (address === undefined)
    throw new LoginProblem("issuer", "the identity provider names no token endpoint that is safe");
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
  });
  const headers: Record<string, string> = {};
  if (client.secret === undefined) body.set("client_id", client.id);
  else if (takesSecretInBody) {
    body.set("client_id", client.id);
    body.set("client_secret", client.secret);
  } else headers.Authorization = basicCredentials(client.id, client.secret);
  const { status, value } = await askIssuer(address, { method: "POST", body, headers }).catch(
    (error: unknown) => {
      throw new LoginProblem("issuer", problemOf(error));
    },
  );
  if (status !== 200) throw problemOfAnswer(address, status, value.error);
  const { id_token: idToken, access_token: accessToken } = value;
  if (typeof idToken !== "string") throw new LoginProblem("issuer", `${address} gave no ID token`);
  return { idToken, accessToken: typeof accessToken === "string" ? accessToken : undefined };
}

/** Of what the provider answers, only a code is shown: the rest could hold what was sent. */
function problemOfAnswer(address: string, status: number, error: unknown): LoginProblem {
  const code = typeof error === "string" && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : "";
  const isCode = code === " invalid_grant";
  return new LoginProblem(isCode ? "code" : "issuer", `${address} answered ${status}${code}`);
}

/** Id and secret are form-encoded first (RFC 6749, section 2.3.1). */
function basicCredentials(id: string, secret: string): string {
  const pair = [id, secret].map((text) => new URLSearchParams({ a: text }).toString().slice(2)).join(":");
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

async function requestUserInfo(address: string, accessToken: string): Promise<Record<string, unknown>> {
  try {
    return await readIssuer(address, { headers: { Authorization: `Bearer ${accessToken}` } });
  } catch (error) {
    throw new LoginProblem("issuer", problemOf(error));
  }
}
