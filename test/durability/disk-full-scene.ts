/**
 * Runs on a small file system of its own: fills it up during appends, seals and restarts, frees space again, and prints
 * what happened, one line of JSON for each scene.
 */
import { readdirSync, rmSync, statfsSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Failure, openStore, type Store } from "../../engine/index.ts";
import { Random } from "../../fixtures/random.ts";
import { nowMs, rowsOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";

export interface ScenePlan {
  mount: string;
  seed: number;
  /** Number of runs of each scene. */
  times: number;
}

/** What happened in one scene. */
export interface Fact {
  scene: "append" | "seal" | "restart";
  /** Pages left free on the disk. */
  freePages: number;
  /** The store's answer while the disk was full: "done", or the kind of Failure and its message. */
  answer: string;
  /** Numbers of rows that were acknowledged and that the store holds, at several moments; they must be equal. */
  rows: { when: string; expected: number; found: number }[];
  problems: string[];
}

const pageBytes = 4096;
const plan = JSON.parse(process.argv[2]!) as ScenePlan;
const random = new Random(plan.seed, 77);
const dir = join(plan.mount, "data");
const filler = join(plan.mount, "ballast");
const events: string[] = [];
let store!: Store;
let batchNext = 1;
let rowsExpected = 0;
let clockMs = nowMs;
/** Batches that were refused while the disk was full. */
let refusedBatches: number[] = [];

async function open(): Promise<void> {
  events.length = 0;
  store = await openStore({
    dir,
    threads: 1,
    now: () => clockMs,
    elapsed: () => clockMs,
    log: ({ level, message }) => {
      if (level === "error" && message.startsWith("damage")) events.push(message);
    },
  });
}

/** Fills the disk up to this many free pages. */
function fillDisk(freePages: number): void {
  const { bavail, bsize } = statfsSync(plan.mount);
  writeFileSync(filler, Buffer.alloc(Math.max(bavail * bsize - freePages * pageBytes, 0), 1));
}

function freeSpace(): void {
  rmSync(filler, { force: true });
}

async function answerOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "done";
  } catch (error) {
    if (error instanceof Failure) return `${error.kind}: ${error.message}`;
    return `bug: ${error instanceof Error ? error.stack : error}`;
  }
}

async function append(batch = batchNext++): Promise<void> {
  const rows = rowsOf(plan.seed, batch);
  const { duplicate } = await store.append("logs", rows, { key: `batch ${batch}` });
  if (duplicate) throw new Error(`batch ${batch} was refused, and its key was taken nevertheless`);
  rowsExpected += rows.length;
}

/** Appends several batches at once, since one sync serves them all; each is taken or refused on its own. */
async function appendTogether(): Promise<void> {
  const batches = Array.from({ length: random.between(1, 5) }, () => batchNext++);
  const answers = await Promise.allSettled(batches.map(append));
  refusedBatches = batches.filter((_, i) => answers[i]!.status === "rejected");
  for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
}

async function recordRows(fact: Fact, when: string): Promise<void> {
  const { rows, problems } = await readContents(store, plan.seed, 5_000);
  fact.rows.push({ when, expected: rowsExpected, found: rows });
  fact.problems.push(...[...problems, ...events].map((problem) => `${when}: ${problem}`));
}

/**
 * Runs one scene: `work` on a full disk, then further work with free space, without a restart and sometimes with one.
 */
async function runScene(
  scene: Fact["scene"],
  freePages: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const fact: Fact = { scene, freePages, answer: "", rows: [], problems: [] };
  fillDisk(freePages);
  fact.answer = await answerOf(work);
  if (fact.answer.startsWith("bug")) throw new Error(fact.answer);
  await recordRows(fact, "while the disk is full");
  freeSpace();
  // Background work waits a few seconds before it retries.
  clockMs += 10_000;
  const recovery = await answerOf(async () => {
    for (const batch of refusedBatches.splice(0)) await append(batch);
    await append();
    await store.seal();
  });
  if (recovery !== "done") fact.problems.push(`with room again: ${recovery}`);
  await recordRows(fact, "with room again");
  if (random.oneIn(2)) {
    const closed = await answerOf(() => store.close());
    if (closed !== "done") fact.problems.push(`close: ${closed}`);
    await open();
    await recordRows(fact, "after a restart");
  }
  writeSync(1, `${JSON.stringify(fact)}\n`);
}

async function appendUntilRefused(): Promise<void> {
  for (;;) await appendTogether();
}

/** Restarts on a full disk: the store must open, so that searches are answered and retention can free space. */
async function restart(): Promise<void> {
  const closed = await answerOf(() => store.close());
  const opened = await answerOf(open);
  if (closed !== "done" || opened !== "done") throw new Error(`close: ${closed}; open: ${opened}`);
}

function chunkFolders(): number {
  return readdirSync(join(dir, "logs")).length;
}

await open();
for (let i = 0; i < plan.times; i++) {
  await append();
  await runScene("append", random.between(0, 40), appendUntilRefused);
  for (let batch = 0; batch < 4; batch++) await append();
  await runScene("seal", random.between(0, 30), () => store.seal());
  for (let batch = 0; batch < 3; batch++) await append();
  await runScene("restart", random.between(0, 6), restart);
}
await store.close();
const journalBytes = readdirSync(join(dir, "journal")).reduce(
  (sum, name) => sum + statSync(join(dir, "journal", name)).blocks * 512,
  0,
);
writeSync(1, `${JSON.stringify({ days: chunkFolders(), journalBytes })}\n`);
