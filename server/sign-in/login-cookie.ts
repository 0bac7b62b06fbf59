/**
 * What the cookie of a login at the identity provider holds: the path to return to and the end of the login, signed by a
 * key of this process. `state`, `nonce` and the PKCE verifier are made of it, so the server stores nothing for a login
 * that somebody only begins.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A login that has begun. */
export interface PendingLogin {
  /** What the cookie holds. */
  cookie: string;
  state: string;
  nonce: string;
  /** The PKCE verifier (RFC 7636). */
  verifier: string;
  returnPath: string;
  /** Milliseconds of the monotonic clock at which it ends. */
  endsAtMs: number;
}

/** Makes logins, and reads them back. A restart ends all that have begun. */
export class LoginCookies {
  readonly #key = randomBytes(32);

  make(returnPath: string, endsAtMs: number): PendingLogin {
    const id = randomBytes(32).toString("base64url");
    return this.#derive(
      [id, String(Math.ceil(endsAtMs)), Buffer.from(returnPath).toString("base64url")].join("."),
    );
  }

  /** The login of a cookie; null where this process did not make it. */
  read(cookie: string): PendingLogin | null {
    const at = cookie.lastIndexOf(".");
    const login = at < 0 ? null : this.#derive(cookie.slice(0, at));
    return login !== null && isSame(login.cookie, cookie) ? login : null;
  }

  #derive(content: string): PendingLogin {
    const [, endsAtMs = "", path = ""] = content.split(".");
    const sign = (purpose: string) =>
      createHmac("sha256", this.#key).update(`${purpose}:${content}`).digest("base64url");
    return {
      cookie: `${content}.${sign("cookie")}`,
      state: sign("state"),
      nonce: sign("nonce"),
      verifier: sign("verifier"),
      returnPath: Buffer.from(path, "base64url").toString(),
      endsAtMs: Number(endsAtMs),
    };
  }
}

/** The S256 challenge of a PKCE verifier. */
export function challengeOf(verifier: string): string {
  return createHash("sha256").update(verifier).digest("base64url");
}

/** Whether two texts are the same, in a time that does not tell where they differ. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [a, b].map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(left!, right!);
}
