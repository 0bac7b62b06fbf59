/**
 * The keys that an identity provider signs with: found by its discovery document (OpenID Connect Discovery 1.0), kept, asked for
 * again when they are old or when a token names another one, but never more often than the pause allows.
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
  now: () => number;
  log: (message: string) => void;
  /** Time for one answer. */
  answerMsMax?: number;
}

/** The provider could not be asked, and no keys of it are at hand. */
export class IssuerUnavailable extends Error {}

const noKeys: JWTVerifyGetKey = createLocalJWKSet({ keys: [] });

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  #keys: JWTVerifyGetKey = noKeys;
  #keysAtMs = Number.NEGATIVE_INFINITY;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | undefined;
  /** Why the last question had no answer; null where it had one. */
  #problem: string | null = null;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** The key that a token names. Rejects with IssuerUnavailable, or an error of jose's where there is no such key. */
  readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    if (this.#ageMs() > issuerKeysFreshMs) {
      const asking = this.#ask();
      // Through an outage the keys that are at hand do, without a wait for each who comes.
      if (!this.#hasKeys() || this.#problem === null) await asking;
    }
    try {
      return await this.#known()(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // It may be newer than the keys.
      await this.#ask();
      return this.#known()(header, token);
    }
  };

  #known(): JWTVerifyGetKey {
    if (this.#hasKeys()) return this.#keys;
    throw new IssuerUnavailable(
      `the identity provider gave no keys: ${this.#problem ?? "the last are too old"}`,
    );
  }

  #hasKeys(): boolean {
    return this.#ageMs() <= issuerKeysKeptMs;
  }

  #ageMs(): number {
    return this.#options.now() - this.#keysAtMs;
  }

  /** Resolves when the provider was asked or need not be; all who come meanwhile wait for the same answer. */
  #ask(): Promise<void> {
    const nowMs = this.#options.now();
    if (this.#asking === undefined && nowMs - this.#askedAtMs >= issuerPauseMs) {
      this.#askedAtMs = nowMs;
      this.#asking = this.#fetchKeys().finally(() => {
        this.#asking = undefined;
      });
    }
    return this.#asking ?? Promise.resolve();
  }

  async #fetchKeys(): Promise<void> {
    const { issuer, now, log } = this.#options;
    try {
      const discovery = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const { issuer: named, jwks_uri: address } = await this.#read(discovery);
      if (named !== issuer) throw new Error(`${discovery} names another issuer, ${JSON.stringify(named)}`);
      if (typeof address !== "string" || !isSafe(address, issuer)) {
        throw new Error(`${discovery} has no jwks_uri that begins with https:`);
      }
      this.#keys = createLocalJWKSet((await this.#read(address)) as unknown as JSONWebKeySet);
      this.#keysAtMs = now();
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

/** Keys come by a connection that nobody on the way can change, or from this machine, as the issuer does. */
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

/** What fetch says is but "fetch failed"; its cause tells why. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error ? `${message} (${cause.message || cause.name})` : message;
}
