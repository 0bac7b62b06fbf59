/** Every screen by the rules of WCAG 2.2 AA, as far as axe can check them, in both themes and on a small screen. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page, Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ask } from "../server/control/asking.ts";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";
import { alertOf, board } from "./examples.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const startMs = Date.UTC(2026, 0, 29, 12);
const range = `from=${startMs}&to=${startMs + 60_000}`;
const viewport = { width: 1_280, height: 800 };
/** So long after its last answer a page has asked for all that it shows. */
const quietMs = 150;
const levels = ["fatal", "error", "warn", "info", "debug", "trace", ""];

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** What axe finds, by the rules named or by all of the guidelines. */
async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const found = (await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(rules ?? tags)} }).then(({ violations }) => violations)`,
  )) as Violation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Each screen, and what brings it into the state that is looked at. */
const screens: [string, string, ((page: Page) => Promise<void>)?][] = [
  ["search", `/?${range}`],
  ["an open row", `/?${range}`, (page) => page.getByRole("button", { name: "Details" }).first().click()],
  ["values", `/?${range}`, (page) => page.getByLabel("Fields").getByText("service.name").click()],
  ["patterns", `/?${range}&view=patterns`],
  ["compared", `/?${range}&view=compare&a=${startMs}-${startMs + 9}&b=${startMs + 10}-${startMs + 99}`],
  [
    "how a search runs",
    `/?${range}`,
    (page) => page.getByRole("button", { name: "How", exact: true }).click(),
  ],
  ["saved searches", `/?${range}`, (page) => page.getByRole("button", { name: "Saved" }).click()],
  ["ranges", `/?${range}`, (page) => page.locator("#range").click()],
  ["a mistake", `/?${range}&q=${encodeURIComponent("{a=")}`],
  ["suggestions", `/?${range}`, (page) => page.getByLabel("Query").pressSequentially("{serv")],
  ["no rows", `/?${range}&q=nothing`],
  ["live", "/?live=1"],
  ["sign in", "/signin"],
  ["traces", `/traces?${range}`],
  ["service map", `/traces?view=map&service=%2Fk8s%2Fshop%2Fcart&${range}`],
  ["a trace", "/traces/0123456789abcdef0123456789abcdef?span=0000000000000001"],
  ["series", `/?${range}&q=${encodeURIComponent("count(logs) by (log_level)")}`],
  ["metrics", `/metrics/explore?${range}`],
  ["dashboards", "/dashboards"],
  ["a dashboard", `/dashboards/board?${range}`],
  ["dashboard editor", `/dashboards/board?edit=1&${range}`],
  ["alerts", "/alerts"],
  ["an alert", "/alerts/errors"],
  // The preview is asked for after a pause, and is pale until its answer is there.
  ["alert editor", "/alerts/errors/edit", (page) => page.locator(".fire-count").waitFor()],
  ["silences", "/silences"],
  ["investigations", `/investigations?${range}`],
  [
    "an investigation",
    "/investigations",
    async (page) => {
      await page.getByRole("link", { name: /cart/ }).click();
      await page.getByRole("button", { name: "Wrong" }).click();
    },
  ],
  ["environments", "/settings/environments"],
  ["a new token", "/settings/tokens", (page) => page.getByRole("button", { name: "New token" }).click()],
  ["groups", "/settings/groups"],
  ["rules", "/settings/rules"],
  ["ingestion", "/settings/ingestion"],
  ["health", "/settings/health"],
  ["webhooks", "/integrations"],
];

describe.skipIf(noBrowser !== undefined)("accessibility", () => {
  let site: PageTest;
  let page: Page;
  let isQuiet: () => Promise<void>;
  beforeAll(async () => {
    site = await PageTest.start();
    const rows = levels.map((level, i) => ({
      timestamp: startMs + i,
      log_level: level,
      message: i === 3 ? '{"a":1,"b":null,"c":"x"}' : `message ${i}`,
      attributes: { "service.name": "/k8s/shop/cart", trace_id: "0123456789abcdef0123456789abcdef" },
    }));
    await ingest(site.server, rows.map((row) => JSON.stringify(row)).join("\n"));
    const span = {
      ...{ traceId: "0123456789abcdef0123456789abcdef", name: "GET /", statusCode: "error" },
      ...{ startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${startMs + 500}000000` },
    };
    const spans = [
      { ...span, spanId: "0000000000000001" },
      {
        ...{ ...span, spanId: "0000000000000002", parentSpanId: "0000000000000001" },
        attributes: { "service.name": "/k8s/shop/cart" },
      },
    ];
    await ingest(site.server, spans.map((each) => JSON.stringify(each)).join("\n"), {}, "spans");
    expect((await ask(site.server, "POST", "/dashboards/update", { dashboard: board })).status).toBe(200);
    expect((await ask(site.server, "POST", "/alerts/update", { alert: alertOf("errors", 1) })).status).toBe(
      200,
    );
    const dayMs = startMs - 86_400_000;
    const errors = Array.from({ length: 100 }, (_, i) => ({
      timestamp: i < 60 ? dayMs - (i + 1) * 60_000 : dayMs + i * 1_000,
      ...(i < 60
        ? { log_level: "info", message: "order taken" }
        : { log_level: "error", message: "order lost" }),
      attributes: { "service.name": "/k8s/shop/cart" },
    }));
    await ingest(site.server, errors.map((row) => JSON.stringify(row)).join("\n"));
    const window = { startTime: dayMs, endTime: dayMs + 179_999 };
    expect((await ask(site.server, "POST", "/investigations", window)).status).toBe(200);
    page = await site.openAs(site.server.adminToken, "/signin", { viewport });
    isQuiet = watchRequests(page);
  });
  afterAll(() => site.stop());

  test.each(screens)("%s", async (name, path, prepare) => {
    // The same page for all screens: it has the scripts and styles of the one before.
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(viewport);
    await page.goto(site.server.url + path);
    const bad: Record<string, unknown> = {};
    const look = async (variant: string, only?: string[]) => {
      await site.picture(page, `${name.replaceAll(" ", "-")}-${variant}`);
      const found = await violations(page, only);
      if (found.length > 0) bad[variant] = found;
      // Nothing is wider than the screen.
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (overflow !== 0) bad[`${variant}, overflow`] = overflow;
    };
    await page.locator("main > *").first().waitFor();
    await isQuiet();
    await prepare?.(page);
    await isQuiet();
    await page.evaluate(axe);
    await page.evaluate(isDrawn);
    await look("light");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.evaluate(isDrawn);
    await look("dark", ["color-contrast"]);
    await page.setViewportSize({ width: 360, height: viewport.height });
    await page.evaluate(isDrawn);
    await look("small");
    expect(bad).toEqual({});
  });
});

/** Resolves in the page once two frames were drawn and no colour or size changes any more. */
const isDrawn = `(async () => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const transitions = document.getAnimations().filter((each) => each instanceof CSSTransition);
  await Promise.allSettled(transitions.map((each) => each.finished));
})()`;

/** Returns what waits until every request of a page has been answered for a while. A stream of events need not end. */
function watchRequests(page: Page): () => Promise<void> {
  const open = new Set<Request>();
  let lastMs = 0;
  const end = (request: Request) => {
    if (open.delete(request)) lastMs = performance.now();
  };
  page.on("request", (request) => open.add(request));
  page.on("requestfinished", end);
  page.on("requestfailed", end);
  page.on("response", (response) => {
    if (response.headers()["content-type"]?.startsWith("text/event-stream")) end(response.request());
  });
  return () =>
    vi.waitFor(
      () => {
        if (open.size > 0 || performance.now() < lastMs + quietMs)
          throw new Error(`no answer to ${[...open].map((request) => request.url()).join(", ")}`);
      },
      { timeout: 45_000, interval: 20 },
    );
}
