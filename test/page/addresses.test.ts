/** Addresses: parts of a document, titles, and those that nothing stands at. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../server/control/asking.ts";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { alertOf, board } from "./examples.ts";

const traceId = "0123456789abcdef0123456789abcdef";
const startMs = Date.UTC(2026, 0, 29, 12);

describe.skipIf(noBrowser !== undefined)("addresses", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    const span = {
      ...{ traceId, spanId: "0000000000000001", name: "GET /cart" },
      ...{ startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${startMs + 5}000000` },
    };
    await ingest(site.server, JSON.stringify(span), {}, "spans");
    expect((await ask(site.server, "POST", "/dashboards/update", { dashboard: board })).status).toBe(200);
    const alert = { alert: alertOf("late", 1) };
    expect((await ask(site.server, "POST", "/alerts/update", alert)).status).toBe(200);
  });
  afterAll(() => site.stop());

  test("the link to the content leads there by keys", async () => {
    const page = await site.open("/alerts");
    await page.getByRole("heading", { name: "Alerts" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("main:focus").waitFor();
    expect(new URL(page.url()).hash).toBe("#content");
    await page.keyboard.press("Tab");
    await page.locator("main :focus").waitFor();
    await page.goBack();
    expect(new URL(page.url()).hash).toBe("");
    await page.getByRole("heading", { name: "Alerts" }).waitFor();
  });

  test("an alert's own notifications are asked for, and more of them than are shown are told of", async () => {
    const page = await site.openAs(site.server.adminToken, "/alerts");
    // The server has notified nobody: its answer is given what it lists after a long fire.
    await page.route("**/api/v1/notifications?*", (route) => {
      const asked = new URL(route.request().url()).searchParams;
      const notifications = Array.from({ length: Number(asked.get("limit")) }, (_, i) => ({
        ...{ id: `n${i}`, type: "alertFired", alertId: asked.get("alertId"), alertName: "late", fireId: "f" },
        destination: { type: "slack", name: `slack #ops${i}` },
        ...{ createdAt: startMs - i, status: "delivered", tries: 1, nextTryAt: null, endedAt: startMs },
        problem: null,
      }));
      return route.fulfill({ json: { notifications, cursor: "next" } });
    });
    const asked = page.waitForRequest(/\/api\/v1\/notifications\?/);
    await page.goto(`${site.server.url}/alerts/late`);
    expect(new URL((await asked).url()).searchParams.get("alertId")).toBe("late");
    await page.getByRole("cell", { name: "slack #ops99" }).waitFor();
    await page.getByText("The newest 100 are shown.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
  });

  test("each screen has a title", async () => {
    const page = await site.openAs(site.server.adminToken, "/");
    const titles = [
      ["/", "Search – svc"],
      ["/?q=refused", "refused – Search – svc"],
      ["/traces", "Traces – svc"],
      [`/traces/${traceId}`, "GET /cart – Trace – svc"],
      ["/metrics/explore", "Metrics – svc"],
      ["/dashboards/board", "Shop – Dashboard – svc"],
      ["/alerts", "Alerts – svc"],
      ["/alerts/late", "Errors, late – Alert – svc"],
      ["/alerts/late/edit", "Edit an alert – svc"],
      ["/alerts/new", "New alert – svc"],
      ["/settings/tokens", "Tokens – Settings – svc"],
      ["/integrations", "Webhooks – Settings – svc"],
    ] as const;
    for (const [path, title] of titles) {
      await page.goto(site.server.url + path);
      await expect.poll(() => page.title()).toBe(title);
    }
    await page.getByRole("link", { name: "Dashboards" }).click();
    await expect.poll(() => page.title()).toBe("Dashboards – svc");
  });

  test.each(["/alerts/50%", "/alerts/50%/edit", "/dashboards/%E0%A4%A", "/traces/%", "/investigations/%zz"])(
    "%s is no page",
    async (path) => {
      const page = await site.open("/alerts/late");
      await page.getByRole("heading", { name: "Errors, late" }).waitFor();
      await page.evaluate(`{
        const link = document.createElement("a");
        link.href = ${JSON.stringify(path)};
        document.body.append(link);
        link.click();
        link.remove();
      }`);
      await page.getByText("There is nothing at this address.").waitFor();
      expect(await page.title()).toBe("Nothing at this address – svc");
      await page.goBack();
      await page.getByRole("heading", { name: "Errors, late" }).waitFor();
    },
  );
});
