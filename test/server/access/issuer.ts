/** An identity provider for tests: discovery, keys and tokens, all of which can be made wrong. */

import { createHmac } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

interface SigningKey {
  alg: string;
  privateKey: Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];
  /** As the provider shows it. */
  jwk: JWK;
}

export interface Issuer {
  url: string;
  keys: SigningKey[];
  /** How often its keys were asked for. */
  asked: number;
  /** Answers in the place of discovery or keys. */
  instead: ((path: string, response: ServerResponse) => boolean) | undefined;
  token(claims?: JWTPayload, with_?: Partial<SigningKey> & { header?: object }): Promise<string>;
  stop(): Promise<void>;
}

export const audience = "svc-test";

export async function keyOf(alg: string, kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export async function startIssuer(): Promise<Issuer> {
  const keys = [await keyOf("RS256", "first")];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    if (path === "/keys") issuer.asked++;
    if (issuer.instead?.(path, response)) return;
    const answer =
      path === "/keys"
        ? { keys: issuer.keys.map(({ jwk }) => jwk) }
        : { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` };
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer: Issuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    asked: 0,
    instead: undefined,
    token: (claims = {}, { alg, privateKey, jwk, header } = {}) => {
      const key = issuer.keys.at(-1)!;
      const { aud = audience, iss = issuer.url, sub = "u1", exp, ...more } = claims;
      return new SignJWT({ ...more, aud, iss, sub, exp: exp ?? Math.floor(Date.now() / 1000) + 300 })
        .setProtectedHeader({ alg: alg ?? key.alg, kid: (jwk ?? key.jwk).kid!, ...header })
        .sign(privateKey ?? key.privateKey);
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return issuer;
}

/** A token that nobody signed, or by a secret. */
export function forged(header: object, claims: object, secret: string | null): string {
  const text = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = secret === null ? "" : createHmac("sha256", secret).update(text).digest("base64url");
  return `${text}.${signature}`;
}
