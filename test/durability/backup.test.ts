/**
 * Backups of a store that continues to take writes: what each holds, compared with what the writers sent and got
 * acknowledged.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  openState,
  openStore,
  restoreBackup,
  type State,
  type Store,
  verifyStore,
  writeBackup,
} from "../../engine/index.ts";
import type { Random } from "../../fixtures/random.ts";
import { scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { dayMs, keyOf, nowMs, rowsOf, signalOf } from "./rows/batches.ts";
import { readContents } from "./rows/contents.ts";
import { countsOf, samplesOf } from "./rows/sample-batches.ts";

const restoreOptions = { nowMs, onProgress: () => undefined };
const writers = 2;

/** One write of any kind. Its times are ticks of a clock that advances with every event of a writer. */
interface Write {
  sentAt: number;
  ackAt: number;
}

/** Writers of rows, samples and settings, and a loop that seals, until `end`. */
class Load {
  readonly batches = new Map<number, Write>();
  readonly samples = new Map<number, Write>();
  readonly settings = new Map<number, Write>();
  readonly #store: Store;
  readonly #state: State;
  #clock = 0;
  #next = 1;
  #isOver = false;

  constructor(store: Store, state: State) {
    this.#store = store;
    this.#state = state;
  }

  /** Advances the clock. */
  get tick(): number {
    return ++this.#clock;
  }

  async run(): Promise<void> {
    this.#isOver = false;
    await Promise.all([
      ...Array.from({ length: writers }, () => this.#appendBatches()),
      this.#appendSamples(),
      this.#writeSettings(),
      this.#sealRepeatedly(),
    ]);
  }

  end(): void {
    this.#isOver = true;
  }

  async #record(writes: Map<number, Write>, number: number, write: Promise<unknown>): Promise<void> {
    const recorded = { sentAt: this.tick, ackAt: Number.POSITIVE_INFINITY };
    writes.set(number, recorded);
    await write;
    recorded.ackAt = this.tick;
  }

  async #appendBatches(): Promise<void> {
    while (!this.#isOver) {
      const batch = this.#next++;
      const key = keyOf(seed, batch);
      const options = key === undefined ? {} : { key };
      await this.#record(
        this.batches,
        batch,
        this.#store.append(signalOf(batch), rowsOf(seed, batch), options),
      );
      await setTimeout(20);
    }
  }

  async #appendSamples(): Promise<void> {
    for (let batch = this.samples.size + 1; !this.#isOver; batch++) {
      await this.#record(this.samples, batch, this.#store.appendSamples(samplesOf(seed, batch)));
      await setTimeout(20);
    }
  }

  /** Writes two entries at once, so that a partly applied write is visible. */
  async #writeSettings(): Promise<void> {
    for (let number = this.settings.size + 1; !this.#isOver; number++) {
      const changes = ["left", "right"].map((table) => ({ table, id: String(number % 40), value: number }));
      await this.#record(this.settings, number, this.#state.write(changes));
      await setTimeout(1);
    }
  }

  async #sealRepeatedly(): Promise<void> {
    while (!this.#isOver) {
      await this.#store.seal();
      await setTimeout(150);
    }
  }
}

/**
 * Opens a store and returns the numbers of the writes of each kind that it holds, and everything that must never occur.
 */
async function readNumbers(dir: string) {
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  const state = await openState(join(dir, "control"));
  const contents = await readContents(store, seed);
  const problems = [
    ...contents.problems,
    ...contents.batches.flatMap(({ batch, isWhole }) => (isWhole ? [] : [`batch ${batch} is half there`])),
    ...[...store.stats().damage, ...state.damage].map(({ where, problem }) => `${where}: ${problem}`),
  ];
  const samples = await countsOf(store);
  for (const [batch, count] of samples) {
    if (count !== samplesOf(seed, batch).length) problems.push(`of samples ${batch} there are ${count}`);
  }
  const textOf = (table: string) => JSON.stringify(state.list(table).map(({ id, value }) => [id, value]));
  if (textOf("left") !== textOf("right")) problems.push("a write to the state is half there");
  const keyed = contents.batches.find(({ batch }) => keyOf(seed, batch) !== undefined)!.batch;
  const again = await store.append(signalOf(keyed), rowsOf(seed, keyed), { key: keyOf(seed, keyed)! });
  if (!again.duplicate) problems.push(`batch ${keyed} was taken a second time`);
  await state.close();
  await store.close();
  return {
    problems,
    batches: new Set(contents.batches.map(({ batch }) => batch)),
    samples: new Set(samples.keys()),
    setting: Math.max(0, ...state.list("left").map(({ value }) => value as number)),
  };
}

/**
 * Of one kind of writes: when the last of those that were found was sent, and when the first of the others was
 * acknowledged.
 */
function tickBounds(all: ReadonlyMap<number, Write>, isFound: (number: number) => boolean): [number, number] {
  let [lastSentAt, firstAckAt] = [0, Number.POSITIVE_INFINITY];
  for (const [number, { sentAt, ackAt }] of all) {
    if (isFound(number)) lastSentAt = Math.max(lastSentAt, sentAt);
    else firstAckAt = Math.min(firstAckAt, ackAt);
  }
  return [lastSentAt, firstAckAt];
}

async function slowly(pieces: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  return (async function* () {
    for await (const piece of pieces) {
      await setTimeout(1);
      yield piece;
    }
  })();
}

test("a backup under load is one point in the order of writes", async () => {
  const random = seededRandom("backup under load");
  // Each store grows with every round and is read completely at the end of it.
  for (let stores = 0; stores < scaled(1, 5); stores++) await backUpUnderLoad(random, scaled(1, 8));
});

