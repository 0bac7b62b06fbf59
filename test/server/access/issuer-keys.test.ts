/**
 * The keys of an identity provider: asked for when they are needed, kept through its outages; whatever it answers harms
 * nobody.
 */

import type { ServerResponse } from "node:http";
import { exportJWK } from "jose";
import { describe, expect, test } from "vitest";
import { IdentityProvider } from "../../../server/access/identity-provider.ts";
import { issuerKeysFreshMs, issuerKeysKeptMs, issuerPauseMs } from "../../../server/access/limits.ts";
import { Refusal } from "../../../server/throttle/refusal.ts";
import { ask } from "../control/asking.ts";
import { search, startServer } from "../running.ts";
import { audience, forged, type Issuer, keyOf, startIssuer } from "./issuer.ts";

const seconds = () => Math.floor(Date.now() / 1000);

test.each(["RS256", "PS384", "ES256", "ES512", "EdDSA"])(
  "a key of %s will do, and expiry has some slack",
  async (alg) => {
    const own = await startIssuer();
    own.keys = [await keyOf(alg, "k"), await keyOf("ES384", "other")];
    const provider = new IdentityProvider({
      issuer: own.url,
      audiences: [audience],
      groupsClaim: "realm.roles",
      now: Date.now,
      elapsed: () => performance.now(),
      log: () => undefined,
    });
    const claims = {
      realm: { roles: ["a", 5, "b"] },
      name: "Ann",
      exp: seconds() - 5,
      email: "ann@x",
      email_verified: false,
    };
    expect(await provider.identify(await own.token(claims, own.keys[0]!))).toEqual({
      subject: "u1",
      name: "Ann",
      claimed: ["a", "b"],
    });
    await own.stop();
  },
);

/** A provider of its own, whose clock is the test's. */
async function withProvider(
  run: (at: {
    own: Issuer;
    provider: IdentityProvider;
    logged: string[];
    pass(ms: number): void;
    /** Sets the wall clock wrong by so much. */
    setClock(errorMs: number): void;
    status(token: string): Promise<number>;
  }) => Promise<void>,
) {
  const own = await startIssuer();
  const logged: string[] = [];
  let nowMs = Date.now();
  let clockErrorMs = 0;
  const provider = new IdentityProvider({
    issuer: own.url,
    audiences: [audience],
    groupsClaim: "groups",
    now: () => nowMs + clockErrorMs,
    elapsed: () => nowMs,
    log: (message) => logged.push(message),
    answerMsMax: 300,
  });
  const status = (token: string) =>
    provider.identify(token).then(
      () => 200,
      (error: unknown) => (error instanceof Refusal ? error.status : 500),
    );
  try {
    await run({
      own,
      provider,
      logged,
      pass: (ms) => {
        nowMs += ms;
      },
      setClock: (errorMs) => {
        clockErrorMs = errorMs;
      },
      status,
    });
  } finally {
    await own.stop();
  }
}

const long = { exp: seconds() + 1_000_000 };

describe("keys", () => {
  test("are asked for once, and again when a token names a newer one, though not for each that does", () =>
    withProvider(async ({ own, pass, status }) => {
      const before = await own.token(long);
      expect(await Promise.all(Array.from({ length: 20 }, () => status(before)))).toEqual(
        Array(20).fill(200),
      );
      expect(own.asked).toBe(1);
      own.keys.push(await keyOf("ES256", "second"));
      const after = await own.token(long);
      expect(await status(after)).toBe(401);
      expect(own.asked).toBe(1);
      pass(issuerPauseMs);
      expect(await Promise.all([status(after), status(after), status(before)])).toEqual([200, 200, 200]);
      expect(own.asked).toBe(2);
      pass(issuerPauseMs);
      const unknown = await own.token(long, { header: { kid: "nobody" } });
      for (let i = 0; i < 50; i++) expect(await status(unknown)).toBe(401);
      expect(own.asked).toBe(3);
    }));

  test("that the provider took back are good for ten minutes at most", () =>
    withProvider(async ({ own, pass, status }) => {
      const token = await own.token(long);
      expect(await status(token)).toBe(200);
      own.keys = [await keyOf("RS256", "third")];
      pass(issuerKeysFreshMs - 1);
      expect(await status(token)).toBe(200);
      pass(2);
      expect(await status(token)).toBe(401);
    }));

  test.each([-400, 400])("that the provider took back are, also where the clock is set by %i days", (days) =>
    withProvider(async ({ own, pass, setClock, status }) => {
      const errorMs = days * 86_400_000;
      const ever = { exp: seconds() + 1_000 * 86_400 };
      const [token, unknown] = [await own.token(ever), await own.token(ever, { header: { kid: "nobody" } })];
      expect(await status(token)).toBe(200);
      own.keys = [await keyOf("RS256", "third")];
      setClock(errorMs);
      expect([await status(token), own.asked]).toEqual([200, 1]);
      pass(issuerKeysFreshMs + 1);
      expect(await status(token)).toBe(401);
      expect(await status(await own.token(ever))).toBe(200);
      const { asked } = own;
      pass(issuerPauseMs - 1);
      expect([await status(unknown), own.asked]).toEqual([401, asked]);
      pass(2);
      expect([await status(unknown), own.asked]).toEqual([401, asked + 1]);
    }),
  );

  test("that are at hand do through an outage, for a day", () =>
    withProvider(async ({ own, pass, status, logged }) => {
      const token = await own.token(long);
      expect(await status(token)).toBe(200);
      own.instead = (_path, response) => {
        response.statusCode = 500;
        response.end("down");
        return true;
      };
      pass(issuerKeysFreshMs + 1);
      expect([await status(token), await status(token)]).toEqual([200, 200]);
      expect(logged).toHaveLength(1);
      expect(logged[0]).toContain("answered 500");
      pass(issuerKeysKeptMs);
      expect(await status(token)).toBe(503);
      own.instead = undefined;
      pass(issuerPauseMs);
      expect(await status(token)).toBe(200);
    }));
});

