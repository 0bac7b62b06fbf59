/** Logins at an issuer that others made: the whole way of a browser, there and back. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call, type Running, search, startServer } from "../running.ts";
import { Browser, type Page } from "./browser.ts";
import { type CertifiedIssuer, clientId, clientSecret, startCertifiedIssuer } from "./certified-issuer.ts";

const ways = [
  ["a client with a secret, claims in the ID token", { secret: clientSecret }, {}, true],
  ["claims of the userinfo endpoint", { secret: clientSecret }, {}, false],
  [
    "a secret in the body",
    { secret: clientSecret },
    { token_endpoint_auth_method: "client_secret_post" },
    true,
  ],
  ["a public client", {}, { token_endpoint_auth_method: "none", client_secret: undefined }, true],
] as const;

let issuer: CertifiedIssuer;
let server: Running;

async function start(
  client: { secret?: string } = { secret: clientSecret },
  registered: object = {},
  claimsInIdToken = true,
): Promise<void> {
  issuer = await startCertifiedIssuer(claimsInIdToken);
  server = await startServer({
    identity: { issuer: issuer.url, audiences: [clientId], groupsClaim: "groups" },
    oidcClient: { id: clientId, scopes: "openid profile email groups", ...client },
  });
  await issuer.serve(server.url, registered);
  issuer.people = {
    ann: { email: "ann@example.com", groups: ["idp-edit"] },
    bob: { email: "bob@example.com", groups: ["elsewhere"] },
  };
  issuer.person = "ann";
  const group = { name: "editors", role: "editor", oidcMappings: ["idp-edit"] };
  expect((await ask(server, "POST", "/groups", { group })).status).toBe(200);
}
afterEach(async () => {
  await server.stop();
  await issuer.stop();
});

const startPath = "/api/v1/session/oidc/start";

/** Begins a login, signs in, and returns the path that the issuer sends the browser back to. */
async function signInAtIssuer(browser: Browser, path = startPath): Promise<string> {
  const sent = await browser.follow(path);
  expect([sent.status, sent.text]).toEqual([303, ""]);
  const back = await issuer.visit(sent.headers.location!);
  expect(back.startsWith(`${server.url}/api/v1/session/oidc/callback?`)).toBe(true);
  return back.slice(server.url.length);
}

function locationOf(page: Page): [number, string | undefined] {
  return [page.status, page.headers.location];
}

describe.each(ways)("%s", (_what, client, registered, claimsInIdToken) => {
  beforeEach(async () => {
    // What the issuer offers is asked of it: a client of this kind alone tells nothing of that.
    await start(client, registered, claimsInIdToken);
  });

  test("signs a person in, and out", async () => {
    const browser = new Browser(server);
    expect(await browser.who()).toMatchObject({ signedIn: false, features: { oidc: true } });
    const back = await signInAtIssuer(browser, `${startPath}?return=${encodeURIComponent("/traces?a=1#x")}`);
    const done = await browser.follow(back);
    expect(locationOf(done)).toEqual([303, "/traces?a=1#x"]);
    expect([...browser.jar.keys()]).toEqual(["svc-session"]);
    const who = await browser.who();
    expect(who).toMatchObject({
      signedIn: true,
      name: "ann@example.com",
      role: "editor",
      groups: ["editors"],
    });
    expect(who.expiresAt).toBeLessThanOrEqual(Date.now() + 600_000);
    const silence = { id: "s", alertIds: ["a"], endsAt: Date.now() + 60_000 };
    expect((await browser.ask("/api/v1/silences/s", { method: "PUT", body: { silence } })).status).toBe(200);
    expect((await browser.ask("/api/v1/tokens")).status).toBe(403);
    const out = await browser.ask<{ redirect: string }>("/api/v1/session", { method: "DELETE" });
    const redirect = new URL(out.json.redirect);
    expect(redirect.origin + redirect.pathname).toBe(`${issuer.url}/session/end`);
    expect(Object.fromEntries(redirect.searchParams)).toEqual({
      client_id: clientId,
      post_logout_redirect_uri: `${server.url}/signin`,
    });
    expect((await fetch(redirect)).status).toBe(200);
    expect(await browser.who()).toMatchObject({ signedIn: false });
  });
});

