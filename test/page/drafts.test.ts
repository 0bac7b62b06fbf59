/** Alerts and dashboards while they are edited: what is typed is what is saved, and nothing is lost without a question. */

import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { alertOf, board } from "./examples.ts";

describe.skipIf(noBrowser !== undefined)("edits that are not saved yet", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
  });
  beforeEach(async () => {
    const stored = [
      await ask(site.server, "POST", "/dashboards/update", { dashboard: board }),
      await ask(site.server, "POST", "/alerts/update", { alert: alertOf("cart", 2) }),
    ];
    expect(stored.map(({ status }) => status)).toEqual([200, 200]);
  });
  afterAll(() => site.stop());

  const open = (path: string) => site.openAs(site.server.adminToken, path);
  const readDashboard = async () => {
    const { json } = await ask<{ dashboard: typeof board }>(site.server, "GET", "/dashboards/board");
    return json.dashboard;
  };

  /** Does something that asks, and answers. Returns what was asked. */
  const answer = async (page: Page, isLeft: boolean, act: () => Promise<unknown>) => {
    const asked = page.waitForEvent("dialog").then(async (dialog) => {
      await (isLeft ? dialog.accept() : dialog.dismiss());
      return dialog.message();
    });
    await act();
    return asked;
  };
  const question = "Leave without saving? What you have changed is lost.";

  test("an alert is saved with the query that was typed last, whether or not it ran", async () => {
    const page = await open("/alerts/new");
    await page.getByLabel("Name").first().fill("typed");
    await page.getByLabel("Query").fill("count(logs{nothing");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".alert-fields .problem").first().waitFor();
    await page.getByLabel("Query").fill('count(logs{service.name="pay"})');
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/alerts\/[0-9a-f-]{36}$/);
    const { json } = await ask<{ alerts: ReturnType<typeof alertOf>[] }>(site.server, "GET", "/alerts");
    const saved = json.alerts.find(({ metadata }) => metadata.name === "typed")!;
    expect(saved.timeseries.expression.svcQLTimeseries.query).toBe('count(logs{service.name="pay"})');
  });

  test("a widget keeps the queries that were typed last, but runs none before Enter", async () => {
    const page = await open("/dashboards/board?edit=1");
    await page.getByRole("button", { name: "Edit Bars" }).click();
    const form = page.getByRole("dialog");
    const queries = form.getByLabel("Query");
    await form.getByRole("button", { name: "Another query" }).click();
    await form.getByRole("button", { name: "Another query" }).click();
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/query/timeseries")) asked.push(request.postDataJSON().query);
    });
    await queries.nth(0).fill("count(logs) by (a)");
    await queries.nth(1).fill("count(logs) by (b)");
    await queries.nth(2).fill("count(logs) by (c)");
    expect(asked.filter((query) => query.endsWith("(b)"))).toEqual([]);
    await form.getByRole("button", { name: "Remove query" }).first().click();
    await expect
      .poll(() => Promise.all([0, 1].map((i) => queries.nth(i).inputValue())))
      .toEqual(["count(logs) by (b)", "count(logs) by (c)"]);
    await queries.nth(0).fill("count(logs) by (d)");
    await form.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    const { widgets } = (await readDashboard()).content;
    const bars = widgets.find(({ type }) => type === "barGauge")!.barGauge!;
    expect(bars.expression.svcQLQueries.map(({ query }) => query)).toEqual([
      ...["count(logs) by (d)", "count(logs) by (c)"],
    ]);
  });

  test("a draft is there again after its person had to sign in anew, and is not shown to another", async () => {
    const page = await open("/alerts/cart");
    await page.getByRole("link", { name: "Edit" }).click();
    const description = page.getByLabel("Description");
    const save = page.getByRole("button", { name: "Save" });
    const endSession = async () => {
      await description.fill("half done");
      await page.context().clearCookies();
      await save.click();
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      expect(await description.isVisible()).toBe(false);
    };
    const signIn = async (token: string) => {
      await page.getByLabel("Token").fill(token);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "detached" });
    };
    await endSession();
    await signIn(site.server.adminToken);
    expect(await description.inputValue()).toBe("half done");
    await endSession();
    const other = await ask<{ token: string }>(site.server, "POST", "/tokens", {
      ...{ role: "editor", name: "somebody else" },
    });
    await signIn(other.json.token);
    await description.waitFor();
    expect(await description.inputValue()).not.toBe("half done");
  });

  test("links, keys and Back ask before they lead away from an alert", async () => {
    const page = await open("/alerts/cart");
    await page.getByRole("link", { name: "Edit" }).click();
    const description = page.getByLabel("Description");
    await description.fill("half done");
    const link = page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Traces" });
    const pressKeys = async () => {
      await page.getByRole("heading", { name: "Edit alert" }).click();
      for (const key of "gs") await page.keyboard.press(key);
    };
    for (const act of [() => link.click(), pressKeys, () => page.evaluate("history.back()")]) {
      expect(await answer(page, false, act)).toBe(question);
      await expect.poll(() => new URL(page.url()).pathname).toBe("/alerts/cart/edit");
      expect(await description.inputValue()).toBe("half done");
    }
    // Whoever stayed has the same history as before.
    await answer(page, true, () => page.evaluate("history.back()"));
    await page.getByRole("heading", { name: "Errors, cart" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/alerts/cart");
    await page.evaluate("history.forward()");
    await expect.poll(() => description.inputValue()).toBe("Somebody has to look");
    // Nothing is asked where nothing was changed.
    await link.click();
    await page.getByRole("heading", { name: "Traces" }).waitFor();
  });

  test("Back out of the editor asks, and then shows the dashboard as it is stored", async () => {
    const page = await open("/dashboards/board");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByRole("button", { name: "Settings and variables" }).click();
    await page.getByRole("dialog").getByLabel("Title").fill("Renamed");
    await page.getByRole("button", { name: "Done" }).click();
    const title = page.getByRole("heading", { level: 1 });
    await expect.poll(() => title.textContent()).toBe("Renamed");
    // Another range or value of a variable leaves the edits as they are.
    await page.getByLabel("Refresh", { exact: true }).first().selectOption("Every minute");
    expect(await title.textContent()).toBe("Renamed");
    expect(await answer(page, false, () => page.evaluate("history.back()"))).toBe(question);
    await page.getByText("Not saved yet").waitFor();
    expect(await title.textContent()).toBe("Renamed");
    expect(await answer(page, false, () => page.getByRole("button", { name: "Cancel" }).click())).toBe(
      question,
    );
    await answer(page, true, () => page.evaluate("history.back()"));
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    expect(await title.textContent()).toBe("Shop");
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await page.getByText("Nothing was changed yet").waitFor();
    expect(await title.textContent()).toBe("Shop");
    expect((await readDashboard()).metadata.title).toBe("Shop");
  });
});
