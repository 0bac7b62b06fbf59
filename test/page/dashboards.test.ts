/** Dashboards: every kind of widget, variables, and edits by keyboard that keep what the page does not know. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import { ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { board } from "./examples.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const range = `from=${startMs}&to=${startMs + 600_000}`;
const services = ["cart", "mail", "pay"];
describe.skipIf(noBrowser !== undefined)("dashboards", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    const rows = services.flatMap((service, i) =>
      Array.from({ length: 10 * (i + 1) }, (_, row) => ({
        timestamp: startMs + row * 20_000,
        message: `row of ${service}`,
        log_level: row % 5 === 0 ? "error" : "info",
        attributes: { "service.name": service },
      })),
    );
    expect((await ingest(site.server, lines(rows))).json.accepted).toBe(rows.length);
    const got = await ask(site.server, "POST", "/dashboards/update", { dashboard: board });
    expect([got.status, got.text]).toEqual([200, got.text]);
  });
  afterAll(() => site.stop());

  test("every widget shows what its query says, and a variable's value stands in the address", async () => {
    const page = await site.open("/dashboards");
    await page.getByRole("region", { name: "/dashboards/shop/" }).getByRole("link", { name: "Shop" }).click();
    await page.goto(`${site.server.url}/dashboards/board?${range}`);
    const panel = (name: string) => page.getByRole("region", { name, exact: true });
    await expect.poll(() => panel("Rows").locator(".legend-value").textContent()).toBe("1");
    await panel("Of ten")
      .getByLabel(/: \d+, from 0 to 10/)
      .waitFor();
    await panel("Notes").getByRole("heading", { name: "Read" }).waitFor();
    await panel("Notes").getByText("<img src=x onerror=alert(1)>").waitFor();
    expect(await panel("Notes").getByRole("link").count()).toBe(0);
    await expect
      .poll(() => panel("Shares").getByRole("listitem").allTextContents())
      .toEqual([...["pay 50.0 %", "mail 33.3 %", "cart 16.7 %"].map((text) => ` ${text}`)]);
    await expect.poll(() => panel("Table").getByRole("row").count()).toBe(1 + services.length);
    await panel("Foreign").getByText("PromQL").waitFor();
    await page.getByText("within", { exact: true }).waitFor();
    await panel("Log").getByText("row of cart").first().waitFor();
    await site.picture(page, "dashboard");

    await page.getByLabel("service", { exact: true }).selectOption("pay");
    await panel("Log").getByText("row of pay").first().waitFor();
    expect(new URL(page.url()).searchParams.get("var-service")).toBe("pay");
    await expect
      .poll(() => page.getByLabel("level").locator("option").allTextContents())
      .toEqual(["error", "info"]);
    expect(await page.getByLabel("fixed").count()).toBe(0);
    await page.goBack();
    await panel("Log").getByText("row of cart").first().waitFor();
    await panel("Log").getByRole("link", { name: "Explore" }).click();
    await expect.poll(() => page.getByLabel("Query").inputValue()).toBe('{service.name="cart"}');
    await page.getByText("10 rows in").waitFor();
  });

  test("a widget, and a variable, show what their changed query finds", async () => {
    const page = await site.openAs(site.server.adminToken, `/dashboards/board?${range}&edit=1`);
    const namesIn = (name: string) =>
      page.getByRole("region", { name, exact: true }).locator("tbody td:first-child").allTextContents();
    await expect.poll(() => namesIn("Table")).toEqual(expect.arrayContaining(services));
    await page.getByRole("button", { name: "Edit Table" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Query").fill("count(logs) by (log_level)");
    await form.getByLabel("Query").press("Enter");
    await expect.poll(() => namesIn("Preview")).toEqual(expect.arrayContaining(["error", "info"]));
    await form.getByRole("button", { name: "Done" }).click();
    await expect.poll(() => namesIn("Table")).toEqual(expect.arrayContaining(["error", "info"]));
    const choices = page.getByLabel("service", { exact: true }).locator("option");
    await expect.poll(() => choices.allTextContents()).toEqual(services);
    await page.getByRole("button", { name: "Settings and variables" }).click();
    await page
      .getByRole("group", { name: "Variable $service" })
      .getByLabel("Values of the attribute")
      .fill("log_level");
    await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
    await expect.poll(() => choices.allTextContents()).toEqual(["cart", "error", "info"]);
  });

  test("it is edited by keyboard alone, and what the page does not know stays", async () => {
    const page = await site.openAs(site.server.adminToken, `/dashboards/board?${range}`);
    const focus = async (name: string) => page.getByRole("button", { name, exact: true }).focus();
    await focus("Edit");
    await page.keyboard.press("Enter");
    await focus("Move Rows");
    for (const key of ["ArrowDown", "ArrowRight", "Shift+ArrowLeft", "Control+ArrowDown"])
      await page.keyboard.press(key);
    await page.getByText("Column 2, row 2, 11 wide, 6 high").waitFor();
    await focus("Edit Errors");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").locator("input:focus").waitFor();
    await page.keyboard.press("Control+A");
    await page.keyboard.type("Mistakes");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Mistakes" }).waitFor();
    await focus("Remove Shares");
    await page.keyboard.press("Enter");
    await page.getByText("Removed Shares").waitFor();
    await focus("Undo");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Shares" }).waitFor();
    await focus("Remove Foreign");
    await page.keyboard.press("Enter");
    await focus("Save");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
    const { json } = await ask<{ dashboard: typeof board }>(site.server, "GET", "/dashboards/board");
    const { dashboard } = json;
    expect(dashboard).toMatchObject({ settings: board.settings, alsoLater: board.alsoLater });
    const titles = dashboard.content.widgets.map(
      (widget) => (widget as never as Record<string, { title: string }>)[widget.type]!.title,
    );
    expect(titles).toEqual([
      "Rows",
      "Mistakes",
      "Of ten",
      "Notes",
      "Bars",
      "Shares",
      "Table",
      "Log",
      "Inner",
    ]);
    const places = dashboard.content.widgets.map(({ position }) => position.absolute);
    expect(places[0]).toEqual({ x: 1, y: 1, w: 11, h: 6 });
    // No two widgets cover each other.
    for (const [i, a] of places.entries())
      for (const b of places.slice(i + 1))
        expect(a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h).toBe(false);
  });

  test("what the server refuses is told, and nothing is lost; somebody else's change is not overwritten", async () => {
    const page = await site.openAs(site.server.adminToken, `/dashboards/board?${range}&edit=1`);
    await page.getByRole("button", { name: "Edit Bars" }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("Query").fill("count(logs{nothing");
    await form.getByLabel("Query").press("Enter");
    await form.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("svcQLQueries[0].query").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "Remove Bars" }).click();
    const { json } = await ask<{ dashboard: typeof board }>(site.server, "GET", "/dashboards/board");
    const theirs = { ...json.dashboard, metadata: { ...json.dashboard.metadata, title: "Theirs" } };
    await ask(site.server, "POST", "/dashboards/update", { dashboard: theirs });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("has saved this dashboard meanwhile").waitFor();
    const after = await ask<{ dashboard: typeof board }>(site.server, "GET", "/dashboards/board");
    expect(after.json.dashboard.metadata.title).toBe("Theirs");
  });

  test("a managed one names the object to edit, and a viewer is offered nothing", async () => {
    const made = await ask<{ token: string }>(site.server, "POST", "/environments/create", {
      environment: { name: "prod" },
    });
    const object = {
      kind: "SvcDashboard",
      metadata: { name: "own", namespace: "shop", uid: "u1" },
      spec: { content: { title: "Managed one", widgets: [] } },
    };
    const applied = await ask(
      site.server,
      "POST",
      "/kubernetes/objects",
      { objects: [object] },
      { token: made.json.token },
    );
    expect([applied.status, applied.text]).toEqual([200, expect.stringContaining("Synced")]);
    const id = "kubernetes-managed.prod.shop.own";
    const page = await site.openAs(site.server.adminToken, `/dashboards/${id}?edit=1`);
    await page.getByText("Edit SvcDashboard own in namespace shop of cluster prod").waitFor();
    await page.getByText("k8s-managed", { exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Edit" }).count()).toBe(0);
    const viewer = await ask<{ token: string }>(site.server, "POST", "/tokens", {
      role: "viewer",
      name: "eve",
    });
    const seen = await site.openAs(viewer.json.token, "/dashboards/board?edit=1");
    await seen.getByRole("region", { name: "Notes" }).waitFor();
    for (const name of ["Edit", "Save", "Add a widget"])
      expect(await seen.getByRole("button", { name, exact: true }).count()).toBe(0);
    await seen.goto(`${site.server.url}/dashboards`);
    await seen.getByRole("link", { name: "Theirs" }).waitFor();
    expect(await seen.getByRole("button", { name: "New dashboard" }).count()).toBe(0);
  });
});
