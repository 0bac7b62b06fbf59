/** Logins at the identity provider: the authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 7636). */

import type { IdentityProvider } from "../access/identity-provider.ts";
import { type ServerPlace, transportOf } from "../access/request-origin.ts";
import { findCookie } from "../access/session-cookie.ts";
import { Reply, type ServerRequest } from "../api/route.ts";
import type { Caller, User } from "../model/caller.ts";
import { exchangeCode, type OidcClient, unlessAway } from "./code-exchange.ts";
import {
  loginCookie,
  loginCookieName,
  removalOf,
  requireSafeTransport,
  type SafeTransport,
  sentSecret,
  sessionCookie,
} from "./cookies.ts";
import { exchangesMax, loginMsMax, usedLoginsMax } from "./limits.ts";
import { challengeOf, isSame, LoginCookies, type PendingLogin } from "./login-cookie.ts";
import { LoginProblem, toLoginProblem } from "./login-problem.ts";
import { type BegunSession, credentialOf } from "./session.ts";
import type { SignIn } from "./sign-in.ts";

export interface LoginOptions {
  provider: IdentityProvider;
  client: OidcClient;
  place: ServerPlace;
  signIn: SignIn;
  /** Makes the caller for a user. Throws Refusal 403 for a user who is in no group. */
  memberOf(user: User & { name: string }): Caller;
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  log: (message: string) => void;
}

export const loginPath = "/api/v1/session/oidc/start";
export const callbackPath = "/api/v1/session/oidc/callback";

export class Login {
  readonly #options: LoginOptions;
  readonly #cookies = new LoginCookies();
  /** When logins end that were used, by their state; the oldest first. */
  readonly #used = new Map<string, number>();
  #exchanging = 0;

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** Sends the browser to the provider. A problem sends it to the page for signing in, with a code. */
  start(request: ServerRequest, returnPath: string | undefined): Promise<Reply> {
    return this.#orToSignInPage(request, async () => {
      const transport = this.#transportOf(request);
      const { provider, client, elapsed } = this.#options;
      const { authorization } = await unlessAway(provider.endpoints());
      if (authorization === undefined)
        throw new LoginProblem(
          "issuer",
          "the identity provider names no authorization endpoint that is safe",
        );
      const endsAtMs = elapsed() + loginMsMax;
      const login = this.#cookies.make(returnPath ?? `${this.#basePath()}/`, endsAtMs);
      const url = new URL(authorization);
      const parameters = {
        response_type: "code",
        client_id: client.id,
        redirect_uri: this.#redirectUri(request, transport),
        scope: client.scopes,
        state: login.state,
        nonce: login.nonce,
        code_challenge: challengeOf(login.verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return redirect(url.href, [loginCookie(login.cookie, transport, loginMsMax)]);
    });
  }

