/** A metric is found by parts of its name, shown, split, narrowed, and made an alert of. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { call, ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const range = `from=${startMs}&to=${startMs + 600_000}`;
const pods = ["web-1", "web-2", "db-1"];

/** A gauge, a counter, and two whose names are hard to write. */
const samples = Array.from({ length: 10 }, (_, minute) =>
  pods.flatMap((pod, i) => {
    const shared = { timestamp: startMs + minute * 60_000, labels: { pod, zone: i === 2 ? 'a"b$c' : "a" } };
    return [
      { ...shared, name: "memory_used_mb", value: 100 * (i + 1) },
      { ...shared, name: "requests_total", type: "counter", value: minute * 60 * (i + 1) },
      { ...shared, name: "logs", value: 7 },
      { ...shared, name: "odd name/1", value: 8 },
    ];
  }),
).flat();

describe.skipIf(noBrowser !== undefined)("the metrics screen", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    const { json } = await ingest(site.server, lines(samples), {}, "metrics");
    expect(json.accepted).toBe(samples.length);
  });
  afterAll(() => site.stop());

  test("a metric is found, split by a label, narrowed to a value, and Back undoes it", async () => {
    const page = await site.openAs(site.server.adminToken, `/metrics/explore?${range}`);
    await page.getByLabel("Find a metric").fill("mem mb");
    await page.keyboard.press("Enter");
    await page.getByRole("code").getByText("avg(memory_used_mb)").waitFor();
    const latest = page.locator(".legend-value");
    await expect.poll(() => latest.allTextContents()).toEqual(["200"]);
    await page.getByRole("button", { name: "by pod" }).click();
    await expect.poll(() => latest.allTextContents()).toEqual(["300", "200", "100"]);
    await page.getByLabel("Show").selectOption("Greatest");
    await page.getByRole("listitem").filter({ hasText: "by zone" }).getByText("values").click();
    await page.getByRole("button", { name: 'a"b$c' }).click();
    await expect.poll(() => latest.allTextContents()).toEqual(["300"]);
    await site.picture(page, "metrics");
    await page.goBack();
    await expect.poll(() => latest.allTextContents()).toEqual(["300", "200", "100"]);
    await page.getByRole("button", { name: "Table" }).click();
    expect(await page.getByRole("row").nth(1).getByRole("cell").allTextContents()).toEqual(
      expect.arrayContaining(["db-1", "300"]),
    );
    await page.getByRole("link", { name: "Make an alert of it" }).click();
    await expect.poll(() => page.getByLabel("Query").inputValue()).toBe("max(memory_used_mb) by (pod)");
    await page.getByText("Would have fired 3 times").waitFor();
  });

  test("the same range again, and Refresh, show what has come since", async () => {
    const send = async (value: number, hoursAgo = 0) => {
      const timestamp = Date.now() - hoursAgo * 3_600_000;
      const sample = { timestamp, name: "queue_length", value, labels: { queue: `q${value}` } };
      expect((await ingest(site.server, lines([sample]), {}, "metrics")).json.accepted).toBe(1);
    };
    await send(1);
    await send(4, 3);
    const page = await site.open("/metrics/explore?metric=queue_length&by=queue");
    const latest = page.locator(".legend-value");
    await expect.poll(() => latest.allTextContents()).toEqual(["1"]);
    const labels = page.getByRole("region", { name: "Labels" });
    await labels.getByText("values").click();
    const values = labels.getByRole("button", { name: /^q/ });
    await expect.poll(() => values.allTextContents()).toEqual(["q1"]);
    const choose = async (name: string) => {
      await page.locator("#range").click();
      await page.locator("#range-box").getByRole("button", { name }).click();
    };
    await send(2);
    await choose("Last hour");
    await expect.poll(() => latest.count()).toBe(2);
    await expect.poll(() => values.allTextContents()).toEqual(["q1", "q2"]);
    await send(3);
    await page.getByRole("button", { name: "Refresh" }).click();
    await expect.poll(() => latest.count()).toBe(3);
    await choose("Last 4 hours");
    await expect.poll(() => values.allTextContents()).toEqual(["q1", "q2", "q3", "q4"]);
  });

  test("a metric becomes a widget of a new dashboard, and then of one that is there", async () => {
    const page = await site.openAs(site.server.adminToken, `/metrics/explore?${range}&metric=memory_used_mb`);
    const add = async (title: string, dashboard?: string) => {
      await page.getByRole("button", { name: "Add to a dashboard" }).click();
      const dialog = page.getByRole("dialog", { name: "Add to a dashboard" });
      await dialog.getByLabel("Title of the chart").fill(title);
      if (dashboard === undefined) await dialog.getByLabel("Title of the dashboard").fill("Memory");
      else await dialog.getByLabel("Dashboard", { exact: true }).selectOption(dashboard);
      await dialog.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("heading", { name: "Memory" }).waitFor();
      await page.getByRole("heading", { name: title }).waitFor();
    };
    await add("All of it");
    await page.goto(`${site.server.url}/?${range}&q=max(memory_used_mb)`);
    await add("The most", "Memory");
    await page.getByRole("heading", { name: "All of it" }).waitFor();
    await expect.poll(() => page.locator(".legend-value").allTextContents()).toEqual(["200", "300"]);
  });

  test.each([
    ["requests_total", "sum(rate(requests_total))", "6"],
    ["logs", 'avg({"logs"})', "7"],
    ["odd name/1", 'avg({"odd name/1"})', "8"],
  ])("%s is shown by a query that the server takes", async (name, query, value) => {
    const page = await site.open(`/metrics/explore?${range}&metric=${encodeURIComponent(name)}`);
    await page.getByText(query, { exact: true }).first().waitFor();
    await expect.poll(() => page.locator(".legend-value").allTextContents()).toEqual([value]);
  });

  test("a range without samples says how they come", async () => {
    const page = await site.open("/metrics/explore?from=0&to=1000");
    await page.getByText("No metric has samples in this range.").waitFor();
    const got = await call(site.server, "/metrics/explore", { headers: { Accept: "text/html" } });
    expect(got.status).toBe(200);
  });
});
