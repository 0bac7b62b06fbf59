/** A page that stays open while its server is away for a moment, as in an upgrade. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { findFreePort } from "../server/free-port.ts";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { openProxy } from "./proxy.ts";

describe.skipIf(noBrowser !== undefined)("a restart of the server", () => {
  let site: PageTest;
  beforeAll(async () => {
    // Who lets the system choose a port gets another one each time.
    site = await PageTest.start({ address: { host: "127.0.0.1", port: await findFreePort() } });
  });
  afterAll(() => {
    // Requests that find no server are reported by the browser, and told by the page.
    const expected =
      /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED|ERR_CONTENT_LENGTH/;
    site.problems.splice(0, Infinity, ...site.problems.filter((each) => !expected.test(each)));
    return site.stop();
  });

  const send = async (message: string) => {
    const { status } = await ingest(site.server, JSON.stringify({ timestamp: Date.now(), message }));
    expect(status).toBe(200);
  };

  test("is told, and is over once the server is back: the session, the search and live rows go on", async () => {
    await send("before");
    const searching = await site.openAs(site.server.adminToken, "/?q=before");
    await searching.getByText("1 row in").waitFor();
    const live = await searching.context().newPage();
    await live.goto(`${site.server.url}/?live=1`);
    await live.getByText(/^Live, 0 rows/).waitFor();
    await site.restart(async () => {
      await searching.getByRole("button", { name: "Run" }).click();
      await searching
        .getByRole("alert")
        .getByText(/server/)
        .waitFor();
      // What was found stays.
      await searching.getByText("before", { exact: true }).first().waitFor();
    });
    await searching.getByRole("button", { name: "Run" }).click();
    await searching.getByRole("alert").waitFor({ state: "detached" });
    await searching.getByText("1 row in").waitFor();
    await searching.getByRole("button", { name: "Sign out" }).waitFor();
    await expect.poll(() => live.getByText(/^Live, 0 rows/).count(), { timeout: 20_000 }).toBe(1);
    await send("after");
    await live.getByText("after", { exact: true }).waitFor();
  });

  /** Opens a page whose answers the test can spoil. */
  const openBehindProxy = async (path: string) => {
    const proxy = await openProxy(site.server.url);
    onTestFinished(() => proxy.close());
    site.allowedOrigins.add(proxy.url);
    const page = await site.open("/signin");
    await page.goto(proxy.url + path);
    return { page, proxy };
  };

  test("a connection that breaks in the middle of an answer is told, and what was found stays", async () => {
    await send("whole answer");
    const { page, proxy } = await openBehindProxy("/?q=whole");
    await page.getByText("1 row in").waitFor();
    proxy.fault = { path: /query\/logs/, kind: "broken connection" };
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").getByText("The server cannot be reached.").waitFor();
    await page.getByText("whole answer", { exact: true }).first().waitFor();
    proxy.fault = undefined;
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByRole("alert").waitFor({ state: "detached" });
  });

  test("a screen whose file an upgrade has removed offers to load the page again", async () => {
    const { page, proxy } = await openBehindProxy("/alerts");
    await page.getByText("There are no alerts yet.").waitFor();
    proxy.fault = { path: /^\/assets\//, kind: "missing file" };
    await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Traces" }).click();
    await page.getByRole("alert").getByText("A part of the page cannot be loaded").waitFor();
    expect(await page.getByText("Loading…").count()).toBe(0);
    proxy.fault = undefined;
    await page.getByRole("button", { name: "Load the page again" }).click();
    await page.getByRole("heading", { name: "Traces" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("a search that needs a file that is gone says so too", async () => {
    const { page, proxy } = await openBehindProxy("/");
    const query = page.getByLabel("Query");
    await query.waitFor();
    proxy.fault = { path: /^\/assets\/language/, kind: "missing file" };
    await page.reload();
    await query.fill("count(logs)");
    await query.press("Enter");
    await page.getByRole("alert").getByText("A part of the page cannot be loaded").waitFor();
  });
});
