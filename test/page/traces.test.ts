/** From a slow request to the span that made it slow, and to its logs. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ingest } from "../server/running.ts";
import { noBrowser, PageTest } from "./browser.ts";

const startMs = Date.UTC(2026, 0, 29, 12);
const traceId = "de8471f4caa64de97801204904f6db04";
const shortId = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const wideId = "62c475af06b43e929439a596bf85535d";

function makeSpan(
  trace: string,
  id: number,
  parent: number | null,
  name: string,
  fromMs: number,
  toMs: number,
  more = {},
) {
  const nano = (ms: number) => String(BigInt(startMs + ms) * 1_000_000n);
  const hex = (number: number) => number.toString(16).padStart(16, "0");
  return {
    ...{ traceId: trace, spanId: hex(id), parentSpanId: parent === null ? "" : hex(parent), name },
    ...{ startTimeUnixNano: nano(fromMs), endTimeUnixNano: nano(toMs) },
    attributes: { "service.name": `/k8s/shop/${name.split(" ")[0]}` },
    ...more,
  };
}

/** A trace of 200 µs that begins in the middle of a millisecond; its second half is a call. */
function shortSpans() {
  const nano = (ns: bigint) => String(BigInt(startMs - 120_000) * 1_000_000n + 700_000n + ns);
  const times = (from: bigint, to: bigint) => ({ startTimeUnixNano: nano(from), endTimeUnixNano: nano(to) });
  return [
    makeSpan(shortId, 1, null, "cache lookup", 0, 0, times(0n, 200_000n)),
    makeSpan(shortId, 2, 1, "memory read", 0, 0, times(100_000n, 200_000n)),
  ];
}

