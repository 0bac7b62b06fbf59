/** Why a login at the identity provider did not end with a session. */

import { makeUnauthorized, Refusal, tryLater } from "../throttle/refusal.ts";

/**
 * What the page at `/signin` is told: "state": the login is unknown, over, or was used already; "denied": the provider
 * or the user said no; "code", "token": what the provider gave is not right; "group": the user is in no group here;
 * "issuer": the provider does not answer as it should; "transport": not over HTTPS; "busy": too many at once.
 */
export type LoginError = "state" | "denied" | "code" | "token" | "group" | "issuer" | "transport" | "busy";

/** The message is for the operator. */
export class LoginProblem extends Error {
  readonly code: LoginError;

  constructor(code: LoginError, message: string) {
    super(message);
    this.code = code;
  }

  /** The refusal that the problem stands for; 503 where the sender is not at fault. */
  get refusal(): Refusal {
    if (this.code === "issuer" || this.code === "busy") return tryLater(this.message, 5);
    if (this.code === "group" || this.code === "transport") return new Refusal(403, this.message);
    return makeUnauthorized(this.message);
  }
}

/** The problem of a login that failed; undefined for an error that nobody expected. */
export function toLoginProblem(error: unknown): LoginProblem | undefined {
  if (error instanceof LoginProblem) return error;
  if (!(error instanceof Refusal)) return undefined;
  const { status, reason } = error;
  if (status === 401) return new LoginProblem("token", reason);
  if (status === 403) return new LoginProblem("group", reason);
  if (status === 429) return new LoginProblem("busy", reason);
  return new LoginProblem("issuer", reason);
}
