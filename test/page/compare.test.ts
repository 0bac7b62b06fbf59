/** Two windows are marked on the histogram and compared; on a real day of faults if it is at hand. */

import { createReadStream, existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest, lines } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const minuteMs = 60_000;
const startMs = Date.UTC(2026, 0, 29, 12);
const realLogs = join(import.meta.dirname, "../../../shared/data/train-ticket/logs.jsonl.gz");

/** Drags over a part of the histogram, with shares of its width. */
async function drag(page: Page, from: number, to: number, key?: string): Promise<void> {
  const box = (await page.locator(".histogram canvas").boundingBox())!;
  if (key !== undefined) await page.keyboard.down(key);
  await page.mouse.move(box.x + box.width * from, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 40, { steps: 4 });
  await page.mouse.up();
  if (key !== undefined) await page.keyboard.up(key);
}

/** Rows of the real day in a range, as they were sent. */
async function readRealLogs(fromMs: number, toMs: number): Promise<string[]> {
  const found: string[] = [];
  for await (const line of createInterface({ input: createReadStream(realLogs).pipe(createGunzip()) })) {
    const ms = Number(/"timeUnixNano":\s*"(\d+)"/.exec(line)![1]!.slice(0, -6));
    if (ms >= fromMs && ms <= toMs) found.push(line);
  }
  return found;
}

describe.skipIf(noBrowser !== undefined)("two windows", () => {
  let site: PageTest;
  beforeAll(async () => {
    site = await PageTest.start();
    // In the last ten minutes of an hour, one service of four fails on one of its nodes.
    const rows = Array.from({ length: 3_600 }, (_, i) => {
      const isBad = i >= 3_000 && i % 8 === 0;
      return {
        timestamp: startMs + i * 1_000,
        log_level: isBad ? "error" : "info",
        message: isBad ? `no room for order ${i}` : `order ${i} taken`,
        attributes: { "service.name": `/k8s/shop/s${i % 4}`, "k8s.node.name": isBad ? "n7" : `n${i % 3}` },
      };
    });
    expect((await ingest(site.server, lines(rows))).json.accepted).toBe(rows.length);
  });
  afterAll(() => site.stop());
  const range = `from=${startMs}&to=${startMs + 60 * minuteMs - 1}`;

  test("are marked with Shift held; what differs leads to its rows", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByText("3,600 rows in").waitFor();
    await drag(page, 0.831, 0.99, "Shift");
    await page.getByText(/rows in A, [\d,]+ rows in B/).waitFor();
    expect(new URL(page.url()).searchParams.get("view")).toBe("compare");
    const patterns = page.getByRole("region", { name: "Patterns that differ" }).getByRole("listitem");
    await patterns.first().getByText("no room for order <*>").waitFor();
    expect(await patterns.first().textContent()).toContain("new");
    // The second mark is what it is compared with.
    await drag(page, 0.2, 0.5, "Shift");
    await page.waitForURL(/[?&]b=/);
    await page.locator(".window-b").first().waitFor();
    await site.picture(page, "compare");
    const node = page.getByRole("region", { name: "k8s.node.name" });
    await node.getByRole("listitem").first().getByText("n7").waitFor();
    await node.getByRole("button", { name: "Include k8s.node.name" }).first().click();
    await page.waitForURL(/n7/);
    // One step back is one comparison back.
    await page.goBack();
    await page.getByText(/rows in A/).waitFor();
    expect(await page.getByLabel("Query").inputValue()).toBe("");
  });

  test("are written by hand, with a search for each", async () => {
    const page = await site.open(`/?${range}&view=compare`);
    await page.getByText(/rows in A/).waitFor();
    for (const side of ["Look into", "Compare with"]) {
      await page.getByLabel(`${side}: from`).fill("2026-01-29 12:50");
      await page.getByLabel(`${side}: to`).fill("2026-01-29 12:59:59");
    }
    await page.getByLabel("Look into: rows that").fill("room");
    await page.getByLabel("Compare with: rows that").fill("{level=");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("alert").getByText("baseline.query").waitFor();
    await page.getByLabel("Compare with: rows that").fill("taken");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByText("75 rows in A, 525 rows in B").waitFor();
    await page.getByLabel("Look into: to").fill("soon");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("alert").getByText("A time is such as").waitFor();
  });

  test.skipIf(!existsSync(realLogs))("name the service that failed on a real day", async () => {
    const faultMs = 1_674_983_576_000;
    const rows = await readRealLogs(faultMs - 60 * minuteMs, faultMs + 3 * minuteMs);
    for (let at = 0; at < rows.length; at += 10_000)
      expect((await ingest(site.server, rows.slice(at, at + 10_000).join("\n"))).status).toBe(200);
    const page = await site.open(`/?from=${faultMs - 60 * minuteMs}&to=${faultMs + 3 * minuteMs}`);
    await page.getByText(/rows in/).waitFor();
    await drag(page, 60.1 / 63, 0.999, "Shift");
    const first = page.getByRole("region", { name: "Patterns that differ" }).getByRole("listitem").first();
    // The fault was injected into ts-basic-service.
    await first.getByText(/ERROR.*BasicServiceImpl/).waitFor();
    await first.getByRole("button", { name: "Only" }).click();
    await page.getByRole("tab", { name: "Rows" }).click();
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.locator(".row-detail").getByText("/k8s/train-ticket/ts-basic-service").waitFor();
    await site.picture(page, "compare-real");
  });
});
