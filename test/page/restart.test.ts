/** A page that stays open while its server is away for a moment, as in an upgrade. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "../server/free-port.ts";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

describe.skipIf(noBrowser !== undefined)("a restart of the server", () => {
  let site: PageTest;
  beforeAll(async () => {
    // Who lets the system choose a port gets another one each time.
    site = await PageTest.start({ address: { host: "127.0.0.1", port: await findFreePort() } });
  });
  afterAll(() => {
    // Requests that find no server are reported by the browser, and told by the page.
    const expected = /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED/;
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
});
