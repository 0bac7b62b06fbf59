/** Sessions of browsers: what begins one, and what it stands for. */

import { describe, expect, test } from "vitest";
import { ask } from "../control/asking.ts";
import { call, ingest, lines } from "../running.ts";
import { openTail } from "../search/tail-reader.ts";
import { Browser, proxied, type Who } from "./browser.ts";
import { day, hour, useSessionServer } from "./session-server.ts";

const scene = useSessionServer();

const tokenOf = async (role: string) => (await scene.makeToken({ role })).token;

describe("the cookie", () => {
  const secret = expect.stringMatching(/^[\w-]{43}$/);

  test("on this machine has no prefix and is not Secure, which browsers would not keep everywhere", async () => {
    const { cookies } = await new Browser(scene.server).signIn(scene.server.adminToken);
    const attributes = { path: "/", "max-age": "604800", httponly: "", samesite: "Strict" };
    expect(cookies).toEqual([{ name: "svc-session", value: secret, attributes }]);
  });

  const secure = { path: "/", "max-age": "604800", httponly: "", secure: "", samesite: "Strict" };

  test("behind a proxy of this machine that speaks HTTPS is of this host alone", async () => {
    const { cookies } = await new Browser(scene.server, proxied).signIn(scene.server.adminToken);
    expect(cookies).toEqual([{ name: "__Host-svc-session", value: secret, attributes: secure }]);
  });

  test("on another address takes a public URL of https", async () => {
    await scene.startOwn({
      address: { host: "0.0.0.0", port: 0 },
      notify: { publicUrl: "https://svc.example" },
    });
    const browser = new Browser(scene.server, { Host: "svc.example" });
    const { cookies } = await browser.signIn(scene.server.adminToken);
    expect(cookies).toEqual([{ name: "__Host-svc-session", value: secret, attributes: secure }]);
    expect((await browser.who()).role).toBe("admin");
  });

  test.each([
    ["a public URL of http", { notify: { publicUrl: "http://svc.example" } }, {}],
    ["no public URL", {}, {}],
    ["what anybody may say of the way", {}, { "X-Forwarded-Proto": "https" }],
  ])("is not given over plain HTTP: %s", async (_what, changes, headers) => {
    await scene.startOwn({ address: { host: "0.0.0.0", port: 0 }, ...changes });
    const browser = new Browser(scene.server, { Host: "svc.example", ...headers });
    const got = await browser.signIn(scene.server.adminToken);
    expect([got.status, got.cookies]).toEqual([403, []]);
    expect(got.json.error).toContain("signing in takes HTTPS");
    expect((await browser.who()).features.signIn).toBe(false);
  });

  test("lives no longer than the token", async () => {
    const { token } = await scene.makeToken({ role: "viewer", expiresAt: Date.now() + hour });
    const { cookies, json } = await new Browser(scene.server).signIn(token);
    expect(Number(cookies[0]!.attributes["max-age"])).toBeGreaterThan(3_500);
    expect(Number(cookies[0]!.attributes["max-age"])).toBeLessThanOrEqual(3_600);
    expect(json.expiresAt).toBeLessThanOrEqual(Date.now() + hour);
  });
});

