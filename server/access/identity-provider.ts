/** An identity provider (OpenID Connect): verifies the tokens that it signed and reads their users. */

import { errors, type JWTPayload, jwtVerify } from "jose";
import type { User } from "../model/caller.ts";
import { makeUnauthorized, type Refusal, tryLater } from "../throttle/refusal.ts";
import {
  type IssuerEndpoints,
  IssuerKeys,
  type IssuerKeysOptions,
  IssuerUnavailable,
} from "./issuer-keys.ts";
import { clockSkewSeconds, identifyingMax } from "./limits.ts";

export interface IdentityProviderOptions extends IssuerKeysOptions {
  /** The claim `aud` of a token must hold one of these. */
  audiences: readonly string[];
  /** The claim that lists the user's groups. Dots lead to nested members, as in `realm_access.roles`. */
  groupsClaim: string;
  /** Unix milliseconds, by which tokens expire. */
  now: () => number;
}

/** A user with a display name. */
export interface Identity extends User {
  name: string;
}

/** A token whose signature, issuer, audience and times are right. */
export interface VerifiedToken {
  claims: JWTPayload;
  /** Unix milliseconds at which it expires. */
  expiresAtMs: number;
}

/** Accepted signature algorithms. All sign with a key that only the provider has: no `none`, no shared secret. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Longest `sub`, in characters (OpenID Connect Core 1.0, section 2). Other names of a user may be as long. */
const userNameLengthMax = 255;

export class IdentityProvider {
  readonly #options: IdentityProviderOptions;
  readonly #keys: IssuerKeys;
  #identifying = 0;

  constructor(options: IdentityProviderOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
  }

  get issuer(): string {
    return this.#options.issuer;
  }

  /** A text that is another one once tokens are judged, or their users found, in another way. */
  get settings(): string {
    const { issuer, audiences, groupsClaim } = this.#options;
    return JSON.stringify([issuer, [...audiences].sort(), groupsClaim]);
  }

  /**
   * Verifies a token and returns its user. Rejects with Refusal 401, or with 503 where the provider gives no keys or
   * `identifyingMax` tokens are being verified already.
   */
  async identify(token: string): Promise<Identity> {
    return this.identityOf((await this.verify(token)).claims);
  }

  /** Verifies a token, which must be meant for one of the audiences. Rejects as `identify` does. */
  async verify(token: string, audiences = this.#options.audiences): Promise<VerifiedToken> {
    if (this.#identifying >= identifyingMax) throw tryLater("too many users sign in at once; try again", 1);
    this.#identifying++;
    try {
      const claims = await this.#verify(token, audiences);
      return { claims, expiresAtMs: claims.exp! * 1000 };
    } finally {
      this.#identifying--;
    }
  }

  /** The user whom verified claims name. Throws Refusal 401 where `sub` is no name. */
  identityOf(claims: JWTPayload): Identity {
    return identityOf(claims, this.#options.groupsClaim);
  }

  /** True where the claims say which groups the user is in. */
  namesGroups(claims: JWTPayload): boolean {
    return claimOf(claims, this.#options.groupsClaim) !== undefined;
  }

  /** Where the provider answers. Rejects with IssuerUnavailable. */
  endpoints(): Promise<IssuerEndpoints> {
    return this.#keys.endpoints();
  }

  async #verify(token: string, audiences: readonly string[]): Promise<JWTPayload> {
    const { issuer, now } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#keys.keyOf, {
        algorithms,
        issuer,
        audience: [...audiences],
        clockTolerance: clockSkewSeconds,
        currentDate: new Date(now()),
        requiredClaims: ["sub", "exp"],
      });
      return payload;
    } catch (error) {
      throw refusalOf(error);
    }
  }
}

const notAccepted = "the token is not one that this server takes";

function refusalOf(error: unknown): Refusal {
  if (error instanceof IssuerUnavailable) {
    return tryLater("the identity provider cannot be asked who you are just now; try again", 5);
  }
  // The token's signature is valid, so the sender may learn the reason.
  if (error instanceof errors.JWTExpired) return makeUnauthorized("the token has expired: sign in again");
  const reason = error instanceof Error ? error.message : String(error);
  return makeUnauthorized(notAccepted, `${notAccepted}: ${reason}`);
}

/** The user of a verified token. Throws Refusal 401 where `sub` is no name. */
function identityOf(payload: JWTPayload, groupsClaim: string): Identity {
  const subject = textOf(payload.sub);
  if (subject === undefined) throw makeUnauthorized(notAccepted, `${notAccepted}: its sub is no name`);
  const email = payload.email_verified === false ? undefined : textOf(payload.email);
  const name = email ?? textOf(payload.preferred_username) ?? textOf(payload.name) ?? subject;
  return { subject, name, ...(email === undefined ? {} : { email }), claimed: listOf(payload, groupsClaim) };
}

/** Undefined for a value that is no text, blank, or longer than `userNameLengthMax`. */
function textOf(value: unknown): string | undefined {
  const isText = typeof value === "string" && /\S/.test(value) && value.length <= userNameLengthMax;
  return isText ? value.toWellFormed() : undefined;
}

/** The texts of a claim that is a list, or a text; empty where the claim is missing or something else. */
function listOf(payload: JWTPayload, claim: string): string[] {
  const value = claimOf(payload, claim);
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function claimOf(payload: JWTPayload, claim: string): unknown {
  return Object.hasOwn(payload, claim) ? payload[claim] : memberAt(payload, claim.split("."));
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, part) => {
    const isObject = typeof at === "object" && at !== null && Object.hasOwn(at, part);
    return isObject ? (at as Record<string, unknown>)[part] : undefined;
  }, value);
}
