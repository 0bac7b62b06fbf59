/** Users of an identity provider: whose tokens are taken, what they may do, and what becomes of an outage. */

import { createPublicKey, type JsonWebKey } from "node:crypto";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clockSkewSeconds } from "../../../server/access/limits.ts";
import { identityFlags, identitySettings } from "../../../server/command/flags/identity-flags.ts";
import { ask } from "../control/asking.ts";
import { alert } from "../control/samples.ts";
import { call, ingest, lines, type Running, startServer } from "../running.ts";
import { audience, forged, type Issuer, keyOf, startIssuer } from "./issuer.ts";

let issuer: Issuer;
let server: Running;
beforeAll(async () => {
  issuer = await startIssuer();
  const identity = { issuer: issuer.url, audiences: ["another", audience], groupsClaim: "groups" };
  server = await startServer({ identity });
  await ingest(
    server,
    lines(
      ["shop", "pay"].map((team) => ({ timestamp: 1_750_000_000_000, message: team, attributes: { team } })),
    ),
  );
  for (const group of [
    { name: "shop", oidcMappings: ["idp-shop"] },
    { name: "editors", role: "editor", oidcMappings: ["idp-edit", "idp-more"] },
    { name: "admins", role: "admin", oidcMappings: ["idp-root"] },
    { name: "unmapped" },
  ]) {
    expect((await ask(server, "POST", "/groups", { group })).status).toBe(200);
  }
  const match = { matchExpressions: [{ key: "team", operator: "In", values: ["shop"] }] };
  const rules = [{ signals: ["logs"], match }];
  const telemetryRule = { id: "r", type: "cluster", groups: ["shop"], rules };
  expect((await ask(server, "POST", "/telemetry-rules", { telemetryRule })).status).toBe(200);
});
afterAll(async () => {
  await server.stop();
  await issuer.stop();
});

const range = { startTime: 1_749_999_000_000, endTime: 1_750_000_001_000 };

function seen(token: string) {
  return ask<{ logs?: { message: string }[]; error?: string }>(
    server,
    "POST",
    "/query/logs",
    { query: "", ...range },
    { token },
  );
}

const inShop: JWTPayload = { groups: ["idp-shop", "elsewhere"], email: "ann@example.com" };

describe("a user", () => {
  test.each([
    ["of a group of viewers sees what its rules grant", ["idp-shop"], 200, ["shop"], 403],
    ["of a group with the role editor may write", ["idp-edit", "idp-shop"], 200, ["shop"], 200],
    ["of a group without rules sees nothing", ["idp-edit"], 200, [], 200],
    ["of a group of admins sees all", ["idp-root"], 200, ["pay", "shop"], 200],
    ["of groups that are not known here is refused", ["else", "shop", "unmapped"], 403, undefined, 403],
    ["without groups is refused", undefined, 403, undefined, 403],
    ["whose one group is a text is known", "idp-shop", 200, ["shop"], 403],
    ["whose groups are something else is refused", { "idp-root": true }, 403, undefined, 403],
  ])("%s", async (what, groups, status, messages, writeStatus) => {
    const token = await issuer.token(groups === undefined ? {} : { groups });
    const got = await seen(token);
    expect(got.status).toBe(status);
    expect(got.json.logs?.map(({ message }) => message).sort()).toEqual(messages);
    const silence = { alertIds: ["a"], endsAt: 1 };
    const path = `/silences/${encodeURIComponent(what)}`;
    expect((await ask(server, "PUT", path, { silence }, { token })).status).toBe(writeStatus);
  });

  test("gains and loses what groups give at once", async () => {
    const token = await issuer.token(inShop);
    const told = async () => (await seen(token)).json.logs?.length;
    expect(await told()).toBe(1);
    await ask(server, "PUT", "/groups/shop", { group: { name: "shop", oidcMappings: ["other"] } });
    expect(await told()).toBeUndefined();
    await ask(server, "PUT", "/groups/shop", {
      group: { name: "shop", role: "admin", oidcMappings: ["idp-shop"] },
    });
    expect(await told()).toBe(2);
    await ask(server, "PUT", "/groups/shop", { group: { name: "shop", oidcMappings: ["idp-shop"] } });
    expect(await told()).toBe(1);
  });

  test("stands in the audit log with subject and address, refused or not", async () => {
    const who = { sub: "u-77", email: "bob@example.com" };
    const editor = await issuer.token({ ...who, groups: ["idp-edit"] });
    expect((await ask(server, "POST", "/alerts/update", { alert }, { token: editor })).status).toBe(200);
    const read = await ask(server, "GET", `/alerts/${alert.metadata.id}`);
    expect(read.json.updatedBy).toBe("bob@example.com");
    expect((await ask(server, "GET", "/tokens", undefined, { token: editor })).status).toBe(403);
    const stranger = await issuer.token({ sub: "u-78", groups: ["nowhere"] });
    await ask(server, "GET", "/tokens", undefined, { token: stranger });
    const rows = async (query: string) => {
      const body = { query, startTime: 0, endTime: Date.now() + 1_000, limit: 100 };
      const got = await ask<{ logs: { message: string; attributes: Record<string, string> }[] }>(
        server,
        "POST",
        "/query/logs",
        body,
      );
      return got.json.logs;
    };
    const named = {
      actor: "bob@example.com",
      role: "editor",
      "user.id": "u-77",
      "user.email": "bob@example.com",
    };
    const query = 'logs{user.id="u-77"}';
    await expect.poll(async () => (await rows(query)).length, { timeout: 20_000 }).toBe(2);
    for (const { attributes } of await rows(query)) expect(attributes).toMatchObject(named);
    const ofStranger = () => rows('logs{audit="refused"} |= "u-78"');
    await expect.poll(async () => (await ofStranger()).length, { timeout: 20_000 }).toBe(1);
    const refused = await ofStranger();
    expect(refused[0]?.message).toContain("in none of the groups here");
    expect(refused[0]?.attributes["client.address"]).toBe("127.0.0.1");
    await ask(server, "DELETE", `/alerts/${alert.metadata.id}`);
  });

  test("reads by GET, HEAD and with a body, and sends no rows", async () => {
    const token = await issuer.token({ groups: ["idp-root"] });
    expect((await call(server, "/metrics", { token })).status).toBe(200);
    expect((await call(server, "/metrics", { method: "HEAD", token })).status).toBe(200);
    const sent = await call(server, "/api/v1/ingest/logs", {
      token,
      headers: { "Content-Type": "application/x-ndjson" },
      body: lines([{ message: "x" }]),
    });
    expect([sent.status, sent.json.error]).toEqual([401, "rows are sent with a token of this server"]);
  });
});

