/** Logins that go wrong: answers of an issuer that are not right, or not of this login. */

import type { ServerResponse } from "node:http";
import type { JWTPayload } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { forged, type Issuer, keyOf, startIssuer } from "../access/issuer.ts";
import { ask } from "../control/asking.ts";
import { call, type Running, search, startServer } from "../running.ts";
import { Browser, type Page, proxied } from "./browser.ts";

const clientId = "svc-web";
const startPath = "/api/v1/session/oidc/start";
const callbackPath = "/api/v1/session/oidc/callback";

let issuer: Issuer;
let server: Running;
/** What the token endpoint answers, by the nonce of the last login. */
let tokens: (nonce: string) => Promise<unknown>;
let tokenStatus: number;
let userInfo: unknown;
/** More members of the discovery document, or others. */
let discovery: object;
let nonce: string;
let exchanges: number;

/** Set by tests after which the server cannot serve others. */
let isServerUsedUp = false;

beforeAll(async () => {
  issuer = await startIssuer();
  issuer.instead = (path, response) => {
    const value = answerOf(path);
    if (value === undefined) return false;
    void Promise.resolve(value).then((it) => sendJson(response, path === "/token" ? tokenStatus : 200, it));
    return true;
  };
});
beforeEach(async () => {
  tokens = async (sent) => ({ id_token: await idToken({ nonce: sent }), access_token: "access" });
  [tokenStatus, userInfo, discovery, exchanges] = [200, { sub: "u1" }, {}, 0];
  if (server === undefined) await start();
});
afterEach(async () => {
  vi.restoreAllMocks();
  if (isServerUsedUp) await stop();
});
afterAll(async () => {
  await stop();
  await issuer.stop();
});

async function start(changes: Parameters<typeof startServer>[0] = {}): Promise<void> {
  server = await startServer({ ...settings(), ...changes });
  const group = { name: "g", role: "editor", oidcMappings: ["idp-g"] };
  expect((await ask(server, "POST", "/groups", { group })).status).toBe(200);
}

async function stop(): Promise<void> {
  isServerUsedUp = false;
  await (server as Running | undefined)?.stop();
  server = undefined as unknown as Running;
}

/** Starts a server for one test. */
async function startOwn(changes: Parameters<typeof startServer>[0] = {}): Promise<void> {
  await stop();
  await start(changes);
  isServerUsedUp = true;
}

const settings = () => ({
  identity: { issuer: issuer.url, audiences: ["another", clientId], groupsClaim: "groups" },
  oidcClient: { id: clientId, scopes: "openid" },
});

