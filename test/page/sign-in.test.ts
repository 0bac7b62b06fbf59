/** Signing in with a token: refused, taken, revoked under an open page, signed out, and nothing of it left behind. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

describe.skipIf(noBrowser !== undefined)("signing in", () => {
  let site: PageTest;
  beforeAll(async () => {
    // Beyond loopback, whoever has no token may not search.
    site = await PageTest.start({ anonymousRead: false, address: { host: "0.0.0.0", port: 0 } });
    const rows = Array.from({ length: 30 }, (_, i) =>
      JSON.stringify({ timestamp: Date.now(), message: `row ${i}` }),
    );
    await ingest(site.server, rows.join("\n"));
  });
  afterAll(() => site.stop());

  async function makeToken(role: string): Promise<{ id: string; token: string }> {
    const got = await call<{ id: string; token: string }>(site.server, "/api/v1/tokens", {
      ...{ method: "POST", token: site.server.adminToken, body: JSON.stringify({ role, name: "on call" }) },
      headers: { "Content-Type": "application/json" },
    });
    expect([got.status, got.text]).toEqual([200, got.text]);
    return got.json;
  }

  test("leads to the search that was asked for, and a token that is revoked ends it", async () => {
    const { id, token } = await makeToken("viewer");
    const page = await site.open("/?q=row&from=-15m");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByLabel("Token").fill("svc_wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await site.picture(page, "signin-refused");
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByText("30 rows in").waitFor();
    expect(new URL(page.url()).search).toBe("?q=row&from=-15m");
    await page.getByTitle("Role: viewer").waitFor();
    // No script can read the cookie, and the token is kept nowhere.
    expect(await page.evaluate("document.cookie")).toBe("");
    expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage])")).not.toContain(token);
    await page.reload();
    await page.getByText("30 rows in").waitFor();

    const removed = await call(site.server, `/api/v1/tokens/${id}`, {
      ...{ method: "DELETE", token: site.server.adminToken },
    });
    expect(removed.status).toBe(200);
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("is undone by signing out, in every tab", async () => {
    const { token } = await makeToken("editor");
    const page = await site.open("/signin");
    await page.getByLabel("Token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByTitle("Role: editor").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${site.server.url}/?q=row`);
    await other.getByText("30 rows in").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await other.getByRole("button", { name: "Run" }).click();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("is undone for the Back button too, and the queries that were run are forgotten", async () => {
    const { token } = await makeToken("viewer");
    const page = await site.openAs(token, "/?q=row");
    await page.getByText("30 rows in").waitFor();
    const queries = "localStorage.getItem('svc.queries')";
    expect(await page.evaluate(queries)).toBe('["row"]');
    await page.getByTitle(/^Theme/).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.evaluate(queries)).toBeNull();
    expect(await page.evaluate("localStorage.getItem('svc.theme')")).toBe("dark");
    await page.goBack();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByText("row 1").count()).toBe(0);
  });

  test("is asked for anew where Back brings a page back as it was left", async () => {
    const { token } = await makeToken("viewer");
    const page = await site.openAs(token, "/?q=row");
    await page.getByText("30 rows in").waitFor();
    // Another window signs out.
    await page.evaluate("fetch('/api/v1/session', { method: 'DELETE' }).then(() => undefined)");
    // Playwright turns the cache of left pages off: its event is sent by hand.
    await page.evaluate("window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await page.getByText("row 1").count()).toBe(0);
  });

  test("never leads to another site", async () => {
    const { token } = await makeToken("viewer");
    for (const wanted of ["//evil.example/", "https://evil.example/", "/\\evil.example"]) {
      const page = await site.open(`/signin?return=${encodeURIComponent(wanted)}`);
      await page.getByLabel("Token").fill(token);
      await page.keyboard.press("Enter");
      await page.getByText(/\d rows in/).waitFor();
      expect(page.url()).toBe(`${site.server.url}/`);
      await page.context().close();
    }
  });
});
