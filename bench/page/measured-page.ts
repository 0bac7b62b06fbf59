/** A page in Chromium, with what its main thread did and how much memory it holds. */

import type { Browser, CDPSession, Page } from "playwright-core";

/** Times in milliseconds since the page began to load. */
interface PaintTimes {
  /** When the last answer from a path was whole. */
  answered: number;
  /** When what the answer changed was painted; undefined where nothing was. */
  painted?: number;
}

/** Changes of the document are over where there is none for this long. */
const quietMs = 700;
const viewport = { width: 1_440, height: 900 };

export class MeasuredPage {
  readonly page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.#session = session;
  }

  /** Opens a page that has nothing in its cache. `script` runs before those of the page. */
  static async open(browser: Browser, script?: string): Promise<MeasuredPage> {
    const context = await browser.newContext({ viewport, timezoneId: "UTC" });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable");
    if (script !== undefined) await page.addInitScript(script);
    return new MeasuredPage(page, session);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  /** Milliseconds that the main thread was busy so far: scripts, styles, layout and painting. */
  async readBusyMs(): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")!.value * 1_000;
  }

  /** Bytes of live objects, after garbage was collected. */
  async readHeapBytes(): Promise<number> {
    await this.#session.send("HeapProfiler.collectGarbage");
    return (await this.#session.send("Runtime.getHeapUsage")).usedSize;
  }

  /** Does something, and waits until the document has changed no more for a while. Milliseconds of the main thread. */
  async measureBusyMs(act: () => Promise<unknown>): Promise<number> {
    const before = await this.readBusyMs();
    await act();
    await this.page.waitForLoadState("networkidle");
    await this.page.waitForTimeout(quietMs);
    return (await this.readBusyMs()) - before;
  }

  /**
   * Does something that asks the server, and tells for an element how long after the answer of `path` was whole its
   * first change was painted.
   */
  async measurePaintMs(path: string, element: string, act: () => Promise<unknown>): Promise<number> {
    await this.page.evaluate(`{${watchPaints(element)}}`);
    await act();
    await this.page.waitForLoadState("networkidle");
    await this.page.waitForTimeout(quietMs);
    const { answered, painted } = (await this.page.evaluate(readPaints(path))) as PaintTimes;
    if (painted === undefined) throw new Error(`nothing was painted after the answer of ${path}`);
    return painted - answered;
  }
}

/** A script for the page: notes when changes of an element are painted. */
const watchPaints = (element: string) => `
  globalThis.paints = [];
  const changed = () => requestAnimationFrame(() => setTimeout(() => paints.push(performance.now())));
  new MutationObserver(changed).observe(document.querySelector(${JSON.stringify(element)}), {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
`;

/** A script for the page: the times of the last answer of a path and of what it changed. */
const readPaints = (path: string) => `(() => {
  const isOf = ({ name }) => name.endsWith(${JSON.stringify(path)});
  const answered = performance.getEntriesByType("resource").findLast(isOf).responseEnd;
  return { answered, painted: paints.find((ms) => ms >= answered) };
})()`;
