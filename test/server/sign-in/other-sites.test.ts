/** What pages of other sites can make a browser do that has signed in: nothing. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Running, startServer } from "../running.ts";
import { Browser, proxied } from "./browser.ts";

let server: Running;
let browser: Browser;
beforeAll(async () => {
  server = await startServer({
    notify: { publicUrl: "https://svc.example/svc" },
    hostNames: ["svc.example"],
  });
});
afterAll(() => server.stop());

type Headers = Record<string, string | undefined>;

/** Tries to write with the session; the status is 200 where it may. */
async function write(headers: Headers): Promise<{ status: number; error: unknown }> {
  const silence = { id: "s", alertIds: ["a"], endsAt: Date.now() + 60_000 };
  const got = await browser.ask("/api/v1/silences/s", { method: "PUT", body: { silence }, headers });
  return { status: got.status, error: got.json?.error };
}

const notOwn =
  "a request with a session's cookie must come from a page of this server: Sec-Fetch-Site or Origin must say so";
const notJson =
  "a request with a session's cookie must have a body of Content-Type application/json, or none";
const silent = { "Sec-Fetch-Site": undefined };
/** In the place of the server's address: another port each time. */
const fill = (headers: Headers): Headers => {
  const host = new URL(server.url).host;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value?.replace("HOST", host)]),
  );
};

describe("on this machine", () => {
  beforeEach(async () => {
    browser = new Browser(server);
    expect((await browser.signIn(server.adminToken)).status).toBe(200);
  });

  test.each<[string, Headers]>([
    ["the server's own page", {}],
    ["the server's own page, of an old browser", { ...silent, Origin: "http://HOST" }],
    ["the server's own page behind a proxy that changes Host", { Origin: "https://elsewhere.example" }],
    ["with a charset", { "Content-Type": "application/json; charset=utf-8" }],
  ])("writes are taken of %s", async (_what, headers) => {
    expect(await write(fill(headers))).toMatchObject({ status: 200 });
  });

  test.each<[string, Headers, string]>([
    ["no page that says so", silent, notOwn],
    ["another site", { "Sec-Fetch-Site": "cross-site" }, notOwn],
    ["another host of the domain", { "Sec-Fetch-Site": "same-site" }, notOwn],
    ["another port of this machine", { ...silent, Origin: "http://127.0.0.1:1" }, notOwn],
    ["an address bar", { "Sec-Fetch-Site": "none" }, notOwn],
    [
      "a site that claims this origin as well",
      { "Sec-Fetch-Site": "cross-site", Origin: "http://HOST" },
      notOwn,
    ],
    ["another scheme", { ...silent, Origin: "https://HOST" }, notOwn],
    ["a sandboxed page", { ...silent, Origin: "null" }, notOwn],
    ["an origin that is none", { ...silent, Origin: "HOST" }, notOwn],
    ["an origin that begins alike", { ...silent, Origin: "http://HOST.evil.example" }, notOwn],
    ["an origin with this one as its user", { ...silent, Origin: "http://HOST@evil.example" }, notOwn],
    ["a form", { "Content-Type": "text/plain" }, notJson],
    ["another form", { "Content-Type": "application/x-www-form-urlencoded" }, notJson],
    ["no Content-Type", { "Content-Type": undefined }, notJson],
    ["a type that begins alike", { "Content-Type": "application/json-patch+json" }, notJson],
    ["a type after another", { "Content-Type": "text/plain, application/json" }, notJson],
  ])("writes are refused of %s", async (_what, headers, error) => {
    expect(await write(fill(headers))).toEqual({ status: 403, error });
  });

  test("what a header's token sends needs no page", async () => {
    const headers = { ...silent, Authorization: `Bearer ${server.adminToken}` };
    expect(await write(headers)).toMatchObject({ status: 200 });
  });

  test("a deletion has no body, and needs a page all the same", async () => {
    await write({});
    const remove = (headers: Headers) =>
      browser.ask("/api/v1/silences/s", { method: "DELETE", headers }).then(({ status }) => status);
    expect(await remove(silent)).toBe(403);
    expect(await remove({})).toBe(200);
  });

  test("signing in and out takes a page of this server, too", async () => {
    for (const site of ["cross-site", "same-site"]) {
      const headers = { "Sec-Fetch-Site": site };
      const out = await browser.ask("/api/v1/session", { method: "DELETE", headers });
      expect([out.status, out.cookies]).toEqual([403, []]);
      const body = { token: server.adminToken };
      expect((await browser.ask("/api/v1/session", { body, headers })).status).toBe(403);
      const fresh = await new Browser(server).ask("/api/v1/session", { body, headers });
      expect([fresh.status, fresh.cookies]).toEqual([403, []]);
      expect(await browser.status()).toBe(200);
    }
    const form = {
      body: JSON.stringify({ token: server.adminToken }),
      headers: { "Content-Type": "text/plain" },
    };
    expect((await new Browser(server).ask("/api/v1/session", form)).status).toBe(415);
  });

  test.each<[string, Headers, number]>([
    ["the server's own page", {}, 200],
    ["a program", silent, 200],
    ["an address bar", { "Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document" }, 200],
    [
      "a link of another host of the domain",
      { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "document" },
      200,
    ],
    [
      "an image on another host of the domain",
      { "Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "image" },
      403,
    ],
    ["a frame on another site", { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "iframe" }, 403],
    ["a script of another site", { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" }, 403],
  ])("reads for %s", async (_what, headers, status) => {
    expect((await browser.ask("/api/v1/alerts", { headers })).status).toBe(status);
    expect((await browser.ask("/api/v1/alerts", { method: "HEAD", headers })).status).toBe(status);
    expect((await browser.ask("/api/v1/session", { headers })).status).toBe(status);
  });

  test("a page whose name was made to lead here gets nothing", async () => {
    for (const Host of ["evil.example", "evil.example:80", `127.0.0.1.evil.example:${server.port}`]) {
      for (const path of ["/api/v1/alerts", "/api/v1/session", "/api/v1/session/oidc/start"]) {
        const got = await browser.ask(path, { headers: { Host, Origin: `http://${Host}` } });
        expect([Host, path, got.status]).toEqual([Host, path, 403]);
      }
    }
  });
});

describe("over HTTPS", () => {
  beforeEach(async () => {
    browser = new Browser(server, proxied);
    expect((await browser.signIn(server.adminToken)).status).toBe(200);
    expect([...browser.jar.keys()]).toEqual(["__Host-svc-session"]);
  });

  test.each<[string, Headers, number]>([
    ["the page's origin", { ...silent, Origin: "https://HOST" }, 200],
    ["the public URL's, where the proxy changes Host", { ...silent, Origin: "https://svc.example" }, 200],
    ["another scheme", { ...silent, Origin: "http://HOST" }, 403],
    ["another scheme of the public URL", { ...silent, Origin: "http://svc.example" }, 403],
    ["another port", { ...silent, Origin: "https://svc.example:444" }, 403],
    ["another site", { ...silent, Origin: "https://evil.example" }, 403],
  ])("a write of %s", async (_what, headers, status) => {
    expect((await write(fill(headers))).status).toBe(status);
  });

  test("the session goes on under another name that is allowed", async () => {
    expect((await browser.ask("/api/v1/alerts", { headers: { Host: "svc.example" } })).status).toBe(200);
    expect((await browser.ask("/api/v1/alerts", { headers: { Host: "evil.example" } })).status).toBe(403);
  });
});
