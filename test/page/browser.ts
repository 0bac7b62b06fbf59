/** A real browser on a server of the test. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { type Running, startServer } from "../server/running.ts";

const executablePath = process.env.SVC_CHROMIUM ?? "/usr/bin/chromium";

/** Why tests with a browser are skipped; undefined where there is one. */
export const noBrowser = existsSync(executablePath)
  ? undefined
  : `${executablePath} is missing: install Debian's chromium, or name one in SVC_CHROMIUM`;
if (noBrowser !== undefined) console.warn(`tests of the page are skipped: ${noBrowser}`);

/** Screenshots for people to look at, where SVC_PICTURES=1 asks for them. */
const arePicturesKept = process.env.SVC_PICTURES === "1";
const picturesFolder = join(import.meta.dirname, "../../dist/pictures");

export class PageTest {
  server: Running;
  readonly #browser: Browser;
  /** Errors that the page reported, violations of its policy among them. */
  readonly problems: string[] = [];
  /** Other origins that pages may go to. */
  readonly allowedOrigins = new Set<string>();
  /** Pages of earlier tests, without what these stored in them. They have the program's scripts and styles. */
  readonly #used: Page[] = [];

  private constructor(server: Running, browser: Browser) {
    this.server = server;
    this.#browser = browser;
  }

  static async start(settings: Parameters<typeof startServer>[0] = {}): Promise<PageTest> {
    const server = await startServer({ anonymousRead: true, ...settings });
    server.url = server.url.replace("0.0.0.0", "127.0.0.1");
    // Containers have no user namespaces for the browser's own sandbox.
    const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    return new PageTest(server, browser);
  }

  /** Opens an address of the page, with no cookies and nothing stored. No other page of the test shares its context. */
  async open(path: string, options?: BrowserContextOptions): Promise<Page> {
    const page = (options === undefined ? this.#used.pop() : undefined) ?? (await this.#make(options));
    if (options === undefined) {
      onTestFinished(async ({ task }) => {
        if (task.result?.state !== "fail" && !page.isClosed()) this.#used.push(await this.#clear(page));
      });
    }
    await page.goto(this.server.url + path);
    return page;
  }

  /** Takes away what a test left in a page. */
  async #clear(page: Page): Promise<Page> {
    const context = page.context();
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.goto("about:blank");
    await context.clearCookies();
    const session = await context.newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: this.server.url, storageTypes: "all" });
    await session.detach();
    return page;
  }

  async #make(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.#browser.newContext({ timezoneId: "UTC", ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(45_000);
    page.on("pageerror", (error) => this.problems.push(`${error.message}`));
    page.on("console", (message) => {
      // The browser reports each answer that is no success; the page shows those itself.
      const isRefusal = message
        .text()
        .startsWith("Failed to load resource: the server responded with a status of 4");
      if (message.type() === "error" && !isRefusal) this.problems.push(message.text());
    });
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      const isOwn = origin === this.server.url || this.allowedOrigins.has(origin);
      if (protocol !== "data:" && !isOwn) this.problems.push(`a request to ${origin}`);
    });
    return page;
  }

  /** Opens an address of the page, signed in with a token. */
  async openAs(token: string, path: string, options?: BrowserContextOptions): Promise<Page> {
    const page = await this.open("/signin", options);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.goto(this.server.url + path);
    return page;
  }

  /** Stops the server, does something while it is away, and starts it over the same data at the same address. */
  async restart(meanwhile: () => Promise<void>): Promise<void> {
    const { dir, port, service, stop } = this.server;
    await service.close();
    await meanwhile();
    const next = await startServer({
      anonymousRead: true,
      dataDir: dir,
      address: { host: "127.0.0.1", port },
    });
    // The folder is removed by whoever made it.
    this.server = { ...next, stop: () => next.stop().then(stop) };
  }

  async picture(page: Page, name: string): Promise<void> {
    if (!arePicturesKept) return;
    mkdirSync(picturesFolder, { recursive: true });
    await page.screenshot({ path: join(picturesFolder, `${name}.png`) });
  }

  async stop(): Promise<void> {
    await this.#browser.close();
    await this.server.stop();
    expect(this.problems).toEqual([]);
  }
}