const notTaken = "the token is not one that this server takes";
const seconds = () => Math.floor(Date.now() / 1000);

function soundClaims(): object {
  return { iss: issuer.url, aud: audience, sub: "u1", exp: seconds() + 300, groups: ["idp-root"] };
}

async function publicPem(): Promise<string> {
  const key = createPublicKey({ key: issuer.keys[0]!.jwk as JsonWebKey, format: "jwk" });
  return key.export({ type: "spki", format: "pem" }).toString();
}

describe("a token is refused", () => {
  const expired = "the token has expired: sign in again";
  test.each<[string, () => Promise<string>, string]>([
    ["of another audience", () => issuer.token({ ...inShop, aud: "someone" }), notTaken],
    ["without audience", async () => issuer.token({ ...inShop, aud: [] }), notTaken],
    ["of another issuer", () => issuer.token({ ...inShop, iss: `${issuer.url}/` }), notTaken],
    ["that has expired", () => issuer.token({ ...inShop, exp: seconds() - clockSkewSeconds - 5 }), expired],
    [
      "that is not valid yet",
      () => issuer.token({ ...inShop, nbf: seconds() + clockSkewSeconds + 60 }),
      notTaken,
    ],
    ["that names nobody", () => issuer.token({ ...inShop, sub: " " }), notTaken],
    ["whose subject is too long", () => issuer.token({ ...inShop, sub: "s".repeat(300) }), notTaken],
    ["that nobody signed", async () => forged({ alg: "none" }, soundClaims(), null), notTaken],
    [
      "that nobody signed, under a key's name",
      async () => forged({ alg: "none", kid: "first" }, soundClaims(), null),
      notTaken,
    ],
    [
      "signed by the public key as a secret",
      async () => forged({ alg: "HS256", kid: "first" }, soundClaims(), await publicPem()),
      notTaken,
    ],
    [
      "signed by the public key as JSON",
      async () => forged({ alg: "HS256", kid: "first" }, soundClaims(), JSON.stringify(issuer.keys[0]!.jwk)),
      notTaken,
    ],
    [
      "signed by a key of the sender's own",
      async () => issuer.token({ groups: ["idp-root"] }, await keyOf("RS256", "first")),
      notTaken,
    ],
    [
      "that brings its key along",
      async () => {
        const own = await keyOf("RS256", "own");
        return issuer.token({ groups: ["idp-root"] }, { ...own, header: { jwk: own.jwk } });
      },
      notTaken,
    ],
    [
      "that names a place for its key",
      async () => {
        const own = await keyOf("RS256", "own");
        return issuer.token(
          { groups: ["idp-root"] },
          { ...own, header: { jku: "http://127.0.0.1:1/keys", x5u: "http://127.0.0.1:1/" } },
        );
      },
      notTaken,
    ],
    [
      "whose key id is a path",
      async () => issuer.token({}, { header: { kid: "../../etc/passwd" } }),
      notTaken,
    ],
    ["whose key id is a query", async () => issuer.token({}, { header: { kid: "' OR 1=1 --" } }), notTaken],
    [
      "whose key id is of a prototype",
      async () => issuer.token({}, { header: { kid: "__proto__" } }),
      notTaken,
    ],
    [
      "with a critical extension",
      async () => forged({ alg: "RS256", kid: "first", crit: ["b64"], b64: false }, soundClaims(), "x"),
      notTaken,
    ],
    [
      "of another's algorithm",
      async () => forged({ alg: "RS512", kid: "first" }, soundClaims(), "x"),
      notTaken,
    ],
    ["that is no token", async () => "aaaa.bbbb.cccc", notTaken],
    [
      "that was changed",
      async () => {
        const [head, , signature] = (await issuer.token(inShop)).split(".");
        return `${head}.${Buffer.from(JSON.stringify(soundClaims())).toString("base64url")}.${signature}`;
      },
      notTaken,
    ],
  ])("%s", async (_what, make, error) => {
    const token = await make();
    const got = await seen(token);
    expect([got.status, got.json]).toEqual([401, { error }]);
    expect(got.headers.get("www-authenticate")).toBe('Bearer realm="svc"');
    expect(server.logged.join()).not.toContain(token.split(".")[1]);
  });

  test("and the log tells the operator why", async () => {
    const reasons = async () => {
      const query = 'logs{audit="refused"} |= "the token is not one"';
      const got = await call<{ logs: { message: string }[] }>(server, "/api/v1/query/logs", {
        token: server.adminToken,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ query, startTime: 0, endTime: Date.now() + 1_000, limit: 1_000 }),
      });
      return got.json.logs.map(({ message }) => message).join("\n");
    };
    await expect.poll(reasons, { timeout: 20_000 }).toContain('unexpected "aud" claim value');
    expect(await reasons()).toContain('unexpected "iss" claim value');
  });
});