describe("who asks", () => {
  const features = { signIn: true, oidc: false, anonymousRead: true };
  const known = { groups: null, features };

  test.each([
    ["admin", ["search", "notify", "configure", "manage access", "manage tokens", "back up"]],
    ["editor", ["search", "notify", "configure"]],
    ["viewer", ["search", "notify"]],
  ])("a session of role %s is told what it may do", async (role, permissions) => {
    const { token } = await scene.makeToken({ role, name: "ops" });
    const browser = new Browser(scene.server);
    const begun = (await browser.signIn(token)).json;
    const expected = { ...known, signedIn: true, name: "ops", role, permissions };
    expect(begun).toEqual({ ...expected, expiresAt: expect.closeTo(Date.now() + 7 * day, -4) });
    expect(await browser.who()).toEqual(begun);
  });

  test("nobody may search on this machine, and nothing through a proxy or once a rule exists", async () => {
    await scene.startOwn();
    const nobody = { ...known, signedIn: false, name: "anonymous", role: "anonymous" };
    expect(await new Browser(scene.server).who()).toEqual({ ...nobody, permissions: ["search"] });
    const closed = { ...nobody, permissions: [], features: { ...features, anonymousRead: false } };
    expect(await new Browser(scene.server, proxied).who()).toEqual(closed);
    const rules = [{ signals: ["logs"] }];
    const telemetryRule = { id: "r", type: "cluster", groups: ["g"], rules };
    expect((await ask(scene.server, "POST", "/telemetry-rules", { telemetryRule })).status).toBe(200);
    expect(await new Browser(scene.server).who()).toEqual(closed);
  });

  test("the bearer of a token in a header is named, and has no session", async () => {
    const { token } = await scene.makeToken({ role: "ingest", name: "agent" });
    const got = await call(scene.server, "/api/v1/session", { token });
    expect(got.json).toEqual({
      ...known,
      signedIn: false,
      name: "agent",
      role: "ingest",
      permissions: ["ingest", "synchronize"],
    });
    expect((await call(scene.server, "/api/v1/session", { token: "svc_wrong" })).status).toBe(401);
  });

  test("a header goes before the cookie", async () => {
    const browser = await scene.signedIn(scene.server.adminToken);
    const headers = { Authorization: `Bearer ${await tokenOf("viewer")}` };
    expect((await browser.ask<Who>("/api/v1/session", { headers })).json).toMatchObject({
      signedIn: false,
      role: "viewer",
    });
    expect((await browser.ask("/api/v1/tokens", { headers })).status).toBe(403);
    expect((await browser.ask("/api/v1/tokens")).status).toBe(200);
  });
});