async function backUpUnderLoad(random: Random, rounds: number): Promise<void> {
  const folder = temporaryFolder();
  const dir = join(folder, "data");
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  const state = await openState(join(dir, "control"));
  const load = new Load(store, state);
  for (let round = 0; round < rounds; round++) {
    const running = load.run();
    await setTimeout(random.between(300, 800));
    const startedAt = load.tick;
    const opened = await store.openBackup(state);
    const openAt = load.tick;
    const backup = join(folder, `backup-${round}`);
    await writeBackup(await slowly(opened.pieces([])), backup, () => undefined);
    await opened.close();
    load.end();
    await running;
    const restored = join(folder, `restored-${round}`);
    await restoreBackup(backup, restored, restoreOptions);
    expect((await verifyStore(restored)).damage).toEqual([]);
    const found = await readNumbers(restored);
    expect(found.problems).toEqual([]);
    const kinds = [
      tickBounds(load.batches, (batch) => found.batches.has(batch)),
      tickBounds(load.samples, (batch) => found.samples.has(batch)),
      tickBounds(load.settings, (number) => number <= found.setting),
    ];
    const lastSentAt = Math.max(...kinds.map(([sent]) => sent));
    const firstAckAt = Math.min(...kinds.map(([, ack]) => ack));
    // The backup has every write that was acknowledged before it started, none that was sent after it was open, and
    // never the second of two successive writes without the first.
    expect(firstAckAt).toBeGreaterThan(startedAt);
    expect(lastSentAt).toBeLessThan(openAt);
    expect(lastSentAt).toBeLessThan(firstAckAt);
    expect(found.batches.size).toBeGreaterThan(0);
    expect(found.samples.size).toBeGreaterThan(0);
  }
  await state.close();
  await store.close();
}

/** Makes a store with sealed and unsealed rows of three signals; returns the folder of its backup. */
async function makeBackup(folder: string): Promise<string> {
  const dir = join(folder, "data");
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  const state = await openState(join(dir, "control"));
  for (let batch = 1; batch <= 8; batch++) {
    await store.append(signalOf(batch), rowsOf(seed, batch), { key: `key ${batch}` });
    if (batch === 6) await store.seal();
  }
  await store.appendSamples(samplesOf(seed, 1));
  await state.write([{ table: "left", id: "1", value: 1 }]);
  const opened = await store.openBackup(state);
  const backup = join(folder, "backup");
  const files = [{ name: "admin-token", bytes: Buffer.from("secret\n") }];
  await writeBackup(opened.pieces(files), backup, () => undefined);
  await opened.close();
  await state.close();
  await store.close();
  return backup;
}

test("only the owner can read a backup's files, and verify accepts a backup as a data folder", async () => {
  const backup = await makeBackup(temporaryFolder());
  for (const entry of readdirSync(backup, { recursive: true, withFileTypes: true })) {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
  expect(readFileSync(join(backup, "admin-token"), "utf8")).toBe("secret\n");
  expect((await verifyStore(backup)).damage).toEqual([]);
  await expect(openStore({ dir: backup })).rejects.toThrow(/is a backup: `svc restore`/);
});

test("a flipped bit, a truncated or a missing file is reported, and nothing is restored", async () => {
  const random = seededRandom("damaged backups");
  const folder = temporaryFolder();
  const backup = await makeBackup(folder);
  const target = join(folder, "restored");
  const files = readdirSync(backup, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(10);
  for (const file of new Set(Array.from({ length: scaled(5, 100) }, () => random.pick(files)))) {
    const whole = readFileSync(file);
    const flipped = Buffer.from(whole);
    const at = random.below(Math.min(whole.byteLength, 100_000));
    flipped[at]! ^= 1 << random.below(8);
    writeFileSync(file, random.oneIn(4) ? whole.subarray(0, -1) : flipped);
    if (random.oneIn(6)) rmSync(file);
    await expect(restoreBackup(backup, target, restoreOptions), `${file} at ${at}`).rejects.toThrow(
      /damaged|checksum|no backup/,
    );
    expect([existsSync(target), existsSync(`${target}.partial`)]).toEqual([false, false]);
    writeFileSync(file, whole);
  }
  await restoreBackup(backup, target, restoreOptions);
  await expect(restoreBackup(backup, target, restoreOptions)).rejects.toThrow(/is not empty/);
});

test("retention and merging wait for a backup, sealing does not", async () => {
  const folder = temporaryFolder();
  const dir = join(folder, "data");
  let clockMs = nowMs;
  const store = await openStore({
    dir,
    threads: 1,
    now: () => clockMs,
    retentionAgeMs: 365 * dayMs,
    retentionBeforeMs: nowMs + dayMs,
  });
  const state = await openState(join(dir, "control"));
  for (let batch = 1; batch <= 3; batch++) {
    await store.append(signalOf(batch), rowsOf(seed, batch));
    await store.seal();
  }
  const { chunks, rows } = store.stats();
  const opened = await store.openBackup(state);
  await expect(store.openBackup(state)).rejects.toThrow(/another backup is being made/);
  clockMs += 1_000 * dayMs;
  await store.append(signalOf(4), rowsOf(seed, 4));
  await store.seal();
  expect(store.stats().chunks).toBeGreaterThan(chunks);
  await writeBackup(opened.pieces([]), join(folder, "backup"), () => undefined);
  await opened.close();
  await store.seal();
  expect(store.stats().rows).toBe(0);
  await state.close();
  await store.close();
  await restoreBackup(join(folder, "backup"), join(folder, "restored"), restoreOptions);
  const restored = await openStore({ dir: join(folder, "restored"), threads: 1, now: () => nowMs });
  expect(restored.stats().rows).toBe(rows);
  await restored.close();
});
