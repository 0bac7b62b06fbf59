/** Rows whose names and values are HTML, scripts, control characters and far too long: shown as text, the page alive. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const hostile = [
  "<img src=x onerror=\"globalThis.broken='img'\">",
  "<script>globalThis.broken='script'</script>",
  "javascript:globalThis.broken='link'",
  '"><svg onload="globalThis.broken=1">',
  "\u202ethgir ot tfel\u202c and on",
  "\u001b[31mred\u001b[0m \u0007bell",
  "{{constructor.constructor('globalThis.broken=2')()}}",
  "%00\ufeff\ud83d\ude42 \u0300\u0301\u0302",
];

describe.skipIf(noBrowser !== undefined)("hostile rows", () => {
  let site: PageTest;
  const range = `from=${startMs}&to=${startMs + 60_000}`;
  beforeAll(async () => {
    site = await PageTest.start();
    const rows = hostile.map((text, i) => ({
      timestamp: startMs + i,
      log_level: text,
      message: text,
      attributes: { [text]: text, "service.name": text, trace_id: text },
    }));
    // As many as a row may have.
    const many = (name: string) =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`${name}.${i}`, `value ${i}`]));
    const others = [
      { timestamp: startMs + 99, message: "many fields", attributes: many("a") },
      { timestamp: startMs + 100, message: "many others", attributes: many("b") },
      { timestamp: startMs + 101, message: `long ${"x".repeat(1_000_000)}` },
      { timestamp: startMs + 102, message: JSON.stringify({ html: hostile[0], deep: nest(90) }) },
    ];
    const sent = await ingest(site.server, [...rows, ...others].map((row) => JSON.stringify(row)).join("\n"));
    expect([sent.status, sent.json.errors]).toEqual([200, []]);
  });
  afterAll(() => site.stop());

  function nest(depth: number): unknown {
    return depth === 0 ? "<b>bottom</b>" : { [`<i>${depth}`]: nest(depth - 1) };
  }

  test("every row opens, every value is text, and nothing runs", async () => {
    const page = await site.open(`/?${range}`, { viewport: { width: 1_400, height: 900 } });
    await page.getByText("12 rows in").waitFor();
    for (let i = 0; i < 12; i++) {
      await page.getByRole("button", { name: "Details" }).nth(i).click();
      await page.locator(".row-detail").waitFor();
      // One at a time, as the others would push it out of sight.
      await page.getByRole("button", { name: "Details" }).nth(i).click();
    }
    await page.getByRole("button", { name: "Details" }).nth(11).click();
    await page.locator(".row-detail").getByText(hostile[0]!).first().waitFor();
    await site.picture(page, "hostile");
    expect(await page.locator("main img, main script, main svg[onload]").count()).toBe(0);
    expect(await page.evaluate("globalThis.broken")).toBeUndefined();
    const links = await page
      .locator("main a")
      .evaluateAll((all) => all.map((link) => (link as { href?: string }).href));
    expect(links.filter((href) => !href?.startsWith(site.server.url))).toEqual([]);
  });

  test("fields, values and patterns of them are text, and filters on them find their rows", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByLabel("Find a field").fill("onerror");
    const field = page.getByLabel("Fields").locator("summary").first();
    expect(await field.textContent()).toContain("<img src=x");
    await field.click();
    await page.locator(".values li").first().hover();
    await page
      .locator(".values li")
      .first()
      .getByRole("button", { name: /^Include/ })
      .click();
    await page.getByText(/^1 rows? in/).waitFor();
    await page.getByRole("tab", { name: "Patterns" }).click();
    await page.getByText(/1 patterns? of 1 row/).waitFor();
    expect(await page.evaluate("globalThis.broken")).toBeUndefined();
  });

  test("a megabyte of message is cut at first, and whole when it is asked for", async () => {
    const page = await site.open(`/?${range}&q=long`);
    await page.getByText(/^1 rows? in/).waitFor();
    await page.getByRole("button", { name: "Details" }).click();
    const whole = page.getByRole("button", { name: "Show all 1,000,005 characters" });
    await whole.click();
    expect((await page.locator(".row-detail pre").textContent())!.length).toBe(1_000_005);
  });

  test("addresses that mean nothing show a page that works", async () => {
    const page = await site.open("/");
    for (const query of [
      "?from=x&to=y",
      "?q=%00",
      "?view=%3Cb%3E&columns=%3Cimg%3E,,",
      `?q=${"{".repeat(500)}`,
      "?from=9&to=1",
    ]) {
      await page.goto(`${site.server.url}/${query}`);
      await page.getByLabel("Query").waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("tab", { name: "Rows" }).waitFor();
    }
  });
});
