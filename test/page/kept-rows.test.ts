/** What was found stays as it is while other parts of the address change. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const range = `from=${startMs}&to=${startMs + 3_600_000}`;

describe.skipIf(noBrowser !== undefined)("rows that were found", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    const rows = Array.from({ length: 1_500 }, (_, i) => ({
      ...{ timestamp: startMs + i * 1_000, log_level: "info", message: `row ${i}` },
      attributes: { "service.name": i % 2 === 0 ? "cart" : "pay" },
    }));
    expect((await ingest(site.server, lines(rows))).json.accepted).toBe(1_500);
  });
  afterAll(() => site.stop());

  /** The paths of the questions for rows that the page asks from now on. */
  function watchQuestions(page: Page): string[] {
    const asked: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (/query\/(?:logs|histogram|fields)$/.test(pathname)) asked.push(pathname);
    });
    return asked;
  }

  /** Opens a row below the first page of rows, and watches the questions after that. */
  async function openFarRow(page: Page): Promise<string[]> {
    await page.getByText("1,500 rows in").waitFor();
    const list = page.getByRole("region", { name: "Rows" });
    const far = page.getByText("row 300", { exact: true });
    for (let i = 0; i < 200 && !(await far.isVisible()); i++) {
      await list.evaluate((element) => element.scrollBy(0, 600));
      await page.waitForTimeout(30);
    }
    await far.click();
    await page.getByRole("button", { name: "Copy message" }).waitFor();
    return watchQuestions(page);
  }

  const topOf = (page: Page) =>
    page.getByRole("region", { name: "Rows" }).evaluate((element) => element.scrollTop);

  test("stay where they are while a column is shown and the bars are split", async () => {
    const page = await site.open(`/?${range}`);
    const asked = await openFarRow(page);
    const top = await topOf(page);
    await page.getByRole("button", { name: "Column of service.name" }).click();
    await page.locator(".row-line .column").first().waitFor();
    await page.getByLabel("Fields").getByText("service.name").click();
    await page.getByRole("button", { name: "Split the bars by this" }).click();
    await page.locator(".histogram").getByRole("button", { name: "by service.name" }).waitFor();
    expect(await topOf(page)).toBe(top);
    expect(await page.getByRole("button", { name: "Copy message" }).isVisible()).toBe(true);
    expect(asked).toEqual(["/api/v1/query/histogram"]);
  });

  test("come back as they were after patterns and after rows that arrive", async () => {
    const page = await site.open(`/?${range}`);
    const asked = await openFarRow(page);
    const top = await topOf(page);
    await page.getByRole("tab", { name: "Patterns" }).click();
    await page.getByRole("cell", { name: "row <*>" }).waitFor();
    await page.getByRole("tab", { name: "Rows" }).click();
    await page.getByRole("button", { name: "Copy message" }).waitFor();
    expect(await topOf(page)).toBe(top);
    const live = page.getByRole("button", { name: "Live", exact: true });
    await live.click();
    await page.getByText("Rows appear here as they arrive.").waitFor();
    await live.click();
    await page.getByRole("button", { name: "Copy message" }).waitFor();
    expect(await topOf(page)).toBe(top);
    expect(asked).toEqual([]);
  });

  test("stay when the row of a link is closed", async () => {
    const { json } = await call<{ logs: { id: string }[] }>(site.server, "/api/v1/query/logs", {
      ...{ method: "POST", token: site.server.adminToken },
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        startTime: startMs,
        endTime: startMs + 3_600_000,
        query: "",
        limit: 1,
        ids: true,
      }),
    });
    const page = await site.open(`/?${range}&row=${encodeURIComponent(json.logs[0]!.id)}`);
    const linked = page.getByRole("region", { name: "The row of this link" });
    await linked.getByRole("button", { name: "Copy message" }).waitFor();
    await page.getByText("1,500 rows in").waitFor();
    const asked = watchQuestions(page);
    await linked.getByRole("button", { name: "Close the row of this link" }).click();
    await linked.waitFor({ state: "detached" });
    // A question would be asked in the same turn.
    await page.waitForTimeout(300);
    expect(asked).toEqual([]);
  });
});
