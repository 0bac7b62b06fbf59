/**
 * Runs inside a small file system of its own: fills it at every moment that matters, makes room again, and says on its
 * standard output what happened, one line of JSON a fact.
 */
import { readdirSync, rmSync, statfsSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { Failure, openStore, type Store } from "../../engine/index.ts";
import { Random } from "../../fixtures/random.ts";
import { nowMs, rowsOf } from "./batches.ts";
import { readContents } from "./contents.ts";

export interface ScenePlan {
  mount: string;
  seed: number;
  /** How often each of the scenes is played. */
  times: number;
}

export interface Fact {
  scene: "append" | "seal" | "restart";
  /** Pages left free on the disk. */
  freePages: number;
  /** What the store answered while the disk was full: "done", or the kind of Failure and its text. */
  answer: string;
  /** Rows that a store holds must be those that it acknowledged, at each of these moments. */
  rows: { when: string; expected: number; found: number }[];
  problems: string[];
}

const pageBytes = 4096;
const plan = JSON.parse(process.argv[2]!) as ScenePlan;
const random = new Random(plan.seed, 77);
const dir = join(plan.mount, "data");
const ballast = join(plan.mount, "ballast");
const events: string[] = [];
let store!: Store;
let batchNext = 1;
let rowsExpected = 0;
let clockMs = nowMs;
/** Batches that the full disk kept out. */
let refused: number[] = [];

async function open(): Promise<void> {
  events.length = 0;
  store = await openStore({
    dir,
    threads: 1,
    now: () => clockMs,
    log: ({ level, message }) => {
      if (level === "error" && message.startsWith("damage")) events.push(message);
    },
  });
}

/** Takes all room but so many pages. */
function fillDisk(freePages: number): void {
  const { bavail, bsize } = statfsSync(plan.mount);
  writeFileSync(ballast, Buffer.alloc(Math.max(bavail * bsize - freePages * pageBytes, 0), 1));
}

function makeRoom(): void {
  rmSync(ballast, { force: true });
}

async function attempt(work: () => Promise<unknown>): Promise<string> {
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

/** Several at once, since one sync serves them all: each is taken or refused for itself. */
async function appendTogether(): Promise<void> {
  const batches = Array.from({ length: random.between(1, 5) }, () => batchNext++);
  const answers = await Promise.allSettled(batches.map(append));
  refused = batches.filter((_, i) => answers[i]!.status === "rejected");
  for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
}

async function observe(fact: Fact, when: string): Promise<void> {
  const { rows, problems } = await readContents(store, plan.seed, 5_000);
  fact.rows.push({ when, expected: rowsExpected, found: rows });
  fact.problems.push(...[...problems, ...events].map((problem) => `${when}: ${problem}`));
}

/** One scene: `work` meets the full disk, then there is room, and all goes on without a restart; then with one. */
async function play(scene: Fact["scene"], freePages: number, work: () => Promise<unknown>): Promise<void> {
  const fact: Fact = { scene, freePages, answer: "", rows: [], problems: [] };
  fillDisk(freePages);
  fact.answer = await attempt(work);
  if (fact.answer.startsWith("bug")) throw new Error(fact.answer);
  await observe(fact, "while the disk is full");
  makeRoom();
  // Background work waits a few seconds before it tries again.
  clockMs += 10_000;
  const recovery = await attempt(async () => {
    for (const batch of refused.splice(0)) await append(batch);
    await append();
    await store.seal();
  });
  if (recovery !== "done") fact.problems.push(`with room again: ${recovery}`);
  await observe(fact, "with room again");
  if (random.oneIn(2)) {
    const closed = await attempt(() => store.close());
    if (closed !== "done") fact.problems.push(`close: ${closed}`);
    await open();
    await observe(fact, "after a restart");
  }
  writeSync(1, `${JSON.stringify(fact)}\n`);
}

async function appendUntilRefused(): Promise<void> {
  for (;;) await appendTogether();
}

/** A start on a full disk: searches are answered, and retention may make room. */
async function restart(): Promise<void> {
  const closed = await attempt(() => store.close());
  const opened = await attempt(open);
  if (closed !== "done" || opened !== "done") throw new Error(`close: ${closed}; open: ${opened}`);
}

function chunkFolders(): number {
  return readdirSync(join(dir, "logs")).length;
}

await open();
for (let i = 0; i < plan.times; i++) {
  await append();
  await play("append", random.between(0, 40), appendUntilRefused);
  for (let batch = 0; batch < 4; batch++) await append();
  await play("seal", random.between(0, 30), () => store.seal());
  for (let batch = 0; batch < 3; batch++) await append();
  await play("restart", random.between(0, 6), restart);
}
await store.close();
const journalBytes = readdirSync(join(dir, "journal")).reduce(
  (sum, name) => sum + statSync(join(dir, "journal", name)).blocks * 512,
  0,
);
writeSync(1, `${JSON.stringify({ days: chunkFolders(), journalBytes })}\n`);
