/**
 * The keys that an identity provider signs with, and where it answers what: found by its discovery document (OpenID
 * Connect Discovery 1.0) and cached. They are fetched again when they are old or a token names an unknown one, but never more often than the
 * minimum pause allows.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { isSafe, problemOf, readIssuer } from "./issuer-request.ts";
import { issuerKeysFreshMs, issuerKeysKeptMs, issuerPauseMs } from "./limits.ts";

export interface IssuerKeysOptions {
  /** `https://login.example.com/realms/shop`, as it stands in `iss`. */
  issuer: string;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  log: (message: string) => void;
  /** Timeout of one request to the provider. */
  answerMsMax?: number;
}

/** Addresses of a provider; absent: it offers no such thing, or at an address that anybody could change on the way. */
export interface IssuerEndpoints {
  authorization?: string;
  token?: string;
  userInfo?: string;
  endSession?: string;
  /** True where it takes a client's secret in the body of a request alone. */
  takesSecretInBody: boolean;
}

/** The provider gave no keys, and no cached ones are fresh enough. */
export class IssuerUnavailable extends Error {}

const noKeys: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });

/** The cached keys of one identity provider. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: JWTVerifyGetKey = noKeys;
  #endpoints: IssuerEndpoints = { takesSecretInBody: false };
  #keysAtMs = Number.NEGATIVE_INFINITY;
  #fetchedAtMs = Number.NEGATIVE_INFINITY;
  #fetching: Promise<void> | undefined;
  /** Why the last fetch failed; null where it succeeded. */
  #problem: string | null = null;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The key that a token names. Rejects with IssuerUnavailable, or an error of jose's where there is no such key. */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    await this.#freshen();
    try {
      return await this.#cachedKeys()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The key may be newer than the cached ones.
      await this.#refresh();
      return this.#cachedKeys()(header, token);
    }
  };

  /** Where the provider answers. Rejects with IssuerUnavailable. */
  async endpoints(): Promise<IssuerEndpoints> {
    await this.#freshen();
    this.#cachedKeys();
    return this.#endpoints;
  }

  async #freshen(): Promise<void> {
    if (this.#ageMs() <= issuerKeysFreshMs) return;
    const fetching = this.#refresh();
    // During an outage the cached keys serve every caller without a wait.
    if (!this.#hasKeys() || this.#problem === null) await fetching;
  }

  #cachedKeys(): JWTVerifyGetKey {
    if (this.#hasKeys()) return this.#keys;
    throw new IssuerUnavailable(
      `the identity provider gave no keys: ${this.#problem ?? "the last are too old"}`,
    );
  }

  #hasKeys(): boolean {
    return this.#ageMs() <= issuerKeysKeptMs;
  }

  #ageMs(): number {
    return this.#options.elapsed() - this.#keysAtMs;
  }

  /** Fetches the keys unless the pause is still running. All who call meanwhile wait for the same fetch. */
  #refresh(): Promise<void> {
    const nowMs = this.#options.elapsed();
    if (this.#fetching === undefined && nowMs - this.#fetchedAtMs >= issuerPauseMs) {
      this.#fetchedAtMs = nowMs;
      this.#fetching = this.#fetchKeys().finally(() => {
        this.#fetching = undefined;
      });
    }
    return this.#fetching ?? Promise.resolve();
  }

  async #fetchKeys(): Promise<void> {
    const { issuer, elapsed, log, answerMsMax } = this.#options;
    try {
      const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const found = await readIssuer(discovery, { answerMsMax });
      if (found.issuer !== issuer)
        throw new Error(`${discovery} names another issuer, ${JSON.stringify(found.issuer)}`);
      const address = safeAddress(found.jwks_uri, issuer);
      if (address === undefined) throw new Error(`${discovery} has no jwks_uri that begins with https:`);
      const keys = await readIssuer(address, { answerMsMax });
      this.#keys = createLocalJWKSet(keys as unknown as JSONWebKeySet);
      this.#endpoints = endpointsOf(found, issuer);
      this.#keysAtMs = elapsed();
      this.#problem = null;
    } catch (error) {
      this.#problem = problemOf(error);
      log(`the identity provider ${issuer} gave no keys: ${this.#problem}`);
    }
  }
}

function endpointsOf(found: Record<string, unknown>, issuer: string): IssuerEndpoints {
  const named = {
    authorization: safeAddress(found.authorization_endpoint, issuer),
    token: safeAddress(found.token_endpoint, issuer),
    userInfo: safeAddress(found.userinfo_endpoint, issuer),
    endSession: safeAddress(found.end_session_endpoint, issuer),
  };
  const offered = Object.entries(named).filter(([, address]) => address !== undefined);
  const methods = found.token_endpoint_auth_methods_supported;
  // Without a list, a client sends its secret in the header (OpenID Connect Discovery 1.0, section 3).
  const takesSecretInBody =
    Array.isArray(methods) &&
    methods.includes("client_secret_post") &&
    !methods.includes("client_secret_basic");
  return { ...Object.fromEntries(offered), takesSecretInBody };
}

function safeAddress(value: unknown, issuer: string): string | undefined {
  return typeof value === "string" && isSafe(value, issuer) ? value : undefined;
}
