/**
 * The keys that an identity provider signs with: found by its discovery document (OpenID Connect Discovery 1.0) and
 * cached. They are fetched again when they are old or a token names an unknown one, but never more often than the
 * minimum pause allows.
 */

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import {
  issuerAnswerBytesMax,
  issuerAnswerMsMax,
  issuerKeysFreshMs,
  issuerKeysKeptMs,
  issuerPauseMs,
} from "./limits.ts";

export interface IssuerKeysOptions {
  /** `https://login.example.com/realms/shop`, as it stands in `iss`. */
  issuer: string;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  log: (message: string) => void;
  /** Timeout of one request to the provider. */
  answerMsMax?: number;
}

/** The provider gave no keys, and no cached ones are fresh enough. */
export class IssuerUnavailable extends Error {}

const noKeys: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });

/** The cached keys of one identity provider. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: JWTVerifyGetKey = noKeys;
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
    if (this.#ageMs() > issuerKeysFreshMs) {
      const fetching = this.#refresh();
      // During an outage the cached keys serve every caller without a wait.
      if (!this.#hasKeys() || this.#problem === null) await fetching;
    }
    try {
      return await this.#cachedKeys()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The key may be newer than the cached ones.
      await this.#refresh();
      return this.#cachedKeys()(header, token);
    }
  };

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
    const { issuer, elapsed, log } = this.#options;
    try {
      const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const { issuer: named, jwks_uri: address } = await this.#read(discovery);
      if (named !== issuer) throw new Error(`${discovery} names another issuer, ${JSON.stringify(named)}`);
      if (typeof address !== "string" || !isSafe(address, issuer)) {
        throw new Error(`${discovery} has no jwks_uri that begins with https:`);
      }
      this.#keys = createLocalJWKSet((await this.#read(address)) as unknown as JSONWebKeySet);
      this.#keysAtMs = elapsed();
      this.#problem = null;
    } catch (error) {
      this.#problem = problemOf(error);
      log(`the identity provider ${issuer} gave no keys: ${this.#problem}`);
    }
  }

  async #read(address: string): Promise<Record<string, unknown>> {
    const response = await fetch(address, {
      redirect: "error",
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(this.#options.answerMsMax ?? issuerAnswerMsMax),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`${address} answered ${response.status}`);
    }
    const value: unknown = JSON.parse(await textOf(response, address));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    throw new Error(`${address} is no JSON object`);
  }
}

/** True for HTTPS, which nobody on the way can change; HTTP only where the issuer itself uses it. */
function isSafe(address: string, issuer: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "https:" || (url?.protocol === "http:" && issuer.startsWith("http:"));
}

async function textOf(response: Response, address: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > issuerAnswerBytesMax)
      throw new Error(`${address} has more than ${issuerAnswerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The message of fetch is only "fetch failed"; its cause holds the reason. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message} (${cause.message || cause.name})` : message;
}
