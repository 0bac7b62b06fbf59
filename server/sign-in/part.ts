/** The sign-in part of the server: sessions of browsers, and logins at the identity provider. */

import type { AccessRules } from "../access/authentication.ts";
import type { Part } from "../api/part.ts";
import type { ControlPart } from "../control/part.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { StoragePart } from "../storage/part.ts";
import { Refusal } from "../throttle/refusal.ts";
import type { OidcClient } from "./code-exchange.ts";
import { sessionsSweptMs } from "./limits.ts";
import { Login } from "./login.ts";
import { loginRoutes } from "./login-routes.ts";
import type { Credential } from "./session.ts";
import { sessionRoutes } from "./session-routes.ts";
import { Sessions } from "./sessions.ts";
import { SignIn } from "./sign-in.ts";

export interface SignInSettings {
  /** How this server is known at the identity provider. Without it, people sign in with tokens alone. */
  oidcClient?: OidcClient;
  log: (level: "warn" | "error", message: string) => void;
}

export interface SignInPart extends Part {
  /** The rules of the control part, which know sessions, too. */
  accessRules: AccessRules;
}

/** `publicUrl`: where people reach the server; undefined: where it listens. */
export function signInPart(
  { oidcClient, log }: SignInSettings,
  publicUrl: string | undefined,
  { state }: Pick<StoragePart, "state">,
  control: ControlPart,
  metrics: Metrics,
): SignInPart {
  const { accessRules: rules, tokens, identityProvider: provider, memberOf, audit } = control;
  const now = Date.now;
  const sessions = new Sessions({ state, now, callerOf: (credential) => callerOf(control, credential) });
  const signIn = new SignIn({ sessions, audit, metrics });
  const access: AccessRules = {
    ...rules,
    get anonymousReads() {
      return rules.anonymousReads;
    },
    publicUrl,
    callerOfSession: (secret) => sessions.find(secret)?.caller ?? null,
  };
  const elapsed = () => performance.now();
  const login =
    provider &&
    oidcClient &&
    new Login({
      provider,
      client: oidcClient,
      place: access,
      signIn,
      memberOf,
      now,
      elapsed,
      log: (message) => log("warn", message),
    });
  const sweep = () =>
    sessions.sweep().catch((error: Error) => log("error", `sessions are not kept: ${error.message}`));
  let timer: NodeJS.Timeout | undefined;
  return {
    accessRules: access,
    routes: [
      ...sessionRoutes({ access, tokens, provider, memberOf, sessions, signIn, login, now }),
      ...loginRoutes(login),
    ],
    run: () => {
      timer = setInterval(sweep, sessionsSweptMs);
    },
    close: async () => {
      clearInterval(timer);
      await sweep();
    },
  };
}

/**
 * The caller that a credential stands for now; null where the token is revoked or has expired, the provider is another
 * one, or the user is in no group any more.
 */
function callerOf(
  { tokens, identityProvider, memberOf }: Pick<ControlPart, "tokens" | "identityProvider" | "memberOf">,
  credential: Credential,
) {
  if (credential.kind === "token") return tokens.callerOfId(credential.tokenId);
  if (credential.provider !== identityProvider?.settings) return null;
  const { email, ...user } = credential.user;
  try {
    return memberOf({ ...user, ...(email === undefined ? {} : { email }) });
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