describe("a provider whose answers", () => {
  const huge = Buffer.alloc(8 * 1024, " ");
  test.each<[string, (own: Issuer, path: string, response: ServerResponse) => boolean, RegExp]>([
    ["do not come", () => true, /aborted due to timeout/],
    [
      "begin and do not end",
      (_own, _path, response) => response.write("{") || true,
      /aborted due to timeout|terminated/,
    ],
    [
      "are endless",
      (_own, path, response) => {
        if (path !== "/keys") return false;
        const timer = setInterval(() => {
          for (let i = 0; i < 64; i++) response.write(huge);
        }, 1);
        response.on("close", () => clearInterval(timer));
        return true;
      },
      /has more than 262144 bytes/,
    ],
    [
      "lead elsewhere",
      (_own, _path, response) => response.writeHead(302, { Location: "http://127.0.0.1:1/" }).end() && true,
      /fetch failed/,
    ],
    ["are no JSON", (_own, _path, response) => response.end("<html>") && true, /JSON/],
    ["are null", (_own, _path, response) => response.end("null") && true, /no JSON object/],
    [
      "name another issuer",
      (own, path, response) =>
        path !== "/keys" &&
        !!response.end(JSON.stringify({ issuer: `${own.url}/x`, jwks_uri: `${own.url}/keys` })),
      /names another issuer/,
    ],
    [
      "name keys in a file",
      (own, path, response) =>
        path !== "/keys" &&
        !!response.end(JSON.stringify({ issuer: own.url, jwks_uri: "file:///etc/passwd" })),
      /has no jwks_uri/,
    ],
    ["are no keys", (_own, path, response) => path === "/keys" && !!response.end('{"keys":5}'), /malformed/],
  ])("%s harms nobody", (_what, instead, reason) =>
    withProvider(async ({ own, logged, status }) => {
      const token = await own.token(long);
      own.instead = (path, response) => instead(own, path, response);
      expect(await Promise.all(Array.from({ length: 5 }, () => status(token)))).toEqual(Array(5).fill(503));
      expect(logged).toHaveLength(1);
      expect(logged[0]).toMatch(reason);
    }),
  );

  test("hold private and secret keys vouches for nobody", () =>
    withProvider(async ({ own, status }) => {
      const { privateKey, alg } = own.keys[0]!;
      const secret = { kty: "oct", k: "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", kid: "oct", alg: "HS256" };
      own.keys = [
        { alg, privateKey, jwk: { ...(await exportJWK(privateKey)), kid: "first" } },
        { alg, privateKey, jwk: secret },
      ];
      expect(await status(await own.token(long, own.keys[0]!))).toBe(401);
      const claims = { ...long, iss: own.url, aud: audience, sub: "x" };
      expect(
        await status(forged({ alg: "HS256", kid: "oct" }, claims, "secretsecretsecretsecretsecret")),
      ).toBe(401);
    }));

  test("are slow leaves bearers of tokens alone, and the body of a user's request waits", async () => {
    const own = await startIssuer();
    own.instead = () => true;
    const slow = await startServer({
      identity: { issuer: own.url, audiences: [audience], groupsClaim: "groups" },
    });
    const waiting = Array.from({ length: 40 }, async () => {
      const token = await own.token({ groups: ["x"] });
      return (
        await ask(
          slow,
          "POST",
          "/query/logs",
          { query: "x".repeat(100_000), startTime: 0, endTime: 1 },
          { token },
        )
      ).status;
    });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await ask(slow, "GET", "/alerts")).status),
    );
    expect(statuses).toEqual(Array(20).fill(200));
    expect((await search(slow)).status).toBe(200);
    await own.stop();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([503]));
    expect((await search(slow)).status).toBe(200);
    await slow.stop();
  });
});
