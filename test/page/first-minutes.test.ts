/** The first minutes with an empty store: what to do stands there, a sample comes by a click, rows show by themselves. */

import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { call, type Found, ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

describe.skipIf(noBrowser !== undefined)("an empty store", () => {
  let site: PageTest;
  beforeEach(async () => {
    site = await PageTest.start();
  });
  afterEach(() => site.stop());

  test("says how to send the first row, and turns into the search by itself", async () => {
    const page = await site.open("/");
    await page.getByRole("heading", { name: "No rows are stored yet" }).waitFor();
    const shown = (await page.locator(".first-rows pre").textContent())!;
    expect(shown).toContain(`curl ${site.server.url}/api/v1/ingest/logs`);
    await site.picture(page, "first-minutes");
    // The row that the command would send.
    const body = /--data-binary '(.*)'/.exec(shown)![1]!;
    expect((await ingest(site.server, body)).json.accepted).toBe(1);
    await page.getByText("connection refused", { exact: true }).waitFor();
    await page.getByText("1 row in").waitFor();
  });

  test("a sample is loaded by whoever may, and no token of it stays", async () => {
    const page = await site.open("/");
    await page.getByRole("link", { name: "Sign in" }).last().click();
    await page.getByLabel("Token").fill(site.server.adminToken);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Load a sample" }).click();
    await page.getByText(/3,00\d rows in/).waitFor();
    await page.getByLabel("Query").fill("refused");
    await page.keyboard.press("Enter");
    await page.getByText("connection refused by").first().waitFor();
    const { tokens } = (
      await call<{ tokens: { name: string }[] }>(site.server, "/api/v1/tokens", {
        token: site.server.adminToken,
      })
    ).json;
    expect(tokens.map(({ name }) => name)).not.toContain("sample of the page");
  });

  test("a search that finds nothing says when it would have found something", async () => {
    const row = { timestamp: Date.now() - 5 * 86_400_000, message: "long ago" };
    await ingest(site.server, JSON.stringify(row));
    const page = await site.open("/?q=ago");
    await page.getByText("The newest that the query finds is of").waitFor();
    await page.getByRole("button", { name: "Search the hour before it" }).click();
    await page.getByText("long ago", { exact: true }).waitFor();
    await page.getByLabel("Query").fill("nowhere");
    await page.keyboard.press("Enter");
    await page.getByText("No stored row is found by this query.").waitFor();
    const found = await call<Found>(site.server, "/api/v1/query/logs", {
      ...{ method: "POST", headers: { "Content-Type": "application/json" } },
      body: JSON.stringify({ query: "nowhere", startTime: 0, endTime: Date.now() }),
    });
    expect(found.json.count).toBe(0);
  });
});