  /** Takes what the provider sends the browser back with, and begins a session. */
  finish(request: ServerRequest): Promise<Reply> {
    const { signIn, now } = this.#options;
    return this.#orToSignInPage(request, async () => {
      const transport = this.#transportOf(request);
      const login = this.#takeLogin(request);
      const begun = await signIn.count("login", () => this.#begin(request, transport, login));
      return redirect(login.returnPath, [
        sessionCookie(begun, transport, now()),
        ...removalOf(loginCookieName),
      ]);
    });
  }

  /** Where to sign out at the provider; undefined where it offers none, or does not answer. */
  async logoutUrl(request: ServerRequest): Promise<string | undefined> {
    const transport = transportOf(request, this.#options.place);
    const { endSession } = await this.#options.provider.endpoints().catch(() => ({ endSession: undefined }));
    if (endSession === undefined || transport === "plain") return undefined;
    const url = new URL(endSession);
    url.searchParams.set("client_id", this.#options.client.id);
    url.searchParams.set("post_logout_redirect_uri", `${this.#ownUrl(request, transport)}/signin`);
    return url.href;
  }

  async #begin(request: ServerRequest, transport: SafeTransport, login: PendingLogin): Promise<BegunSession> {
    const { provider, memberOf, signIn } = this.#options;
    const { claims, expiresAtMs } = await this.#exchange(request, transport, login);
    const identity = provider.identityOf(claims);
    const credential = credentialOf(identity, provider.settings, true);
    return signIn.begin(memberOf(identity), credential, expiresAtMs, sentSecret(request));
  }

  /** The login that the request answers, once. Throws LoginProblem. */
  #takeLogin(request: ServerRequest): PendingLogin {
    const cookie = findCookie(request, loginCookieName);
    const login = cookie === null ? null : this.#cookies.read(cookie.value);
    const nowMs = this.#options.elapsed();
    if (login === null || !isSame(login.state, request.query.get("state") ?? ""))
      throw new LoginProblem("state", "the login is not one that this browser began");
    if (login.endsAtMs <= nowMs) throw new LoginProblem("state", "the login took too long");
    if (this.#used.has(login.state)) throw new LoginProblem("state", "the login was used already");
    for (const [state, endsAtMs] of this.#used) {
      if (endsAtMs > nowMs && this.#used.size < usedLoginsMax) break;
      this.#used.delete(state);
    }
    this.#used.set(login.state, login.endsAtMs);
    return login;
  }

  async #exchange(request: ServerRequest, transport: SafeTransport, { verifier, nonce }: PendingLogin) {
    const { provider, client } = this.#options;
    const { query } = request;
    const error = query.get("error");
    if (error !== null) throw problemOfError(error);
    const issuer = query.get("iss");
    // Otherwise the code could be another issuer's, which would be handed over (RFC 9207).
    if (issuer !== null && issuer !== provider.issuer)
      throw new LoginProblem("token", "the answer is another issuer's");
    const code = query.get("code");
    if (code === null || code === "") throw new LoginProblem("code", "the answer has no code");
    if (this.#exchanging >= exchangesMax) throw new LoginProblem("busy", "too many users sign in at once");
    this.#exchanging++;
    try {
      const redirectUri = this.#redirectUri(request, transport);
      return await exchangeCode(provider, client, { code, redirectUri, verifier, nonce });
    } finally {
      this.#exchanging--;
    }
  }

  async #orToSignInPage(request: ServerRequest, answer: () => Promise<Reply>): Promise<Reply> {
    try {
      return await answer();
    } catch (error) {
      const problem = toLoginProblem(error);
      if (problem === undefined) throw error;
      if (problem.code === "issuer") this.#options.log(`a login failed: ${problem.message}`);
      const isLoginOver = request.path === callbackPath;
      const { status, headers, body, cookies } = redirect(
        `${this.#basePath()}/signin?error=${problem.code}`,
        isLoginOver ? removalOf(loginCookieName) : [],
      );
      return new Reply({ status, headers: headers!, body, cookies: cookies!, refusal: problem.refusal });
    }
  }

  #transportOf(request: ServerRequest): SafeTransport {
    try {
      return requireSafeTransport(request, this.#options.place);
    } catch (error) {
      throw new LoginProblem("transport", (error as Error).message);
    }
  }

  #redirectUri(request: ServerRequest, transport: SafeTransport): string {
    return this.#ownUrl(request, transport) + callbackPath;
  }

  /** Where the browser reaches the server. */
  #ownUrl({ headers }: ServerRequest, transport: SafeTransport): string {
    const { publicUrl } = this.#options.place;
    const host = headers.get("host")!;
    if (transport === "loopback") return `http://${host}`;
    return publicUrl?.startsWith("https:") ? publicUrl : `https://${host}`;
  }

  /** The path under which the server stands at its public URL; mostly empty. */
  #basePath(): string {
    const { publicUrl } = this.#options.place;
    return publicUrl === undefined ? "" : new URL(publicUrl).pathname.replace(/\/$/, "");
  }
}

function redirect(location: string, cookies: readonly string[]): Reply {
  return new Reply({ status: 303, headers: { Location: location }, body: "", cookies });
}

/** The error that the provider sent the browser back with (RFC 6749, section 4.1.2.1). Its text is not kept. */
function problemOfError(error: string): LoginProblem {
  const code = /^[a-z_]{1,40}$/.test(error) ? error : "an unknown error";
  const isDenied = ["access_denied", "login_required", "consent_required", "interaction_required"].includes(
    error,
  );
  return new LoginProblem(isDenied ? "denied" : "issuer", `the identity provider says ${code}`);
}