describe("a session", () => {
  test("reads and writes as its token does, and sends no rows", async () => {
    const browser = await scene.signedIn(await tokenOf("editor"));
    const silence = { id: "s", alertIds: ["a"], endsAt: Date.now() + hour };
    const written = await browser.ask("/api/v1/silences/s", { method: "PUT", body: { silence } });
    expect([written.status, written.text]).toEqual([200, expect.stringContaining("s")]);
    expect((await browser.ask("/api/v1/tokens")).status).toBe(403);
    const admin = await scene.signedIn(scene.server.adminToken);
    for (const path of ["/api/v1/ingest/logs", "/v1/logs", "/loki/api/v1/push"]) {
      const sent = await admin.ask(path, { body: [{ message: "x" }] });
      expect([path, sent.status]).toEqual([path, 401]);
      expect(sent.text).toContain("rows are sent with a token of this server, not by a session");
    }
  });

  test("reads what the rules of its token's groups grant, which may change", async () => {
    await scene.startOwn();
    await ingest(
      scene.server,
      lines(["shop", "pay"].map((team) => ({ message: team, attributes: { team } }))),
    );
    const match = { matchExpressions: [{ key: "team", operator: "In", values: ["shop"] }] };
    const telemetryRule = { id: "r", type: "cluster", groups: ["g"], rules: [{ signals: ["logs"], match }] };
    expect((await ask(scene.server, "POST", "/telemetry-rules", { telemetryRule })).status).toBe(200);
    const { id, token } = await scene.makeToken({ role: "viewer", groups: ["g"] });
    const browser = await scene.signedIn(token);
    const body = { query: "", startTime: 0, endTime: Date.now() + day };
    const seen = async () => {
      const got = await browser.ask<{ logs: { message: string }[] }>("/api/v1/query/logs", { body });
      return got.json.logs.map(({ message }) => message);
    };
    expect(await seen()).toEqual(["shop"]);
    expect((await browser.who()).groups).toEqual(["g"]);
    await ask(scene.server, "PUT", `/tokens/${id}`, { groups: ["other"] });
    expect(await seen()).toEqual([]);
    expect((await browser.who()).groups).toEqual(["other"]);
  });

  test("tails, until it is over", async () => {
    const browser = await scene.signedIn(scene.server.adminToken);
    const reader = await openTail(scene.server, { headers: { Cookie: browser.cookieHeader! } });
    expect(reader.status).toBe(200);
    await ingest(scene.server, lines([{ message: "one" }]));
    await reader.until((it) => it.entries().length === 1);
    await browser.ask("/api/v1/session", { method: "DELETE" });
    await reader.ended;
    expect(reader.events.at(-1)).toMatchObject({ event: "end" });
    expect(JSON.stringify(reader.events.at(-1)!.data)).toContain("the session is over");
    const again = await openTail(scene.server, { headers: { Cookie: "svc-session=x" } });
    expect(again.status).toBe(401);
    again.leave();
  });

  test.each([
    [{}, 400, "token is required"],
    [{ token: 5 }, 400, "token must be a string, got 5"],
    [{ token: "" }, 400, "token"],
    [{ token: "x".repeat(20_000) }, 400, "token"],
    [{ tokens: "x" }, 400, 'unknown field "tokens"; did you mean token?'],
    [{ token: "svc_wrong" }, 401, "the token is unknown, expired or revoked"],
    [{ token: `svc_000000000000_${"A".repeat(43)}` }, 401, "the token is unknown, expired or revoked"],
    [{ token: "aaaa.bbbb.cccc" }, 401, "the token is not one that this server takes"],
  ])("does not begin with %j", async (body, status, error) => {
    const got = await new Browser(scene.server).ask<Who>("/api/v1/session", { body });
    expect([got.status, got.cookies]).toEqual([status, []]);
    expect(got.json.error).toContain(error);
  });

  test("does not begin with a token that sends rows", async () => {
    const got = await new Browser(scene.server).signIn(await tokenOf("ingest"));
    expect([got.status, got.json.error]).toEqual([
      403,
      "a token of role ingest sends rows: nobody signs in with it",
    ]);
  });

  test("has an id of its own making, whatever the browser brings along", async () => {
    const browser = new Browser(scene.server);
    browser.jar.set("svc-session", "A".repeat(43));
    expect(await browser.who()).toMatchObject({ signedIn: false });
    browser.jar.set("svc-session", "A".repeat(43));
    await browser.signIn(scene.server.adminToken);
    const first = browser.jar.get("svc-session")!;
    expect(first).not.toBe("A".repeat(43));
    await browser.signIn(scene.server.adminToken);
    expect(browser.jar.get("svc-session")).not.toBe(first);
    // The first one is over: no two sessions belong to one browser.
    const thief = new Browser(scene.server);
    thief.jar.set("svc-session", first);
    expect(await thief.status()).toBe(401);
    expect(await browser.status()).toBe(200);
  });

  test("over HTTPS is not taken from a cookie that another host of the domain could set", async () => {
    const attacker = await scene.signedIn(scene.server.adminToken);
    const victim = new Browser(scene.server, proxied);
    victim.jar.set("svc-session", attacker.jar.get("svc-session")!);
    expect(await victim.who()).toMatchObject({ signedIn: false });
    victim.jar.set("x", `1, __Host-svc-session=${attacker.jar.get("svc-session")}`);
    expect(await victim.who()).toMatchObject({ signedIn: false });
  });

  test("stands beside another of the same token", async () => {
    const [one, other] = [
      await scene.signedIn(scene.server.adminToken),
      await scene.signedIn(scene.server.adminToken),
    ];
    const out = await one.ask("/api/v1/session", { method: "DELETE" });
    expect([out.status, out.json]).toEqual([200, {}]);
    expect(one.jar.size).toBe(0);
    expect([await one.who(), await other.who()]).toMatchObject([{ signedIn: false }, { signedIn: true }]);
    // Who is signed out may sign out.
    expect((await one.ask("/api/v1/session", { method: "DELETE" })).status).toBe(200);
  });

  test("of the same token ends where there are too many: the one that was used longest ago", async () => {
    const { token } = await scene.makeToken({ role: "viewer" });
    const other = await scene.signedIn(await tokenOf("viewer"));
    const browsers: Browser[] = [];
    for (let i = 0; i < 20; i++) {
      scene.passedMs++;
      browsers.push(await scene.signedIn(token));
    }
    scene.passedMs++;
    expect(await browsers[0]!.status()).toBe(200);
    await scene.signedIn(token);
    expect(await Promise.all(browsers.map((each) => each.status()))).toEqual([
      200,
      401,
      ...new Array<number>(18).fill(200),
    ]);
    expect(await other.status()).toBe(200);
  });
});
