/** Users of an identity provider (OpenID Connect): who bears a token that it signed. */

import { errors, type JWTPayload, jwtVerify } from "jose";
import { type Refusal, tryLater, unauthorized } from "../limits/refusal.ts";
import type { User } from "../model/caller.ts";
import { IssuerKeys, type IssuerKeysOptions, IssuerUnavailable } from "./issuer-keys.ts";
import { clockSkewSeconds, identifyingMax } from "./limits.ts";

export interface IdentityProviderOptions extends IssuerKeysOptions {
  /** One of them must be in `aud`. */
  audiences: readonly string[];
  /** The claim that lists the user's groups; with dots, a member of a member: `realm_access.roles`. */
  groupsClaim: string;
}

/** A user, and what people call them. */
export interface Identity extends User {
  name: string;
}

/** Signatures by a key that the provider alone has: never `none`, never a secret that both sides know. */
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

/** Of `sub` (OpenID Connect Core 1.0, section 2), and so of what else names a user. */
const nameLengthMax = 255;

export class IdentityProvider {
  readonly #options: IdentityProviderOptions;
  readonly #keys: IssuerKeys;
  #identifying = 0;

  constructor(options: IdentityProviderOptions) {
    this.#options = options;
    this.#keys = new IssuerKeys(options);
  }

  /** Rejects with Refusal 401, or 503 where the provider cannot be asked. */
  async identify(token: string): Promise<Identity> {
    if (this.#identifying >= identifyingMax) throw tryLater("too many users sign in at once; try again", 1);
    this.#identifying++;
    try {
      return identityOf(await this.#verified(token), this.#options.groupsClaim);
    } finally {
      this.#identifying--;
    }
  }

  async #verified(token: string): Promise<JWTPayload> {
    const { issuer, audiences, now } = this.#options;
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

const notTaken = "the token is not one that this server takes";

function refusalOf(error: unknown): Refusal {
  if (error instanceof IssuerUnavailable) {
    return tryLater("the identity provider cannot be asked who you are just now; try again", 5);
  }
  // Its signature is right: who sent it may know.
  if (error instanceof errors.JWTExpired) return unauthorized("the token has expired: sign in again");
  const reason = error instanceof Error ? error.message : String(error);
  return unauthorized(notTaken, `${notTaken}: ${reason}`);
}

/** Throws Refusal 401 where the token names nobody. */
function identityOf(payload: JWTPayload, groupsClaim: string): Identity {
  const subject = textOf(payload.sub);
  if (subject === undefined) throw unauthorized(notTaken, `${notTaken}: its sub is no name`);
  const email = payload.email_verified === false ? undefined : textOf(payload.email);
  const name = email ?? textOf(payload.preferred_username) ?? textOf(payload.name) ?? subject;
  return { subject, name, ...(email === undefined ? {} : { email }), claimed: listOf(payload, groupsClaim) };
}

/** Undefined for what is no text, blank, or longer than any name. */
function textOf(value: unknown): string | undefined {
  const isText = typeof value === "string" && /\S/.test(value) && value.length <= nameLengthMax;
  return isText ? value.toWellFormed() : undefined;
}

/** A list of texts, or one; nothing where the claim is missing or something else. */
function listOf(payload: JWTPayload, claim: string): string[] {
  const value = Object.hasOwn(payload, claim) ? payload[claim] : memberAt(payload, claim.split("."));
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((at, part) => {
    const isObject = typeof at === "object" && at !== null && Object.hasOwn(at, part);
    return isObject ? (at as Record<string, unknown>)[part] : undefined;
  }, value);
}
