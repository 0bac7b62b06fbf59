/** Templates of days in files: a process that is new to a store answers from them, whatever has become of a file. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogRow, openStore, type Store, templateIdOf } from "../../../engine/index.ts";
import { generateRows, type Profile } from "../../../fixtures/logs.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const dayMs = 86_400_000;
const startMs = Date.UTC(2024, 6, 3);
/** Fewer rows of a chunk may have too many templates for them, and be stored as plain text. */
const chunkRows = 6_000;
const chunksADay = 2;
const profiles: readonly Profile[] = ["system", "company"];

let dir: string;
let store: Store;
let stored: LogRow[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-template-file-"));
  store = await openStore({ dir, threads: 2 });
  stored = [];
  for (const day of profiles.keys()) for (let chunk = 0; chunk < chunksADay; chunk++) await seal(day, chunk);
});

afterEach(async () => {
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Adds a chunk of rows to a day. */
async function seal(day: number, chunk: number): Promise<void> {
  const from = { startMs: startMs + day * dayMs, profile: profiles[day]!, seed: seed + chunk };
  const rows = [...generateRows({ ...from, rows: chunkRows })];
  stored.push(...rows);
  await store.append("logs", rows);
  await store.seal();
}

async function reopen(): Promise<void> {
  await store.close();
  store = await openStore({ dir, threads: 2 });
}

/** Compares the answer of the store with the rows; returns how many rows it looked at. */
async function ask(): Promise<number> {
  const range = { fromNs: BigInt(startMs) * 1_000_000n, toNs: BigInt(startMs + 2 * dayMs) * 1_000_000n };
  const found = await store.countTemplates({ signal: "logs", ...range, steps: [], limit: 20_000 });
  const truth = new Map<
    string,
    { rows: number; firstMs: number; lastMs: number; levels: Map<string, number> }
  >();
  for (const { message, level, timeNs } of stored) {
    const [id, ms] = [idOf(message), Number(timeNs / 1_000_000n)];
    const known = truth.get(id) ?? { rows: 0, firstMs: ms, lastMs: ms, levels: new Map<string, number>() };
    truth.set(id, known);
    known.rows++;
    known.firstMs = Math.min(known.firstMs, ms);
    known.lastMs = Math.max(known.lastMs, ms);
    known.levels.set(level.toLowerCase(), (known.levels.get(level.toLowerCase()) ?? 0) + 1);
  }
  expect(found.rows).toBe(stored.length);
  expect(new Map(found.templates.map(({ id, ...template }) => [id, template]))).toEqual(truth);
  return found.scanned.rows;
}

const ids = new Map<string, string>();
function idOf(message: string): string {
  const id = ids.get(message) ?? templateIdOf(message);
  ids.set(message, id);
  return id;
}

const fileOf = (day: number) => {
  const name = new Date(startMs + day * dayMs).toISOString().slice(0, 10);
  return join(dir, "logs", name, "templates");
};

/** Asks until the files of all days have what is known. */
async function learn(): Promise<void> {
  await expect.poll(ask, { timeout: 30_000 }).toBe(0);
  await expect.poll(() => profiles.every((_, day) => existsSync(fileOf(day)))).toBe(true);
  // The listing ends after its last file is in place.
  await sleep(20);
}

test(`the first question of a process is answered from files (SVC_SEED=${seed})`, async () => {
  expect(await ask()).toBe(stored.length);
  await learn();
  await reopen();
  expect(await ask()).toBe(0);
  // A chunk that the file lacks is read, and only that.
  await seal(0, chunksADay);
  await reopen();
  expect(await ask()).toBeLessThanOrEqual(chunkRows * (chunksADay + 1));
  await learn();
  await reopen();
  expect(await ask()).toBe(0);
});

type Spoil = (path: string, random: Random) => void;
const spoils: [string, Spoil][] = [
  ["missing", (path) => rmSync(path)],
  ["empty", (path) => truncateSync(path, 0)],
  ["cut off", (path, random) => truncateSync(path, random.below(readFileSync(path).length))],
  ["cut off after its first frame", (path) => truncateSync(path, firstFrameBytes(readFileSync(path)))],
  [
    "damaged",
    (path, random) => {
      const bytes = readFileSync(path);
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
      writeFileSync(path, bytes);
    },
  ],
  ["followed by other bytes", (path) => writeFileSync(path, "svc", { flag: "a" })],
  ["that of another day", (path) => copyFileSync(fileOf(1), path)],
  [
    "a link",
    (path) => {
      copyFileSync(path, `${path}.there`);
      rmSync(path);
      symlinkSync(`${path}.there`, path);
    },
  ],
];

/** The frame's header says how long the padded key and the payload are. */
function firstFrameBytes(file: Buffer): number {
  return 24 + Math.ceil(file.readUInt16LE(8) / 8) * 8 + file.readUInt32LE(12);
}

test(`a file that has been spoilt is listed anew (SVC_SEED=${seed})`, async () => {
  await learn();
  const whole = readFileSync(fileOf(0));
  for (const [name, spoil] of spoils) {
    await store.close();
    spoil(fileOf(0), new Random(seed));
    store = await openStore({ dir, threads: 2 });
    expect(await ask(), name).toBe(stored.length / 2);
    await expect.poll(ask, { timeout: 30_000 }).toBe(0);
    await expect.poll(() => existsSync(fileOf(0)) && readFileSync(fileOf(0)).length).toBe(whole.length);
    await reopen();
    expect(await ask(), name).toBe(0);
  }
});
