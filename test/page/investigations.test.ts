/** Investigations: asked for, read down to the rows that show the evidence, and judged. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import { loadShop, startOf, windowMs } from "../server/investigate/shop.ts";
import { noBrowser, PageTest } from "./browser.ts";

const name = "errors in stock";
const range = { from: String(startOf(name)), to: String(startOf(name) + windowMs - 1) };

describe.skipIf(noBrowser !== undefined)("investigations", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start({ queryDeadlineMs: 20_000 });
    await loadShop(site.server, [name]);
  }, 60_000);
  afterAll(() => site.stop());

  test("rows that are shown are investigated, and the evidence leads back to rows", async () => {
    const query = new URLSearchParams({ ...range, q: 'logs{log_level="error"}' });
    const page = await site.openAs(site.server.adminToken, `/?${query}`);
    await page.getByRole("link", { name: "Investigate", exact: true }).click();
    await page.getByRole("heading", { name: "Investigations" }).waitFor();
    expect(await page.getByLabel("Of a query or a trace").inputValue()).toBe('logs{log_level="error"}');
    await page.getByRole("button", { name: "Investigate" }).click();
    await page.getByText(/^stock is the likely cause/).waitFor();
    const first = page.locator(".suspect").first();
    await first
      .getByText(/log the error/)
      .first()
      .waitFor();
    await site.picture(page, "investigation");
    await first.getByRole("link", { name: "Log", exact: true }).first().click();
    await page
      .getByLabel("The row of this link")
      .getByText(/stock cannot do it/)
      .first()
      .waitFor();
    await page.goBack();
    await first.getByRole("link", { name: "Trace", exact: true }).first().click();
    await page.getByRole("link", { name: "Investigate", exact: true }).click();
    await page.getByRole("button", { name: "Investigate" }).click();
    await page.getByText(/, of the trace/).waitFor();
  });

  test("what a language model wrote leads to its evidence", async () => {
    const page = await site.openAs(site.server.adminToken, `/investigations?${new URLSearchParams(range)}`);
    // The server has no model: its answer is given what one writes.
    await page.route(/\/api\/v1\/investigations\/[^/]+$/, async (route) => {
      const response = await route.fetch();
      const opened = (await response.json()) as {
        answer: { suspects: { evidence: { id: string }[] }[]; narrative?: object[] };
      };
      const { id } = opened.answer.suspects.at(-1)!.evidence.at(-1)!;
      opened.answer.narrative = [{ sentence: "It was the disk.", evidence: [id] }];
      await route.fulfill({ response, json: opened });
    });
    await page.getByRole("button", { name: "Investigate" }).click();
    const link = page.getByRole("link", { name: /^Evidence / });
    const name = (await link.getAttribute("href"))!.slice(1);
    await link.click();
    await page.locator(`[id="${name}"]:focus`).waitFor();
    expect(new URL(page.url()).hash).toBe(`#${name}`);
    const top = (await page.locator(`[id="${name}"]`).boundingBox())!.y;
    expect(top).toBeLessThan(page.viewportSize()!.height);
    await page.unrouteAll({ behavior: "wait" });
  });

  test("people say whether it was right, and the list tells", async () => {
    const page = await site.openAs(site.server.adminToken, `/investigations?${new URLSearchParams(range)}`);
    await page.getByRole("button", { name: "Investigate" }).click();
    await page.getByRole("button", { name: "Wrong" }).click();
    await page.getByLabel("The true cause").fill("a full disk");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText(/says that it is wrong/).waitFor();
    await page.getByText("a full disk").waitFor();
    await page.getByRole("button", { name: "Right" }).click();
    await page.getByText(/says that it is right/).waitFor();
    await page.getByRole("link", { name: "All investigations" }).click();
    const line = page.getByRole("row", { name: /stock is the likely cause/ }).first();
    await line.getByRole("cell", { name: "right" }).waitFor();
  });

  test("a mistake stands at the field, and a viewer is not asked for an opinion", async () => {
    const { json } = await ask<{ token: string }>(site.server, "POST", "/tokens", { role: "viewer" });
    const page = await site.openAs(json.token, `/investigations?${new URLSearchParams(range)}`);
    await page.getByLabel("Of a query or a trace").fill("traces{");
    await page.getByRole("button", { name: "Investigate" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("Of a query or a trace").fill("");
    await page.getByRole("button", { name: "Investigate" }).click();
    await page.locator(".suspect").first().waitFor();
    expect(await page.getByRole("button", { name: "Wrong" }).count()).toBe(0);
  });
});
