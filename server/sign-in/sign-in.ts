/** Signing in and out: who proves what, the session that follows, and its traces in the audit log and the metrics. */

import type { StateChange } from "../../engine/index.ts";
import type { Audit } from "../control/audit.ts";
import type { Counter, Metrics } from "../metrics/metrics.ts";
import { type Caller, rateLimitKeyOf } from "../model/caller.ts";
import { RateLimiter } from "../throttle/rate-limiter.ts";
import { Refusal } from "../throttle/refusal.ts";
import { signInsBurstMax, signInsPerSecondMax } from "./limits.ts";
import type { BegunSession, Credential, Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";

export interface SignInOptions {
  sessions: Sessions;
  audit: Audit;
  metrics: Metrics;
}

/** How somebody proves who they are: a token of this server, a token of a user, or a login at the identity provider. */
export type Proof = "token" | "user token" | "login";

export class SignIn {
  readonly #options: SignInOptions;
  readonly #outcomes: Counter;
  readonly #rate = new RateLimiter({
    perSecond: signInsPerSecondMax,
    burst: signInsBurstMax,
    what: "sign-ins",
    elapsed: () => performance.now(),
  });

  constructor(options: SignInOptions) {
    this.#options = options;
    const { metrics, sessions } = options;
    this.#outcomes = metrics.counter("svc_sign_ins_total", "Sign-ins by what was shown, and outcome.");
    metrics.gauge("svc_sessions", "Sessions of browsers that are kept.", () => sessions.size);
  }

  /** Counts the outcome of a sign-in by its status: accepted, refused, or failed by no fault of the sender's. */
  async count<T>(proof: Proof, signIn: () => Promise<T>): Promise<T> {
    const add = (outcome: string) => this.#outcomes.add(1, { by: proof, outcome });
    try {
      const result = await signIn();
      add("accepted");
      return result;
    } catch (error) {
      add(error instanceof Refusal && error.status < 500 ? "refused" : "failed");
      throw error;
    }
  }

  /** Begins a session of the caller in place of an earlier one of the same browser. Throws Refusal 403 or 429. */
  async begin(
    caller: Caller,
    credential: Credential,
    tokenEndsAtMs: number | null,
    earlier: string | undefined,
  ): Promise<BegunSession> {
    if (caller.role === "ingest")
      throw new Refusal(403, "a token of role ingest sends rows: nobody signs in with it");
    this.#rate.spend(rateLimitKeyOf(caller));
    const { sessions } = this.#options;
    const begun = await sessions.open(credential, tokenEndsAtMs, this.#auditing("created", caller));
    if (earlier !== undefined) await this.end(earlier, caller);
    return begun;
  }

  /** Ends a session; undefined where there was none. `by`: who ends it, if somebody else than its holder is known. */
  end(secret: string, by?: Caller): Promise<Session | undefined> {
    return this.#options.sessions.end(secret, (session) =>
      this.#auditing("deleted", by ?? holderAsCaller(session)),
    );
  }

  #auditing(action: "created" | "deleted", by: Caller) {
    return (
      id: string,
      changes: readonly StateChange[],
      write: (changes: readonly StateChange[]) => Promise<void>,
    ) => this.#options.audit.commit({ by, action, resource: "session", id, title: id }, changes, write);
  }
}

/** Whose session it is, for the audit log. What the holder may do does not count there. */
function holderAsCaller({ credential }: Session): Caller {
  const nobody = { role: "anonymous", groups: null, environment: null } as const;
  if (credential.kind === "token")
    return { ...nobody, tokenId: credential.tokenId, name: credential.tokenId };
  const { name, subject, claimed, email } = credential.user;
  const user = { subject, claimed, ...(email === undefined ? {} : { email }) };
  return { ...nobody, tokenId: null, name, user };
}
