/** Rows as they arrive: under a flood, while the reader stands still, and over a restart of the server. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

describe.skipIf(noBrowser !== undefined)("live rows", () => {
  let site: PageTest;
  let sent = 0;
  beforeAll(async () => {
    site = await PageTest.start();
  });
  afterAll(() => site.stop());

  async function send(count: number, what = "row"): Promise<void> {
    const rows = Array.from({ length: count }, () => {
      const number = sent++;
      return JSON.stringify({ timestamp: Date.now(), log_level: "info", message: `${what} ${number}` });
    });
    const { status, text } = await ingest(site.server, rows.join("\n"));
    expect([status, text]).toEqual([200, text]);
  }

  test("appear by themselves, stand still while they are read, and go on", async () => {
    const page = await site.open("/?live=1");
    await page.getByText("Rows appear here as they arrive.").waitFor();
    await page.getByText(/^Live, 0 rows/).waitFor();
    await send(3);
    await page.getByText("row 2", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByText(/^Paused: 0 new/).waitFor();
    await send(5);
    await page.getByText(/^Paused: 5 new, 8 rows so far/).waitFor();
    expect(await page.getByText("row 7", { exact: true }).count()).toBe(0);
    await site.picture(page, "live-paused");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByText("row 7", { exact: true }).waitFor();
    // Newest first.
    expect(await page.locator(".row-line .message").allInnerTexts()).toEqual(
      [7, 6, 5, 4, 3, 2, 1, 0].map((number) => `row ${number}`),
    );
  });

  test("a flood is shown as far as it can be, and each row is counted once", async () => {
    const page = await site.open("/?live=1&q=flood");
    await page.getByText(/^Live, 0 rows/).waitFor();
    for (let i = 0; i < 20; i++) await send(1_000, "flood");
    await page.getByText(/20,000 rows so far/).waitFor();
    // The page may have missed some of them. It keeps up again with what comes after.
    await send(1, "flood");
    await page.getByText(`flood ${sent - 1}`, { exact: true }).waitFor();
    await page.getByText(/20,001 rows so far/).waitFor();
    expect(await page.locator(".virtual-row").count()).toBeLessThan(120);
    // The page still answers keys.
    await page.keyboard.press("j");
    await page.locator(".row-line[data-focused]").waitFor();
  });

  test("only rows that the query finds appear", async () => {
    const page = await site.open("/?live=1&q=needle");
    await page.getByText(/^Live, 0 rows/).waitFor();
    await send(50, "hay");
    await send(1, "needle");
    await page.getByText(/^Live, 1 row so far/).waitFor();
    await page.locator(".row-line").waitFor();
    expect(await page.locator(".row-line").count()).toBe(1);
  });
});
