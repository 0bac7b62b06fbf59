/** Backups of a store that goes on taking writes: what each of them holds, by the words of the writers. */
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
import { dayMs, keyOf, nowMs, rowsOf, signalOf } from "./batches.ts";
import { scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { readContents } from "./contents.ts";
import { countsOf, samplesOf } from "./sample-batches.ts";

const quiet = { nowMs, onProgress: () => undefined };
const writers = 2;

/** One write of any kind: moments are counted by a clock that ticks with every word of a writer. */
interface Write {
  sentAt: number;
  ackAt: number;
}

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

  get moment(): number {
    return ++this.#clock;
  }

  async run(): Promise<void> {
    this.#isOver = false;
    await Promise.all([
      ...Array.from({ length: writers }, () => this.#append()),
      this.#appendSamples(),
      this.#set(),
      this.#seal(),
    ]);
  }

  end(): void {
    this.#isOver = true;
  }

  async #note(writes: Map<number, Write>, number: number, write: Promise<unknown>): Promise<void> {
    const noted = { sentAt: this.moment, ackAt: Number.POSITIVE_INFINITY };
    writes.set(number, noted);
    await write;
    noted.ackAt = this.moment;
  }

  async #append(): Promise<void> {
    while (!this.#isOver) {
      const batch = this.#next++;
      const key = keyOf(seed, batch);
      const options = key === undefined ? {} : { key };
      await this.#note(
        this.batches,
        batch,
        this.#store.append(signalOf(batch), rowsOf(seed, batch), options),
      );
      await setTimeout(20);
    }
  }

  async #appendSamples(): Promise<void> {
    for (let batch = this.samples.size + 1; !this.#isOver; batch++) {
      await this.#note(this.samples, batch, this.#store.appendSamples(samplesOf(seed, batch)));
      await setTimeout(20);
    }
  }

  /** Two entries in one write: one without the other would be half. */
  async #set(): Promise<void> {
    for (let number = this.settings.size + 1; !this.#isOver; number++) {
      const changes = ["left", "right"].map((table) => ({ table, id: String(number % 40), value: number }));
      await this.#note(this.settings, number, this.#state.write(changes));
      await setTimeout(1);
    }
  }

  async #seal(): Promise<void> {
    while (!this.#isOver) {
      await this.#store.seal();
      await setTimeout(150);
    }
  }
}

/** The numbers of what a store holds of each kind; what must never be is a problem. */
async function heldIn(dir: string) {
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
  if (JSON.stringify(state.list("left")) !== JSON.stringify(state.list("right")))
    problems.push("a write to the state is half there");
  const keyed = contents.batches.find(({ batch }) => keyOf(seed, batch) !== undefined)!.batch;
  const again = await store.append(signalOf(keyed), rowsOf(seed, keyed), { key: keyOf(seed, keyed)! });
  if (!again.duplicate) problems.push(`batch ${keyed} was taken a second time`);
  await state.close();
  await store.close();
  return {
    problems,
    batches: new Set(contents.batches.map(({ batch }) => batch)),
    samples: new Set(samples.keys()),
    setting: Math.max(0, ...state.list("left").map(([, value]) => value as number)),
  };
}

/** Moments at which those writes of a kind that are held were sent, and those that are not held were acknowledged. */
function bounds(all: ReadonlyMap<number, Write>, isHeld: (number: number) => boolean): [number, number] {
  let [sentMost, ackLeast] = [0, Number.POSITIVE_INFINITY];
  for (const [number, { sentAt, ackAt }] of all) {
    if (isHeld(number)) sentMost = Math.max(sentMost, sentAt);
    else ackLeast = Math.min(ackLeast, ackAt);
  }
  return [sentMost, ackLeast];
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
  // Each store grows with every round, and is read whole at the end of each.
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
    const begunAt = load.moment;
    const opened = await store.openBackup(state);
    const openAt = load.moment;
    const backup = join(folder, `backup-${round}`);
    await writeBackup(await slowly(opened.pieces([])), backup, () => undefined);
    await opened.close();
    load.end();
    await running;
    const restored = join(folder, `restored-${round}`);
    await restoreBackup(backup, restored, quiet);
    expect((await verifyStore(restored)).damage).toEqual([]);
    const held = await heldIn(restored);
    expect(held.problems).toEqual([]);
    const kinds = [
      bounds(load.batches, (batch) => held.batches.has(batch)),
      bounds(load.samples, (batch) => held.samples.has(batch)),
      bounds(load.settings, (number) => number <= held.setting),
    ];
    const sentMost = Math.max(...kinds.map(([sent]) => sent));
    const ackLeast = Math.min(...kinds.map(([, ack]) => ack));
    // All that was acknowledged before it began is there, nothing that was sent after it was open, and of no two
    // writes that followed each other the second alone.
    expect(ackLeast).toBeGreaterThan(begunAt);
    expect(sentMost).toBeLessThan(openAt);
    expect(sentMost).toBeLessThan(ackLeast);
    expect(held.batches.size).toBeGreaterThan(0);
    expect(held.samples.size).toBeGreaterThan(0);
  }
  await state.close();
  await store.close();
}

/** A store with rows of three signals, sealed and not, and the backup of it. */
async function backedUp(folder: string): Promise<string> {
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

test("files of a backup are their owner's alone, and verify takes it for the data folder that it is", async () => {
  const backup = await backedUp(temporaryFolder());
  for (const entry of readdirSync(backup, { recursive: true, withFileTypes: true })) {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
  expect(readFileSync(join(backup, "admin-token"), "utf8")).toBe("secret\n");
  expect((await verifyStore(backup)).damage).toEqual([]);
  await expect(openStore({ dir: backup })).rejects.toThrow(/is a backup: `svc restore`/);
});

test("a flipped bit, a cut or a missing file anywhere is told, and nothing is restored", async () => {
  const random = seededRandom("damaged backups");
  const folder = temporaryFolder();
  const backup = await backedUp(folder);
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
    await expect(restoreBackup(backup, target, quiet), `${file} at ${at}`).rejects.toThrow(
      /damaged|checksum|no backup/,
    );
    expect([existsSync(target), existsSync(`${target}.partial`)]).toEqual([false, false]);
    writeFileSync(file, whole);
  }
  await restoreBackup(backup, target, quiet);
  await expect(restoreBackup(backup, target, quiet)).rejects.toThrow(/is not empty/);
});

test("retention and merging wait for a backup, sealing does not", async () => {
  const folder = temporaryFolder();
  const dir = join(folder, "data");
  let clockMs = nowMs;
  const store = await openStore({ dir, threads: 1, now: () => clockMs, retentionAgeMs: 365 * dayMs });
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
  await restoreBackup(join(folder, "backup"), join(folder, "restored"), quiet);
  const restored = await openStore({ dir: join(folder, "restored"), threads: 1, now: () => nowMs });
  expect(restored.stats().rows).toBe(rows);
  await restored.close();
});
