/**
 * `node bench/page.ts [ROWS [ROUNDS]]`: the page in Chromium against its budgets: bytes, CPU of the main thread, and
 * time from an answer to its painting, over generated rows. Exits with 1 where a budget is missed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { readOperands } from "./command/operands.ts";
import { spreadOf } from "./measure/spread.ts";
import { fakeTail } from "./page/fake-tail.ts";
import { MeasuredPage } from "./page/measured-page.ts";
import { startServer } from "./server/server-process.ts";
import { formatCount, formatTable } from "./terminal/table.ts";

const { numbers } = readOperands("node bench/page.ts [ROWS [ROUNDS]]", { ROWS: 2_000_000, ROUNDS: 5 });
const [rowCount, rounds] = numbers as [number, number];
const root = join(import.meta.dirname, "..");
const executablePath = process.env.SVC_CHROMIUM ?? "/usr/bin/chromium";
/** The generated rows begin at this time and lie within a day. */
const startMs = Date.UTC(2025, 0, 6);
const address = `/?from=${startMs}&to=${startMs + 86_400_000}`;

/** The page asks for suggestions where no key came for 90 ms. */
const keyMs = 75;
const suggestionMs = 150;

interface Figure {
  what: string;
  value: number;
  budget: number;
  unit: "kB" | "ms" | "MB";
}

/** Scripts for the page: the assets that were there when something was painted first, and a count of frames. */
const loadedBeforePaint = `(() => {
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const isBefore = ({ name, responseEnd }) => name.includes("/assets/") && responseEnd <= paint.startTime;
  return performance.getEntriesByType("resource").filter(isBefore).map(({ name }) => name.split("/").at(-1));
})()`;
const countFrames = `{
  globalThis.frameCount = 0;
  const count = () => {
    frameCount++;
    requestAnimationFrame(count);
  };
  count();
}`;

const dir = await mkdtemp(join(tmpdir(), "svc-bench-"));
await run(["server/page/build.ts"]);
await storeRows();
const server = await startServer(dir, root);
// Containers have no user namespaces for the browser's own sandbox.
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const figures: Figure[] = [];
try {
  await measureLoading();
  await measureSearching();
  await measureTyping();
  await measureScrolling();
  await measureTail();
} finally {
  await browser.close();
  await server.stop();
  await rm(dir, { recursive: true });
}
const cells = figures.map(({ what, value, budget, unit }) => [
  what,
  `${value.toFixed(1)} ${unit}`,
  `${budget} ${unit}`,
  value <= budget ? "" : "missed",
]);
console.log(`${formatCount(rowCount)} rows, medians of ${rounds} rounds, ${browser.version()}\n`);
const columns = ["", "measured", "budget", ""].map((title, i) => {
  return { title, align: i === 0 ? "left" : "right" } as const;
});
process.stdout.write(formatTable(columns, cells));
if (figures.some(({ value, budget }) => value > budget)) process.exitCode = 1;