function answerOf(path: string): unknown {
  if (path.endsWith("/openid-configuration")) {
    return {
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/keys`,
      authorization_endpoint: `${issuer.url}/auth?tenant=7`,
      token_endpoint: `${issuer.url}/token`,
      userinfo_endpoint: `${issuer.url}/userinfo`,
      ...discovery,
    };
  }
  if (path === "/token") exchanges++;
  if (path === "/token") return tokens(nonce);
  return path === "/userinfo" ? userInfo : undefined;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status).end(typeof value === "string" ? value : JSON.stringify(value));
}

function idToken(claims: JWTPayload, signing?: Parameters<Issuer["token"]>[1]): Promise<string> {
  return issuer.token({ aud: clientId, groups: ["idp-g"], ...claims }, signing);
}

/** Begins a login; the answer is the address that the issuer would send the browser back to. */
async function begin(browser: Browser, path = startPath): Promise<URL> {
  const sent = await browser.follow(path);
  expect(sent.status).toBe(303);
  const to = new URL(sent.headers.location!);
  nonce = to.searchParams.get("nonce")!;
  const back = new URL(to.searchParams.get("redirect_uri")!);
  back.searchParams.set("code", "c");
  back.searchParams.set("state", to.searchParams.get("state")!);
  return back;
}

async function finish(browser: Browser, back: URL): Promise<string> {
  const page = await browser.follow(back.pathname + back.search);
  expect(page.status).toBe(303);
  return page.headers.location!;
}

/** Signs in, and returns where the browser is sent to. */
async function login(browser: Browser): Promise<string> {
  return finish(browser, await begin(browser));
}

const failed = (code: string) => `/signin?error=${code}`;
const seconds = () => Math.floor(Date.now() / 1000);

test("a login that is right ends with a session, and the issuer's own parameters stay", async () => {
  const browser = new Browser(server);
  const sent = await browser.follow(startPath);
  expect(new URL(sent.headers.location!).searchParams.get("tenant")).toBe("7");
  expect(await login(browser)).toBe("/");
  expect(await browser.who()).toMatchObject({ signedIn: true, name: "u1", role: "editor" });
  // No end_session_endpoint: nothing to do at the issuer.
  expect((await browser.ask("/api/v1/session", { method: "DELETE" })).json).toEqual({});
});

describe("an ID token is refused", () => {
  test.each<[string, (sent: string) => Promise<string>]>([
    ["of another login", () => idToken({ nonce: "x".repeat(43) })],
    ["without a nonce", () => idToken({})],
    ["whose nonce is a list", (sent) => idToken({ nonce: [sent] })],
    ["for another client", (sent) => idToken({ nonce: sent, aud: "elsewhere" })],
    ["for another audience that bearers may have", (sent) => idToken({ nonce: sent, aud: "another" })],
    ["that was given to another client", (sent) => idToken({ nonce: sent, aud: [clientId, "b"], azp: "b" })],
    ["of another issuer", (sent) => idToken({ nonce: sent, iss: "https://evil.example" })],
    ["that has expired", (sent) => idToken({ nonce: sent, exp: seconds() - 100 })],
    ["that is not valid yet", (sent) => idToken({ nonce: sent, nbf: seconds() + 100 })],
    ["that names nobody", (sent) => idToken({ nonce: sent, sub: " " })],
    ["of a key of the sender's own", async (sent) => idToken({ nonce: sent }, await keyOf("RS256", "first"))],
    [
      "that nobody signed",
      async (sent) => {
        const claims = { iss: issuer.url, aud: clientId, sub: "u1", exp: seconds() + 60, nonce: sent };
        return forged({ alg: "none" }, claims, null);
      },
    ],
    ["that is none", async () => "x"],
  ])("%s", async (_what, make) => {
    tokens = async (sent) => ({ id_token: await make(sent) });
    const browser = new Browser(server);
    expect(await login(browser)).toBe(failed("token"));
    expect(browser.jar.size).toBe(0);
    expect(await browser.who()).toMatchObject({ signedIn: false });
  });
});

test.each<[string, () => void, string]>([
  ["gives no ID token", () => (tokens = async () => ({ access_token: "a" })), "issuer"],
  ["answers with no object", () => (tokens = async () => "no"), "issuer"],
  ["answers without end", () => (tokens = async () => "x".repeat(300_000)), "issuer"],
  ["has a fault", () => (tokenStatus = 500), "issuer"],
  [
    "calls the code used",
    () => {
      tokenStatus = 400;
      tokens = async () => ({ error: "invalid_grant", error_description: "the code c was used" });
    },
    "code",
  ],
  [
    "says something strange",
    () => {
      tokenStatus = 400;
      tokens = async () => ({ error: "<script>" });
    },
    "issuer",
  ],
  [
    "speaks of another user beside the ID token",
    () => {
      userInfo = { sub: "u2", groups: ["idp-g"] };
      tokens = async (sent) => ({
        id_token: await idToken({ nonce: sent, groups: undefined }),
        access_token: "a",
      });
    },
    "token",
  ],
  ["names no token endpoint", () => (discovery = { token_endpoint: undefined }), "issuer"],
])("an issuer that %s lets nobody in", async (_what, arrange, code) => {
  arrange();
  if (Object.keys(discovery).length > 0) await startOwn();
  const browser = new Browser(server);
  expect(await login(browser)).toBe(failed(code));
  expect(browser.jar.size).toBe(0);
  expect(server.logged.join("\n")).not.toMatch(/script|the code c/);
});

test.each(["javascript:alert(1)", "ftp://x/", "", 5, undefined])(
  "an authorization endpoint %j is none",
  async (authorization_endpoint) => {
    discovery = { authorization_endpoint };
    await startOwn();
    const sent = await new Browser(server).follow(startPath);
    expect([sent.status, sent.headers.location]).toEqual([303, failed("issuer")]);
  },
);

test("groups may come from the userinfo endpoint", async () => {
  userInfo = { sub: "u1", groups: ["idp-g"], email: "ann@example.com" };
  tokens = async (sent) => ({
    id_token: await idToken({ nonce: sent, groups: undefined }),
    access_token: "access",
  });
  const browser = new Browser(server);
  expect(await login(browser)).toBe("/");
  expect(await browser.who()).toMatchObject({ name: "ann@example.com", groups: ["g"] });
});

describe("an answer", () => {
  const variants: [string, (back: URL) => void, string][] = [
    ["with another state", (back) => back.searchParams.set("state", "x".repeat(43)), "state"],
    ["without a state", (back) => back.searchParams.delete("state"), "state"],
    ["with an empty state", (back) => back.searchParams.set("state", ""), "state"],
    ["without a code", (back) => back.searchParams.delete("code"), "code"],
    ["of another issuer", (back) => back.searchParams.set("iss", "https://evil.example"), "token"],
    ["that the person said no", (back) => back.searchParams.set("error", "access_denied"), "denied"],
    ["that the issuer has a fault", (back) => back.searchParams.set("error", "server_error"), "issuer"],
    ["with a script as its error", (back) => back.searchParams.set("error", "<script>alert(1)"), "issuer"],
  ];

  test.each(variants)("%s begins no session and asks the issuer nothing", async (_what, change, code) => {
    const browser = new Browser(server);
    const back = await begin(browser);
    change(back);
    expect(await finish(browser, back)).toBe(failed(code));
    expect([exchanges, browser.jar.size]).toEqual([0, 0]);
    expect(server.logged.join("\n")).not.toContain("script");
  });

  test("of the issuer itself is taken with its name", async () => {
    const browser = new Browser(server);
    const back = await begin(browser);
    back.searchParams.set("iss", issuer.url);
    back.searchParams.set("session_state", "whatever it adds");
    expect(await finish(browser, back)).toBe("/");
  });

  test("after ten minutes comes too late", async () => {
    const browser = new Browser(server);
    const back = await begin(browser);
    const real = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => real() + 10 * 60_000 + 1_000);
    expect(await finish(browser, back)).toBe(failed("state"));
    expect(exchanges).toBe(0);
  });

  test("with a cookie that was changed is of no login", async () => {
    const browser = new Browser(server);
    const back = await begin(browser);
    const [id, endsAt, path, mac] = browser.jar.get("svc-login")!.split(".");
    const evil = Buffer.from("//evil.example").toString("base64url");
    const changed = [
      [id, endsAt, evil, mac],
      [id, `${endsAt}0`, path, mac],
      [id, endsAt, path, "A".repeat(43)],
      [id, endsAt, path],
      [""],
    ];
    for (const parts of changed) {
      const other = new Browser(server);
      other.jar.set("svc-login", parts.join("."));
      expect(await finish(other, back)).toBe(failed("state"));
    }
    expect(await finish(browser, back)).toBe("/");
  });

  test("does not end a login of a process before", async () => {
    const before = new Browser(server);
    const back = await begin(before);
    await startOwn();
    const browser = new Browser(server);
    for (const [name, value] of before.jar) browser.jar.set(name, value);
    expect(await finish(browser, back)).toBe(failed("state"));
    expect(await login(browser)).toBe("/");
  });

  test("in a frame of another site is refused", async () => {
    const browser = new Browser(server);
    const back = await begin(browser);
    const headers = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe" };
    expect((await browser.ask(back.pathname + back.search, { headers })).status).toBe(403);
  });

  test("that is wrong counts as a failed sign-in, like a wrong token", async () => {
    await startOwn();
    const guess = () => new Browser(server).follow(`${callbackPath}?code=c&state=s`);
    let pages: Page[] = [];
    for (let i = 0; i < 40 && !pages.some(({ status }) => status === 429); i++)
      pages = await Promise.all(Array.from({ length: 200 }, guess));
    expect(pages.map(({ status }) => status)).toContain(429);
    const refused = () => search(server, { query: 'logs{audit="refused"} |= "oidc/callback"', limit: 1 });
    await expect.poll(async () => (await refused()).json.count, { timeout: 20_000 }).toBe(1);
  });
});

test.each([
  ["/", "/"],
  ["/traces/abc?x=1&y=%2F#z", "/traces/abc?x=1&y=%2F#z"],
  ["/a//b", "/a//b"],
  ["/%2F/evil.example", "/%2F/evil.example"],
  ["/?next=//evil.example", "/?next=//evil.example"],
  ["/ü", "/%C3%BC"],
  ["/a:b@c", "/a:b@c"],
])("who begins at %j is sent back to %j", async (path, expected) => {
  const browser = new Browser(server);
  const back = await begin(browser, `${startPath}?return=${encodeURIComponent(path)}`);
  expect(await finish(browser, back)).toBe(expected);
});

test("over HTTPS the login's cookie is of this host alone, and the public URL is named to the issuer", async () => {
  await startOwn({ notify: { publicUrl: "https://svc.example/logs" }, hostNames: ["svc.example"] });
  discovery = { end_session_endpoint: `${issuer.url}/end` };
  const browser = new Browser(server, { ...proxied, Host: "svc.example" });
  const sent = await browser.follow(startPath);
  expect(sent.cookies).toMatchObject([
    { name: "__Host-svc-login", attributes: { path: "/", httponly: "", secure: "", samesite: "Lax" } },
  ]);
  const to = new URL(sent.headers.location!);
  expect(to.searchParams.get("redirect_uri")).toBe(`https://svc.example/logs${callbackPath}`);
  nonce = to.searchParams.get("nonce")!;
  const state = to.searchParams.get("state");
  const wrong = await new Browser(server, { ...proxied, Host: "svc.example" }).follow(
    `${callbackPath}?state=x`,
  );
  expect(wrong.headers.location).toBe("/logs/signin?error=state");
  const done = await browser.follow(`${callbackPath}?code=c&state=${state}`);
  expect(done.headers.location).toBe("/logs/");
  expect([...browser.jar.keys()]).toEqual(["__Host-svc-session"]);
  const out = await browser.ask<{ redirect: string }>("/api/v1/session", { method: "DELETE" });
  expect(new URL(out.json.redirect).searchParams.get("post_logout_redirect_uri")).toBe(
    "https://svc.example/logs/signin",
  );
});

test("over plain HTTP nobody is sent anywhere but to the page for signing in", async () => {
  await startOwn({ address: { host: "0.0.0.0", port: 0 } });
  server.url = server.url.replace("0.0.0.0", "127.0.0.1");
  const sent = await new Browser(server, { Host: "svc.example" }).follow(startPath);
  expect([sent.status, sent.headers.location, sent.cookies]).toEqual([303, failed("transport"), []]);
});

test("without a client at an issuer there is no login", async () => {
  const other = await startServer({ identity: settings().identity });
  for (const path of [startPath, callbackPath]) {
    const got = await call(other, path);
    expect([got.status, got.json.error]).toEqual([
      404,
      "nobody signs in at an identity provider here: no --oidc-client-id is given",
    ]);
  }
  await other.stop();
});