describe("settings", () => {
  const parse = (text: string) => identityFlags["oidc-issuer"].parse([text]);

  test.each([
    "https://login.example.com/realms/shop",
    "https://x/",
    "http://127.0.0.1:5556/dex",
    "http://localhost",
  ])("%s may be an issuer", (text) => expect(parse(text)).toBe(text));

  test.each([
    "http://login.example.com",
    "login.example.com",
    "https://u:p@x",
    "https://x/?a=1",
    "file:///x",
    "",
  ])("%j may not", (text) =>
    expect(() => parse(text)).toThrow("an address such as https://login.example.com/realms/shop"),
  );

  test("an issuer needs an audience, and an audience an issuer", () => {
    const given = (issuer: string | null, audiences: string[] | null, client: string[] = []) =>
      identitySettings({
        "oidc-issuer": issuer,
        "oidc-audience": audiences,
        "oidc-groups-claim": "groups",
        "oidc-client-id": client[0] ?? null,
        "oidc-client-secret": client[1] ?? null,
        "oidc-scopes": "openid",
      });
    expect(given(null, null)).toEqual({});
    expect(() => given("https://x", null)).toThrow("--oidc-issuer needs --oidc-audience");
    expect(() => given(null, ["svc"])).toThrow("--oidc-audience needs --oidc-issuer");
    const identity = { issuer: "https://x", audiences: ["svc"], groupsClaim: "groups" };
    expect(given("https://x", ["svc"])).toEqual({ identity });
    const oidcClient = { id: "svc", scopes: "openid" };
    expect(given("https://x", null, ["svc"])).toEqual({ identity, oidcClient });
    expect(given("https://x", ["svc"], ["a", "b"])).toEqual({
      identity,
      oidcClient: { ...oidcClient, id: "a", secret: "b" },
    });
    expect(() => given(null, null, ["svc"])).toThrow("--oidc-client-id needs --oidc-issuer");
    const parseScopes = identityFlags["oidc-scopes"].parse;
    expect(parseScopes([" openid  groups "])).toBe("openid groups");
    expect(() => parseScopes(["profile"])).toThrow('scopes such as "openid profile email groups"');
  });
});