describe.skipIf(noBrowser !== undefined)("traces", () => {
  let site: PageTest;
  const range = `from=${startMs - 60_000}&to=${startMs + 600_000}`;
  beforeAll(async () => {
    site = await PageTest.start();
    const spans = [
      makeSpan(traceId, 1, null, "web GET /cart", 0, 5_000),
      makeSpan(traceId, 2, 1, "cart list", 600, 900),
      makeSpan(traceId, 3, 1, "pay check", 500, 4_900, { statusCode: "error", statusMessage: "timed out" }),
      makeSpan(traceId, 4, 3, "database SELECT", 600, 4_800),
      ...Array.from({ length: 40 }, (_, i) =>
        makeSpan((i + 1).toString(16).padStart(32, "0"), 1, null, "web GET /", i * 1_000, i * 1_000 + 20 + i),
      ),
      ...shortSpans(),
      makeSpan(wideId, 1, null, "batch run", 10_000, 20_000),
      ...Array.from({ length: 9_000 }, (_, i) =>
        makeSpan(wideId, i + 2, 1, `batch step-${i}`, 10_000 + i, 10_001 + i),
      ),
    ];
    const sent = await ingest(site.server, spans.map((span) => JSON.stringify(span)).join("\n"), {}, "spans");
    expect([sent.status, sent.json.errors]).toEqual([200, []]);
    const row = {
      timestamp: startMs + 4_000,
      log_level: "error",
      message: "no answer from 10.0.0.7",
      attributes: { trace_id: traceId, span_id: "0000000000000003" },
    };
    await ingest(site.server, JSON.stringify(row));
  });
  afterAll(() => site.stop());

  test("the slowest request is found, and what made it slow", async () => {
    const page = await site.open(
      `/traces?${range}&q=${encodeURIComponent('traces{parent_span_id="", name=~".*GET.*"}')}`,
    );
    await page.getByText("41 spans in").waitFor();
    await page.getByRole("button", { name: "Slowest first" }).click();
    const first = page.getByRole("row").nth(1);
    expect(await first.textContent()).toContain("5 s");
    await site.picture(page, "traces");
    await first.getByRole("link").click();
    await page.getByRole("heading", { name: "web GET /cart" }).waitFor();
    await page.getByText("5 s, 4 spans of 4 services, 1 with errors").waitFor();
    await page.getByRole("button", { name: "Critical path" }).click();
    // Everything but the quick call is on it.
    expect(await page.locator(".span-line.aside").allInnerTexts()).toEqual([
      expect.stringContaining("cart list"),
    ]);
    await page.getByRole("button", { name: /pay check/ }).click();
    await page
      .getByRole("region", { name: "Logs of the span" })
      .getByText("no answer from 10.0.0.7")
      .waitFor();
    await page.getByText("took 4.4 s, 200 ms of it by itself").waitFor();
    expect(new URL(page.url()).searchParams.get("span")).toBe("0000000000000003");
    await site.picture(page, "trace");
    await page.getByRole("button", { name: "Errors only" }).click();
    expect(await page.locator(".span-line").count()).toBe(2);
    await page.getByRole("link", { name: "Logs of this trace" }).click();
    await page.getByText("1 row in").waitFor();
  });

  test("a trace of nine thousand spans is searched by text and moved through by keys", async () => {
    const page = await site.open(`/traces/${wideId}`);
    await page.getByText("9,001 spans of 1 service").waitFor();
    expect(await page.locator(".span-line").count()).toBeLessThan(150);
    await page.getByLabel("Find spans").fill("step-8765");
    await page.getByText("1 found").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /step-8765/, pressed: true }).waitFor();
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("j");
    await page.getByRole("button", { name: /step-8766/, pressed: true }).waitFor();
    await page.getByRole("region", { name: "Spans" }).evaluate((list) => list.scrollTo(0, 0));
    await page.getByRole("button", { name: "9,000 spans below" }).click();
    await page.locator(".span-line").nth(1).waitFor({ state: "detached" });
  });

  test("long spans are found by their duration, page by page", async () => {
    const page = await site.open(`/traces?${range}&q=${encodeURIComponent('traces{name=~"batch.*"}')}`);
    await page.getByText("The newest 200 spans in").waitFor();
    await page.getByRole("button", { name: "More spans" }).click();
    await page.getByText("The newest 400 spans in").waitFor();
    expect(await page.getByRole("row").count()).toBe(401);
    await page.getByText("9,001 spans, 0 errors").waitFor();
    // The bars are a histogram: the last of them is the one long span.
    const bars = (await page.locator(".duration-bars").boundingBox())!;
    await page.mouse.move(bars.x + bars.width - 3, bars.y + 20);
    await page.getByText(/: 1 span, 0 errors$/).waitFor();
    await page.mouse.down();
    await page.mouse.up();
    await page.getByText("1 span in").waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toContain("| duration_ms>=");
    await page.getByRole("button", { name: /^Half within/ }).waitFor();
    await page.goBack();
    await page.getByText("The newest 200 spans in").waitFor();
  });

  test("a part of a trace is looked at closely, and short spans are hidden", async () => {
    const page = await site.open(`/traces/${traceId}`);
    const strip = (await page.getByRole("img", { name: "The whole trace" }).boundingBox())!;
    await page.mouse.move(strip.x + 2, strip.y + 20);
    await page.mouse.down();
    await page.mouse.move(strip.x + strip.width * 0.2, strip.y + 20, { steps: 3 });
    await page.mouse.up();
    const whole = page.getByRole("button", { name: /show all$/ });
    await whole.waitFor();
    expect(await page.locator(".span-bar").count()).toBe(4);
    await whole.click();
    await whole.waitFor({ state: "detached" });
    await page.getByLabel("Hide below").selectOption("10");
    await page.getByText("cart list").waitFor({ state: "detached" });
    expect(await page.locator(".span-line").count()).toBe(3);
  });

  test("a trace of less than a millisecond is drawn where its spans ran", async () => {
    const page = await site.open(`/traces/${shortId}?span=0000000000000002`);
    await page.getByText("Began 100 µs after the trace, took 100 µs").waitFor();
    const axis = (await page.locator(".span-axis").first().boundingBox())!;
    const places = await page.locator(".span-bar").evaluateAll((bars) => {
      return bars.map((bar) => {
        const { left, width } = bar.getBoundingClientRect();
        return [left, width];
      });
    });
    const shares = places.map(([left, width]) => [(left! - axis.x) / axis.width, width! / axis.width]);
    expect(shares).toEqual([
      [expect.closeTo(0, 1), expect.closeTo(1, 1)],
      [expect.closeTo(0.5, 1), expect.closeTo(0.5, 1)],
    ]);
  });

  test("keys of the browser are left to it", async () => {
    const page = await site.open(`/traces/${traceId}?span=0000000000000003`, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const field = page.getByRole("cell", { name: "timed out" });
    await field.waitFor();
    await field.selectText();
    await page.keyboard.press("Control+c");
    await expect.poll(() => page.evaluate("navigator.clipboard.readText()")).toBe("timed out");
    const path = page.getByRole("button", { name: "Critical path" });
    expect(await path.getAttribute("aria-pressed")).toBe("false");
    await page.keyboard.press("c");
    expect(await path.getAttribute("aria-pressed")).toBe("true");
    await page.keyboard.press("Alt+ArrowDown");
    await page.keyboard.press("Control+j");
    expect(new URL(page.url()).searchParams.get("span")).toBe("0000000000000003");
  });

  test("a trace of ten thousand spans, each below the one before", async () => {
    const id = "a".repeat(32);
    const deep = Array.from({ length: 10_000 }, (_, i) =>
      makeSpan(id, i + 1, i === 0 ? null : i, "deep call", 30_000 + i, 60_000 - i),
    );
    await ingest(site.server, deep.map((span) => JSON.stringify(span)).join("\n"), {}, "spans");
    const page = await site.open(`/traces/${id}`);
    await page.getByText("10,000 spans of 1 service").waitFor();
    await page.getByRole("button", { name: "Critical path" }).click();
    await page.getByRole("button", { name: "Errors only" }).click();
    await page.getByText("No span of this trace has an error.").waitFor();
  });

  test("the map shows who calls whom, and leads to the spans of a service", async () => {
    const page = await site.open(`/traces?${range}`);
    await page.getByRole("button", { name: "Service map" }).click();
    const map = page.getByRole("figure", { name: /^Map of \d services$/ });
    await map.getByRole("button", { name: /^database .*: 1 call, 0 errors/ }).waitFor();
    await map.getByRole("button", { name: /^pay .*: 1 call, 1 error/ }).press("Enter");
    const detail = page.getByRole("complementary", { name: "Service pay" });
    await detail.getByRole("row", { name: "web 1 1 (100 %) 4.4 s 4.4 s 4.4 s" }).waitFor();
    await detail.getByRole("row", { name: "database 1 0 4.2 s 4.2 s 4.2 s" }).waitFor();
    await detail.getByRole("link", { name: "Errors" }).click();
    await page.getByRole("link", { name: "pay check" }).waitFor();
    expect(await page.getByRole("table").getByRole("link").count()).toBe(1);
    await page.goBack();
    await detail.getByRole("link", { name: "Logs" }).click();
    await page.getByRole("heading", { name: "Search" }).waitFor();
    expect(await page.getByLabel("Query").inputValue()).toBe('logs{service.name="/k8s/shop/pay"}');
  });

  test("a trace that is not there says so", async () => {
    const page = await site.open(`/traces/${"f".repeat(32)}`);
    await page.getByRole("alert").waitFor();
  });
});
