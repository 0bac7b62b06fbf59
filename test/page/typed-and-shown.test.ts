/** What stands in a row is shown as it is, and what a person types means what it says. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const range = `from=${startMs}&to=${startMs + 60_000}`;
const message = '{"order": 9007199254740993, "price": 1.10, "lines": [{"count": 1e2}]}';

describe.skipIf(noBrowser !== undefined)("texts and times", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    await ingest(site.server, JSON.stringify({ timestamp: startMs, message }));
  });
  afterAll(() => site.stop());

  test("numbers of a JSON message keep their digits, and its text can be seen and copied", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const page = await site.open(`/?${range}`, { permissions });
    await page.getByRole("button", { name: "Details" }).click();
    const leaves = page.locator(".row-detail .json-leaf");
    await leaves.first().waitFor();
    expect(await leaves.allTextContents()).toEqual(["order: 9007199254740993", "price: 1.10", "count: 1e2"]);
    const raw = page.locator(".row-detail pre.message");
    expect(await raw.count()).toBe(0);
    await page.getByRole("button", { name: "Raw text" }).click();
    expect(await raw.textContent()).toBe(message);
    await page.getByRole("button", { name: "Copy message" }).click();
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe(message);
  });

  test("a time of the day on which the clocks change is that of the clock", async () => {
    const page = await site.open("/", { timezoneId: "America/New_York" });
    await page.getByRole("button", { name: "Last hour" }).first().click();
    await page.getByLabel("From").fill("2026-03-08 03:30");
    await page.getByLabel("To", { exact: true }).fill("2026-03-08 04:30");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(/from=/);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get("from"), searchParams.get("to")].map(Number)).toEqual([
      Date.UTC(2026, 2, 8, 7, 30),
      Date.UTC(2026, 2, 8, 8, 30),
    ]);
  });

  test("a time that the clock shows twice stays the one that it was", async () => {
    // The second half past one of that night.
    const secondMs = Date.UTC(2026, 10, 1, 6, 30);
    const laterMs = secondMs + 3_600_000;
    const page = await site.open(`/?from=${secondMs}&to=${laterMs}`, { timezoneId: "America/New_York" });
    await page.locator("#range").click();
    const from = page.getByLabel("From", { exact: true });
    expect(await from.inputValue()).toBe("2026-11-01 01:30:00.000");
    await page.getByLabel("To", { exact: true }).fill("2026-11-01 03:30");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get("to") === String(secondMs + 7_200_000));
    expect(new URL(page.url()).searchParams.get("from")).toBe(String(secondMs));
    const compared = `a=${secondMs}-${laterMs}&b=${secondMs}-${laterMs}`;
    await page.goto(`${site.server.url}/?from=${secondMs}&to=${laterMs}&view=compare&${compared}`);
    await page.getByLabel("Look into: to").fill("2026-11-01 03:30");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.waitForURL(({ searchParams }) => {
      return searchParams.get("a") === `${secondMs}-${secondMs + 7_200_000}`;
    });
    expect(new URL(page.url()).searchParams.get("b")).toBe(`${secondMs}-${laterMs}`);
  });
});