async function run(words: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}`);
}

async function storeRows(): Promise<void> {
  const start = new Date(startMs).toISOString();
  const made = ["fixtures/main.ts", "--rows", String(rowCount), "--start", start];
  const generator = spawn(process.execPath, made, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
  const store = ["server/main.ts", "ingest", "-", "--direct", "--data", dir];
  const loader = spawn(process.execPath, store, {
    cwd: root,
    stdio: [generator.stdout, "ignore", "inherit"],
  });
  const [code] = await once(loader, "exit");
  if (code !== 0) throw new Error(`loading ended with ${code}`);
}

function addMedian(what: string, samples: readonly number[], budget: number): void {
  figures.push({ what, value: spreadOf(samples).median, budget, unit: "ms" });
}

async function open(path: string, script?: string): Promise<MeasuredPage> {
  const opened = await MeasuredPage.open(browser, script);
  await opened.page.goto(server.url + path);
  await opened.page.getByRole("button", { name: "Run" }).waitFor();
  return opened;
}

/** Bytes with gzip of what is loaded until something is painted, and of the whole page; CPU of loading. */
async function measureLoading(): Promise<void> {
  const files = JSON.parse(await readFile(join(root, "dist/page/files.json"), "utf8")) as {
    name: string;
    gzipBytes: number;
  }[];
  const sizes = new Map(files.map(({ name, gzipBytes }) => [name, gzipBytes]));
  const busy: number[] = [];
  let firstBytes = 0;
  for (let round = 0; round < rounds; round++) {
    const opened = await MeasuredPage.open(browser);
    busy.push(await opened.measureBusyMs(() => opened.page.goto(server.url + address)));
    const names = (await opened.page.evaluate(loadedBeforePaint)) as string[];
    firstBytes = names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
    await opened.close();
  }
  const allBytes = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
  figures.push(
    { what: "bytes before the first paint, gzip", value: firstBytes / 1_000, budget: 60, unit: "kB" },
    { what: "bytes of the whole page, gzip", value: allBytes / 1_000, budget: 250, unit: "kB" },
  );
  addMedian("loading the search, CPU", busy, 400);
}

/** From the server's answers to what they show. */
async function measureSearching(): Promise<void> {
  const opened = await open(address);
  const { page } = opened;
  const drawn: Record<"rows" | "histogram" | "fields", number[]> = { rows: [], histogram: [], fields: [] };
  // Both find about all rows; what is drawn differs.
  const queries = ["-nothing", ""];
  const search = (round: number) => async () => {
    await page.getByLabel("Query").fill(queries[round % 2]!);
    await page.getByLabel("Query").press("Enter");
  };
  for (let round = 0; round < 3 * rounds; ) {
    const measure = (path: string, element: string) => opened.measurePaintMs(path, element, search(round++));
    drawn.rows.push(await measure("/query/logs", ".results"));
    drawn.histogram.push(await measure("/query/histogram", ".histogram"));
    drawn.fields.push(await measure("/query/fields", ".field-list"));
  }
  addMedian("answer to first row painted", drawn.rows, 60);
  addMedian("answer to histogram painted", drawn.histogram, 150);
  addMedian("answer to fields painted", drawn.fields, 150);
  await opened.close();
}

async function measureTyping(): Promise<void> {
  const opened = await open(address);
  const { page } = opened;
  await page.getByLabel("Query").focus();
  const keys: number[] = [];
  const suggestions: number[] = [];
  for (const key of '{service.name="/k8s/shop/cart", log_level="error"} |= "refused" | json | status>=500') {
    const before = await opened.readBusyMs();
    await page.keyboard.press(key === " " ? "Space" : key);
    await page.waitForTimeout(keyMs);
    const shown = await opened.readBusyMs();
    await page.waitForTimeout(suggestionMs);
    keys.push(shown - before);
    suggestions.push((await opened.readBusyMs()) - shown);
  }
  addMedian("one key in the query, CPU", keys, 10);
  addMedian("suggestions after a pause, CPU", suggestions, 10);
  await opened.close();
}

/** Scrolls through what is loaded and what is loaded meanwhile. */
async function measureScrolling(): Promise<void> {
  const opened = await open(address);
  const { page } = opened;
  await page.locator(".row-line").first().hover();
  await page.evaluate(countFrames);
  const steps = 200;
  const perFrame: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await page.evaluate("frameCount = 0");
    const before = await opened.readBusyMs();
    for (let step = 0; step < steps; step++) {
      await page.mouse.wheel(0, 300);
      await page.waitForTimeout(16);
    }
    const busy = (await opened.readBusyMs()) - before;
    perFrame.push(busy / ((await page.evaluate("frameCount")) as number));
  }
  addMedian("a frame while scrolling, CPU", perFrame, 8);
  await opened.close();
}

/** An hour of 500 rows a second, sped up. */
async function measureTail(): Promise<void> {
  const opened = await open("/?live=1", fakeTail);
  await opened.page.getByText(/^Live, /).waitFor();
  const total = 3_600 * 500;
  for (let sent = 0; sent < total; ) {
    sent = (await opened.page.evaluate("pushRows(3_600)")) as number;
    await opened.page.waitForTimeout(40);
  }
  await opened.page.getByText(new RegExp(`^Live, ${formatCount(total)} rows`)).waitFor();
  figures.push({
    what: "heap after an hour of 500 live rows/s",
    value: (await opened.readHeapBytes()) / 1e6,
    budget: 150,
    unit: "MB",
  });
  await opened.close();
}
