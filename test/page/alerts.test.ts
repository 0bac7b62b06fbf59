/** Alerts: made of a query beside what they would have done, and asked why they fired. */

import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ask } from "../server/control/asking.ts";
import { ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { alertOf, errorsQuery as query } from "./examples.ts";

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 0, 29, 12);
const minutes = 30;
/** Errors of the cart in each minute: three times above 10, of which one lasts three minutes. */
const errorsAt = (minute: number) =>
  minute === 5 || minute === 12 || (minute >= 20 && minute < 23) ? 14 : 2;
const range = { from: String(startMs), to: String(startMs + minutes * minuteMs - 1) };

describe.skipIf(noBrowser !== undefined)("alerts", () => {
  let site: PageTest;
  /** The time of the server. */
  let nowMs = startMs + minutes * minuteMs;

  beforeAll(async () => {
    vi.spyOn(Date, "now").mockImplementation(() => nowMs);
    site = await PageTest.start();
    const rows = Array.from({ length: minutes }, (_, minute) =>
      Array.from({ length: errorsAt(minute) }, (_, row) => ({
        ...{ timestamp: startMs + minute * minuteMs + row, message: "refused", log_level: "error" },
        attributes: { "service.name": "/k8s/shop/cart" },
      })),
    ).flat();
    expect((await ingest(site.server, lines(rows))).json.accepted).toBe(rows.length);
  });
  afterAll(async () => {
    await site.stop();
    vi.restoreAllMocks();
  });

  test("an alert is made of a chart, with what it would have done, and changed", async () => {
    const asked = new URLSearchParams({ q: query, ...range });
    const page = await site.openAs(site.server.adminToken, `/?${asked}`);
    await page.getByRole("link", { name: "Make an alert of it" }).click();
    await page.getByText("Would have fired once in the range").waitFor();
    // One breaching point is enough: each of the three times fires.
    await page.getByLabel("Fires when this many points").fill("1");
    await page.getByText("Would have fired 3 times").waitFor();
    await page.getByLabel("Threshold", { exact: true }).fill("20");
    await page.getByText("Would not have fired").waitFor();
    await page.getByLabel("Threshold, along").focus();
    await page.keyboard.press("Home");
    await page.getByText("Would have fired once").waitFor();
    await page.getByLabel("Threshold", { exact: true }).fill("10");
    await page.getByText("Would have fired 3 times").waitFor();
    await site.picture(page, "alert-preview");
    // A mistake is told where it was made, and nothing that was typed is lost.
    await page.getByRole("button", { name: "Save" }).click();
    const name = page.getByLabel("Name").first();
    await page.locator(".field", { has: name }).getByRole("alert").waitFor();
    await name.fill("Errors by hand");
    await page.getByRole("button", { name: "e-mail", exact: true }).click();
    await page.getByLabel("E-mail addresses").fill("a@example.com, b@example.com");
    await page.getByText("Severity, labels and message").click();
    await page.getByLabel("Severity", { exact: true }).selectOption("critical");
    await page.getByLabel("Labels", { exact: true }).fill("team=shop\nzone=a=b");
    await page.getByLabel("Runbook").fill("https://wiki.example/errors");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Errors by hand" }).waitFor();
    await page.getByText("team=shop", { exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Runbook" }).getAttribute("href")).toBe(
      "https://wiki.example/errors",
    );
    // The server has no mail server, so nobody would hear of a fire.
    await page
      .getByText("Action 1 of critical reaches nobody: the server has no mail server (--smtp)")
      .waitFor();
    const { json } = await ask<{ alerts: ReturnType<typeof alertOf>[] }>(site.server, "GET", "/alerts");
    const saved = json.alerts.find(({ metadata }) => metadata.name === "Errors by hand")!;
    expect(saved).toMatchObject({ severity: "critical", labels: { team: "shop", zone: "a=b" } });
    expect(saved.timeseries.expression.svcQLTimeseries).toEqual({ query, bucketSize: 60 });
    expect(saved.timeseries.evaluationRules).toMatchObject([
      {
        static: {
          operators: [{ operator: "greaterThan", threshold: 10 }],
          persistenceSettings: { datapointsToAlarm: 1, datapointsInEvaluationWindow: 3 },
        },
        actions: [{ type: "email", emailDestination: { emails: ["a@example.com", "b@example.com"] } }],
      },
    ]);
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Description").fill("Changed");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Changed", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("There are no alerts yet.").waitFor();
  });

  test("an alert that fires says why, whom it told, and can be silenced", async () => {
    nowMs = startMs + 20 * minuteMs + 50_000;
    const { status } = await ask(site.server, "POST", "/alerts/update", { alert: alertOf("cart", 2) });
    expect(status).toBe(200);
    for (let minute = 21; minute <= 23; minute++) {
      nowMs = startMs + minute * minuteMs + 50_000;
      await judgedThrough(site, startMs + minute * minuteMs);
    }
    const page = await site.openAs(site.server.adminToken, "/alerts");
    await page.getByRole("link", { name: "Errors, cart" }).click();
    await page.getByRole("heading", { name: "Errors, cart" }).waitFor();
    const fire = page.locator(".fires li").filter({ hasText: "service.name=/k8s/shop/cart" });
    await fire.getByText("value 14").click();
    await fire
      .getByText("2 of 3 points breach; 2 are needed")
      .or(fire.getByText(/2 of 3/))
      .first()
      .waitFor();
    const cells = await fire.getByRole("row").allTextContents();
    // The newest buckets that the rule looked at, and its verdict on each.
    expect(cells.slice(-3).map((text) => text.replace(/^.*:00/, ""))).toEqual([
      ...["2does not", "14breaches", "14breaches"],
    ]);
    await page.getByText("#ops").waitFor();
    await page
      .getByRole("cell", { name: /waiting|given up/ })
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Send again" }).first().click();
    await site.picture(page, "alert");

    await page.getByRole("button", { name: "Silence" }).click();
    await page.getByLabel("Comment").fill("known");
    await page.getByRole("dialog").getByRole("button", { name: "Silence" }).click();
    await page.getByText(/^Silenced until/).waitFor();
    await page.goto(`${site.server.url}/silences`);
    await page.getByRole("cell", { name: "known" }).waitFor();
    await page.getByRole("button", { name: "End" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End" }).click();
    await page.getByText("Nothing is silenced.").waitFor();
    await page.getByRole("button", { name: "New silence" }).click();
    await page.getByLabel("Labels").fill("service.name");
    await page.getByRole("dialog").getByRole("button", { name: "Silence" }).click();
    await page.getByText("service.name must be a name, = or !=, and values").waitFor();
    await page.getByLabel("Labels").fill("service.name=/k8s/shop/cart,/k8s/shop/mail");
    await page.getByRole("dialog").getByRole("button", { name: "Silence" }).click();
    await page.getByText("service.name = /k8s/shop/cart or /k8s/shop/mail").waitFor();
    await page.goto(`${site.server.url}/alerts?state=firing`);
    await page
      .getByRole("row", { name: /Errors, cart/ })
      .getByRole("cell", { name: "yes" })
      .waitFor();
  });

  test("who may only read is offered no change", async () => {
    const { json } = await ask<{ token: string }>(site.server, "POST", "/tokens", {
      role: "viewer",
      name: "eve",
    });
    const page = await site.openAs(json.token, "/alerts");
    await page.getByRole("link", { name: "Errors, cart" }).click();
    await page.getByRole("heading", { name: "Fires" }).waitFor();
    for (const name of ["Edit", "Delete", "Silence"])
      expect(
        await page
          .getByRole("button", { name })
          .or(page.getByRole("link", { name, exact: true }))
          .count(),
      ).toBe(0);
    await page.goto(`${site.server.url}/alerts/cart/edit`);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("a token of role viewer may not configure").waitFor();
  });
});

/** Waits until every alert was judged up to a time. */
async function judgedThrough({ server }: PageTest, throughMs: number): Promise<void> {
  for (;;) {
    const got = await ask<{ states: { evaluatedThrough: number | null }[] }>(server, "GET", "/alerts/states");
    if (got.json.states.every(({ evaluatedThrough }) => (evaluatedThrough ?? 0) >= throughMs)) return;
    await setTimeout(50);
  }
}
