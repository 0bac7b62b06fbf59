/** Searching in a browser: from an error to its rows, its fields and its noise. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 29, 12);

/** 3,000 rows of an hour: two services, one of which has errors in the middle. */
function makeRows(): object[] {
  return Array.from({ length: 3_000 }, (_, i) => {
    const isCart = i % 3 === 0;
    const isError = isCart && i > 1_400 && i < 1_600;
    return {
      timestamp: startMs + Math.floor((i * hourMs) / 3_000),
      log_level: isError ? "error" : "info",
      message: isError ? `connection refused by 10.0.0.${i % 7}:5432` : `GET /item/${i} took ${i % 90} ms`,
      attributes: {
        "service.name": isCart ? "/k8s/shop/cart" : "/k8s/shop/pay",
        "k8s.pod.name": `pod-${i % 5}`,
      },
    };
  });
}

describe.skipIf(noBrowser !== undefined)("the search screen", () => {
  let site: PageTest;
  const range = `from=${startMs}&to=${startMs + hourMs}`;
  beforeAll(async () => {
    site = await PageTest.start();
    const sent = await ingest(
      site.server,
      makeRows()
        .map((row) => JSON.stringify(row))
        .join("\n"),
    );
    expect(sent.json.accepted).toBe(3_000);
  });
  afterAll(() => site.stop());
  const found = (page: Page) =>
    page
      .getByRole("status")
      .filter({ hasText: /rows in/ })
      .textContent();
  const run = async (page: Page, query: string) => {
    await page.getByLabel("Query").fill(query);
    await page.keyboard.press("Enter");
  };

  test("an error is found, opened, and narrowed to by a click", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByText("3,000 rows in").waitFor();
    await run(page, "refused");
    await page.getByText("67 rows in").waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe("refused");
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByRole("rowheader", { name: "k8s.pod.name" }).waitFor();
    await site.picture(page, "search-row");
    await page.getByRole("button", { name: "Include k8s.pod.name" }).click();
    await page.waitForURL(/k8s\.pod\.name/);
    await page.getByText(/^1[34] rows in/).waitFor();
    await page.goBack();
    await page.getByText("67 rows in").waitFor();
    await page.goBack();
    await page.getByText("3,000 rows in").waitFor();
    expect(await page.getByLabel("Query").inputValue()).toBe("");
  });

  test("the list goes on to the oldest row, and says that it is the end", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByText("3,000 rows in").waitFor();
    const list = page.getByRole("region", { name: "Rows" });
    const oldest = page.getByText("GET /item/0 took 0 ms");
    for (let i = 0; i < 200 && !(await oldest.isVisible()); i++) {
      await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await page.waitForTimeout(30);
    }
    await page.getByText("The end: all 3,000 rows are shown.").waitFor();
    await oldest.waitFor();
    expect(await page.locator(".virtual-row").count()).toBeLessThan(120);
  });

  test("dragging over the histogram searches in that part, and Back undoes it", async () => {
    const page = await site.open(`/?${range}&q=refused`);
    await page.getByText("67 rows in").waitFor();
    const box = (await page.locator(".histogram canvas").boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL(({ search }) => !search.includes(`from=${startMs}&`));
    const { searchParams } = new URL(page.url());
    expect(Number(searchParams.get("from"))).toBeCloseTo(startMs + 0.4 * hourMs, -5);
    expect(Number(searchParams.get("to"))).toBeCloseTo(startMs + 0.5 * hourMs, -5);
    await page.goBack();
    await page.getByText("67 rows in").waitFor();
  });

  test("fields show their values, and patterns group messages", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByLabel("Fields").getByText("service.name").click();
    const values = page.locator(".values li");
    await values.first().waitFor();
    expect(await values.allInnerTexts()).toEqual([
      expect.stringMatching(/^\/k8s\/shop\/pay\s+2,000/),
      expect.stringMatching(/^\/k8s\/shop\/cart\s+1,000/),
    ]);
    await page.getByRole("button", { name: "Split the bars by this" }).click();
    await page.locator(".histogram").getByRole("button", { name: "by service.name" }).waitFor();
    const box = (await page.locator(".histogram canvas").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + 60);
    await page
      .getByText(/\/k8s\/shop\/cart \d+, \/k8s\/shop\/pay \d+|\/k8s\/shop\/pay \d+, \/k8s\/shop\/cart \d+/)
      .waitFor();
    await site.picture(page, "split");
    await page.getByRole("tab", { name: "Patterns" }).click();
    await page.getByRole("cell", { name: /GET \/item\/<\*> took <\*> ms/ }).waitFor();
    await site.picture(page, "patterns");
  });

  test("a mistake in the query is told, and the rows before it stay", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByText("3,000 rows in").waitFor();
    await run(page, 'logs{service.name="/k8s/shop/cart"');
    expect(await page.getByRole("alert").textContent()).toContain("line 1, column");
    expect(await page.locator(".row-line").count()).toBeGreaterThan(10);
  });

  test("the editor completes fields and values by keys, and says what is wrong as it is typed", async () => {
    const page = await site.open(`/?${range}`);
    await page.getByText("3,000 rows in").waitFor();
    const editor = page.getByLabel("Query");
    await editor.click();
    await page.keyboard.type("{serv");
    await page.getByRole("option", { name: "service.name 3,000" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type("=");
    await page.getByRole("option", { name: "/k8s/shop/pay 2,000" }).waitFor();
    await site.picture(page, "completion");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.type("}");
    expect(await editor.inputValue()).toBe('{service.name="/k8s/shop/cart"}');
    await page.keyboard.type("}");
    await page.locator(".editor-mistake", { hasText: "expected" }).waitFor();
    await page.keyboard.press("Backspace");
    expect(await page.locator(".editor-mistake").count()).toBe(0);
    await page.keyboard.press("Enter");
    await page.getByText("1,000 rows in").waitFor();
  });

  test("a row is shared by a link, with what happened around it", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const page = await site.open(`/?${range}&q=refused`, { permissions });
    await page.getByText("67 rows in").waitFor();
    const line = page.locator(".row-line").nth(5);
    const message = (await line.locator(".message").textContent())!;
    await line.getByRole("button", { name: "Details" }).click();
    await page.getByRole("button", { name: "Surroundings" }).click();
    const around = page.getByRole("region", { name: "Surroundings" });
    await around.locator('[aria-current="true"]').getByText(message).waitFor();
    expect(await around.locator(".row-line").count()).toBe(21);
    await around.getByRole("button", { name: "k8s.pod.name" }).click();
    await around.getByRole("button", { name: "service.name" }).click();
    await around.getByText("All rows around it").waitFor();
    await around
      .getByText(/GET \/item/)
      .first()
      .waitFor();
    await site.picture(page, "surroundings");
    await page.locator(".row-detail > .actions").getByRole("button", { name: "Copy link" }).click();
    const link = (await page.evaluate("navigator.clipboard.readText()")) as string;
    const other = await page.context().newPage();
    await other.goto(link);
    const linked = other.getByRole("region", { name: "The row of this link" });
    await linked.getByText(message).waitFor();
    await other.getByText("67 rows in").waitFor();
    await linked.getByRole("button", { name: "Close the row" }).click();
    await linked.waitFor({ state: "detached" });
  });

  test("a pattern is excluded by a click", async () => {
    const page = await site.open(`/?${range}&view=patterns`);
    const noise = page.getByRole("row").filter({ hasText: "GET /item/<*> took <*> ms" });
    await noise.getByRole("button", { name: "Exclude" }).click();
    await page.waitForURL(/template/);
    await page.getByRole("tab", { name: "Rows" }).click();
    await page.getByText("67 rows in").waitFor();
  });

  test("keys reach the query, the range, live rows, other places, and tell themselves", async () => {
    const page = await site.open(`/?${range}&q=refused`);
    await page.getByText("67 rows in").waitFor();
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.id")).toBe("query");
    await page.locator(".found").click({ position: { x: 2, y: 200 } });
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByText("rows as they arrive").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    await page.getByRole("dialog", { name: "Range of time" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("l");
    await page.getByText(/^Live, /).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("t");
    await page.waitForURL(/\/traces$/);
  });

  test("keys move through the rows and open them", async () => {
    const page = await site.open(`/?${range}&q=refused`);
    await page.getByText("67 rows in").waitFor();
    await page.locator("main").click({ position: { x: 3, y: 3 } });
    for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
    expect(await page.locator(".row-detail").count()).toBe(1);
    expect(await page.locator(".virtual-row").nth(1).locator(".row-detail").count()).toBe(0);
    expect(await found(page)).toContain("67 rows");
  });

  test("everything that was found is downloaded, beyond what is shown", async () => {
    const page = await site.open(`/?${range}&q=GET`);
    await page.getByText("2,933 rows in").waitFor();
    const downloadOf = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name, exact: true }).click(),
      ]);
      return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
    };
    const json = await downloadOf("JSON lines");
    expect(json.name).toBe("logs-2026-01-29T12-00-00Z.ndjson");
    expect(json.text.trim().split("\n").length).toBe(2_933);
    const csv = await downloadOf("CSV");
    expect(csv.text.split("\r\n").length).toBe(2_935);
    expect(csv.text.slice(0, 30)).toBe("timestamp,log_level,message,k8");
  });

  test("a search is saved with its range, opened by its name, and queries run before are at hand", async () => {
    const page = await site.openAs(site.server.adminToken, `/?${range}&q=refused`);
    await page.getByText("67 rows in").waitFor();
    await run(page, "timeout");
    await page.waitForURL(/q=timeout/);
    await run(page, "refused");
    await page.getByText("67 rows in").waitFor();
    await page.getByRole("button", { name: "Saved" }).click();
    await page.getByLabel("Save this search as").fill("Refused ones");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Refused ones", exact: true }).waitFor();
    await page.goto(site.server.url);
    await page.getByRole("button", { name: "Saved" }).click();
    const before = page.getByRole("region", { name: "Run before" }).getByRole("listitem");
    expect(await before.allTextContents()).toEqual(["refused", "timeout"]);
    await page.getByRole("button", { name: "Refused ones", exact: true }).click();
    await page.getByText("67 rows in").waitFor();
    const parameters = new URL(page.url()).searchParams;
    expect([parameters.get("q"), parameters.get("from")]).toEqual(["refused", String(startMs)]);
    await page.getByRole("button", { name: "Saved" }).click();
    await page.getByRole("button", { name: "Delete Refused ones" }).click();
    await page.getByText("None yet.").first().waitFor();
    await page.getByRole("button", { name: "Forget them" }).click();
    await before.first().waitFor({ state: "detached" });
  });

  test("what is typed at once after a search began stays", async () => {
    const page = await site.open(`/?${range}`);
    const field = page.getByLabel("Query");
    await field.fill("timeout");
    await page.evaluate(`(async () => {
      const field = document.querySelector("#query");
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
      await new Promise((resolve) => setTimeout(resolve));
      field.value = "timeout slow";
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    })()`);
    await page.waitForURL(/q=timeout/);
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 300)));
    expect(await field.inputValue()).toBe("timeout slow");
  });

  test("on a small screen the fields are a button away", async () => {
    const page = await site.open(`/?${range}`, {
      ...{ viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true },
    });
    const fields = page.getByRole("complementary", { name: "Fields" });
    const opener = page.getByRole("button", { name: "Fields", exact: true });
    await opener.waitFor();
    expect(await fields.isVisible()).toBe(false);
    await opener.click();
    await fields.getByText("log_level").tap();
    await fields.getByRole("button", { name: "Include log_level" }).first().tap();
    await page.waitForURL(/log_level/);
    await opener.tap();
    expect(await fields.isVisible()).toBe(false);
  });

  test("a value is copied, also where the browser keeps its clipboard to itself", async () => {
    const page = await site.open(`/?${range}&q=refused`);
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByRole("button", { name: "Copy JSON" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    await page.getByLabel("Query").fill("");
    await page.getByLabel("Query").press("Control+v");
    expect(JSON.parse(await page.getByLabel("Query").inputValue()).message).toMatch(/refused/);
  });

  test("states of Kubernetes objects are searched like logs", async () => {
    const rows = ["cart", "pay"].map((name, i) => ({
      timestamp: startMs + 1_000 * i,
      body: { kind: "Deployment", metadata: { name } },
      attributes: { "k8s.resource.kind": "Deployment", "k8s.resource.name": name },
    }));
    const sent = await ingest(
      site.server,
      rows.map((row) => JSON.stringify(row)).join("\n"),
      {},
      "kubernetes_resources",
    );
    expect([sent.status, sent.json.accepted]).toEqual([200, 2]);
    const page = await site.open(`/?${range}&q=kubernetes_resources`);
    await page.getByText("2 rows in").waitFor();
    const fields = page.getByRole("complementary", { name: "Fields" });
    await fields.getByText("k8s.resource.name").click();
    await fields.getByRole("listitem").filter({ hasText: "pay" }).last().hover();
    await fields.getByRole("button", { name: "Include k8s.resource.name" }).last().click();
    await page.getByText("1 row in").waitFor();
    expect(await page.getByLabel("Query").inputValue()).toBe('kubernetes_resources{k8s.resource.name="pay"}');
    await page.getByRole("button", { name: "Details" }).first().click();
    await page.getByText('"Deployment"').first().waitFor();
    expect(await page.getByRole("tab").allTextContents()).toEqual(["Rows"]);
  });

  test("a click tells how a search runs, and gives the command for a terminal", async () => {
    const page = await site.open(`/?${range}&q=${encodeURIComponent('{service.name="it\'s"} |= "refused"')}`);
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.getByRole("button", { name: "How", exact: true }).click();
    const box = page.getByRole("dialog", { name: "How the search runs" });
    await box.getByText(/scan 0 .*logs/).waitFor();
    await box.getByText(/service\.name/).waitFor();
    await box.getByRole("button", { name: "Copy as curl" }).click();
    await page.keyboard.press("Escape");
    await page.getByLabel("Query").fill("");
    await page.getByLabel("Query").press("Control+v");
    const command = (await page.getByLabel("Query").inputValue()).replace(/-H "Auth[^"]*"/, "");
    const { stdout } = await promisify(execFile)("sh", ["-c", command]);
    expect(JSON.parse(stdout)).toMatchObject({ count: 0, logs: [] });
  });
});