describe("a login", () => {
  beforeEach(() => start());

  test("is bound to its browser by a cookie that links carry and scripts do not see", async () => {
    const browser = new Browser(server);
    const sent = await browser.follow(startPath);
    const [cookie] = sent.cookies;
    expect(cookie).toMatchObject({
      name: "svc-login",
      attributes: { path: "/", "max-age": "600", httponly: "", samesite: "Lax" },
    });
    const url = new URL(sent.headers.location!);
    expect(url.origin + url.pathname).toBe(`${issuer.url}/auth`);
    const { state, nonce, code_challenge: challenge, ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({
      response_type: "code",
      client_id: clientId,
      redirect_uri: `${server.url}/api/v1/session/oidc/callback`,
      scope: "openid profile email groups",
      code_challenge_method: "S256",
    });
    for (const each of [state, nonce, challenge]) expect(each).toMatch(/^[\w-]{43}$/);
    expect(new Set([state, nonce, challenge]).size).toBe(3);
    const again = new URL((await browser.follow(startPath)).headers.location!);
    expect(again.searchParams.get("state")).not.toBe(state);
  });

  test("ends once: neither its state nor its code serves again", async () => {
    const browser = new Browser(server);
    const back = await signInAtIssuer(browser);
    const login = browser.jar.get("svc-login")!;
    expect(locationOf(await browser.follow(back))).toEqual([303, "/"]);
    const thief = new Browser(server);
    thief.jar.set("svc-login", login);
    expect(locationOf(await thief.follow(back))).toEqual([303, "/signin?error=state"]);
    expect(await thief.who()).toMatchObject({ signedIn: false });
    // The code with the state of another login.
    const other = new Browser(server);
    const otherBack = await signInAtIssuer(other);
    const code = new URL(back, server.url).searchParams.get("code")!;
    const mixed = new URL(otherBack, server.url);
    mixed.searchParams.set("code", code);
    expect(locationOf(await other.follow(mixed.pathname + mixed.search))).toEqual([
      303,
      "/signin?error=code",
    ]);
    expect(await other.who()).toMatchObject({ signedIn: false });
    // A login that failed is over, too.
    expect(locationOf(await other.follow(otherBack))).toEqual([303, "/signin?error=state"]);
  });

  test("of one browser does not end in another: nobody is signed in as somebody else", async () => {
    const [attacker, victim] = [new Browser(server), new Browser(server)];
    const back = await signInAtIssuer(attacker);
    expect(locationOf(await victim.follow(back))).toEqual([303, "/signin?error=state"]);
    await victim.follow(startPath);
    expect(locationOf(await victim.follow(back))).toEqual([303, "/signin?error=state"]);
    expect(await victim.who()).toMatchObject({ signedIn: false });
    expect(locationOf(await attacker.follow(back))).toEqual([303, "/"]);
  });

  test("that the code of another person was put into is refused: the verifier is another", async () => {
    const [attacker, victim] = [new Browser(server), new Browser(server)];
    const stolen = new URL(await signInAtIssuer(victim), server.url).searchParams.get("code")!;
    const own = new URL(await signInAtIssuer(attacker), server.url);
    own.searchParams.set("code", stolen);
    expect(locationOf(await attacker.follow(own.pathname + own.search))).toEqual([303, "/signin?error=code"]);
    expect(await attacker.who()).toMatchObject({ signedIn: false });
  });

  test("that the person cancels, or that leads to no group, leads to the page for signing in", async () => {
    issuer.person = null;
    const browser = new Browser(server);
    expect(locationOf(await browser.follow(await signInAtIssuer(browser)))).toEqual([
      303,
      "/signin?error=denied",
    ]);
    issuer.person = "bob";
    const other = new Browser(server);
    await issuer.serve(server.url);
    expect(locationOf(await other.follow(await signInAtIssuer(other)))).toEqual([303, "/signin?error=group"]);
    expect([browser.jar.size, other.jar.size]).toEqual([0, 0]);
    const refused = () => search(server, { query: 'logs{audit="refused"} |= "oidc/callback"' });
    await expect.poll(async () => (await refused()).json.count, { timeout: 20_000 }).toBe(2);
    const text = (await refused()).text;
    expect(text).toContain("the identity provider says access_denied");
    expect(text).toContain("is in none of the groups here");
  });

  // Browsers send the session's cookie there only where issuer and server are of one site.
  test("ends an earlier session that the browser names", async () => {
    const browser = new Browser(server);
    await browser.signIn(server.adminToken);
    const thief = new Browser(server);
    thief.jar.set("svc-session", browser.jar.get("svc-session")!);
    expect(await thief.status()).toBe(200);
    await browser.follow(await signInAtIssuer(browser));
    expect(await thief.status()).toBe(401);
    expect(await browser.who()).toMatchObject({ name: "ann@example.com" });
  });

  test("leaves no code, verifier, state or token in files, logs or metrics", async () => {
    const browser = new Browser(server);
    const back = await signInAtIssuer(browser);
    const login = browser.jar.get("svc-login")!;
    await browser.follow(back);
    const answered = new URL(back, server.url).searchParams;
    const secrets = [
      clientSecret,
      login,
      login.split(".")[0]!,
      browser.jar.get("svc-session")!,
      answered.get("code")!,
      answered.get("state")!,
    ];
    const created = () => search(server, { query: 'logs{resource="session"}' });
    await expect.poll(async () => (await created()).json.count, { timeout: 20_000 }).toBe(1);
    const audit = (await created()).text;
    expect(audit).toContain("ann@example.com");
    const metrics = (await call(server, "/metrics", { token: server.adminToken })).text;
    expect(metrics).toContain('svc_sign_ins_total{by="login",outcome="accepted"} 1');
    for (const each of secrets) {
      for (const place of [audit, metrics, server.logged.join("\n")]) expect(place).not.toContain(each);
      for (const file of readdirSync(server.dir, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const bytes = readFileSync(join(file.parentPath, file.name));
        expect(bytes.includes(each), `${file.name} holds ${each}`).toBe(false);
      }
    }
  });
});

test("a wrong client secret is the operator's to mend: the log names it, and not the secret", async () => {
  await start({ secret: "wrong" });
  const browser = new Browser(server);
  expect(locationOf(await browser.follow(await signInAtIssuer(browser)))).toEqual([
    303,
    "/signin?error=issuer",
  ]);
  expect(server.logged.join("\n")).toContain(
    `a login failed: ${issuer.url}/token answered 401 invalid_client`,
  );
});

test("an issuer that is away leads to the page for signing in, before and after it was asked", async () => {
  await start();
  const browser = new Browser(server);
  const back = await signInAtIssuer(browser);
  await issuer.stop();
  expect(locationOf(await browser.follow(back))).toEqual([303, "/signin?error=issuer"]);
  const other = await startServer({
    identity: { issuer: issuer.url, audiences: [clientId], groupsClaim: "groups" },
    oidcClient: { id: clientId, scopes: "openid" },
  });
  expect(locationOf(await new Browser(other).follow(startPath))).toEqual([303, "/signin?error=issuer"]);
  await other.stop();
});
