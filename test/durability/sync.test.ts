/**
 * The order in which bytes are made durable, by the system calls that the kernel saw. kill -9 cannot show it, because
 * the kernel still writes what a killed process has passed to it.
 */
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { report, scaled, seed, seededRandom, temporaryFolder } from "./campaign.ts";
import { Child } from "./child.ts";
import { Driver } from "./driver.ts";
import { keyOf } from "./rows/batches.ts";
import {
  descriptorOf,
  hasStrace,
  openedDescriptor,
  readTrace,
  type SystemCall,
  straceWrapper,
  targetOf,
} from "./trace.ts";
import type { WriterPlan } from "./writer.ts";

const isJournal = (path: string) => /\/journal\/\d+\.log$/.test(path);
const writes = new Set(["write", "writev", "pwrite64", "pwritev"]);
const syncs = new Set(["fdatasync", "fsync"]);

/** The descriptors whose writes return once their bytes are on disk. */
class SelfSyncingDescriptors {
  readonly #open = new Set<string>();

  /** Must see every call that opens a file, in order. */
  note(call: SystemCall): void {
    if (call.name !== "openat" || !call.succeeded) return;
    if (call.args.includes("O_DSYNC")) this.#open.add(openedDescriptor(call));
    else this.#open.delete(openedDescriptor(call));
  }

  has(call: SystemCall): boolean {
    return this.#open.has(descriptorOf(call));
  }
}

describe.skipIf(!hasStrace())("under strace (skipped where there is none)", () => {
  test("each acknowledgement comes after the sync of its record", async () => {
    seededRandom("sync before acknowledgement");
    const folder = temporaryFolder();
    const logFile = join(folder, "strace");
    const plan: WriterPlan = {
      dir: join(folder, "data"),
      seed,
      batchMin: 1,
      clients: 5,
      again: [],
      appendPauseMs: 5,
      sealPauseMs: 300,
      runMs: scaled(1_500, 20_000),
    };
    const writer = new Child("writer.ts", plan, { wrapper: straceWrapper(logFile) });
    expect(await writer.ended, writer.stderr).toEqual({ code: 0, signal: null });
    const calls = readTrace(logFile);
    const { acknowledgements, early } = findEarlyAcknowledgements(calls);
    expect(acknowledgements).toBe(writer.lines.filter((line) => /^ack \d+ \d+ false$/.test(line)).length);
    expect(acknowledgements).toBeGreaterThan(20);
    expect(early).toEqual([]);
    report(`${acknowledgements} acknowledgements, each after the sync of its record`);
  });

  test("one sync serves batches that arrive together", async () => {
    const folder = temporaryFolder();
    const logFile = join(folder, "strace");
    const batches = Array.from({ length: 400 }, (_, i) => i + 1).filter(
      (batch) => keyOf(seed, batch) === undefined,
    );
    await underStrace(logFile, async (driver) => {
      await driver.run({ do: "open", dir: join(folder, "data") });
      await driver.run({ do: "append", batches });
      await driver.run({ do: "close" });
    });
    const syncing = readTrace(logFile).filter(
      ({ name, path }) => (writes.has(name) || syncs.has(name)) && isJournal(path),
    );
    expect(syncing.length).toBeGreaterThan(0);
    expect(syncing.length).toBeLessThan(batches.length / 4);
  });

  test("names are durable before anything depends on them, contents before they are named or their segment is removed", async () => {
    const folder = temporaryFolder();
    const logFile = join(folder, "strace");
    await underStrace(logFile, async (driver) => {
      for (let round = 0; round < 2; round++) {
        await driver.run({ do: "open", dir: join(folder, "data") });
        for (let i = 0; i < (round === 0 ? 9 : 3); i++) {
          const batch = round * 100 + i * 3 + 1;
          await driver.run({ do: "append", batches: [batch, batch + 1, batch + 2] });
          await driver.run({ do: "seal" });
        }
        await driver.run({ do: "close" });
      }
    });
    const calls = readTrace(logFile).filter(({ path }) => path.startsWith(folder));
    expect(calls.filter(({ name, path }) => name === "unlink" && isJournal(path)).length).toBeGreaterThan(3);
    expect(findUnsafeSteps(calls)).toEqual([]);
  });
});

async function underStrace(logFile: string, work: (driver: Driver) => Promise<void>): Promise<void> {
  const driver = new Driver(seed, { wrapper: straceWrapper(logFile) });
  try {
    await work(driver);
  } finally {
    await driver.kill();
  }
}

/**
 * Records are in the journal in the order of their acknowledgements. So before the n-th acknowledgement n records must
 * have been written by calls that sync what they write, or an fdatasync must have ended that started after they were
 * written. Resent batches have no record and do not count.
 */
function findEarlyAcknowledgements(calls: readonly SystemCall[]): {
  acknowledgements: number;
  early: string[];
} {
  const written: { end: number; path: string; records: number }[] = [];
  const durable: { end: number; records: number }[] = [];
  const early: string[] = [];
  const selfSyncing = new SelfSyncingDescriptors();
  let acknowledgements = 0;
  for (const call of calls) {
    const { name, path, args, begin, end, succeeded } = call;
    selfSyncing.note(call);
    if (writes.has(name) && isJournal(path) && succeeded) {
      const records = args.split('iov_base="SVCJ').length - 1;
      if (selfSyncing.has(call)) durable.push({ end, records });
      else written.push({ end, path, records });
    } else if (name === "fdatasync" && isJournal(path) && succeeded) {
      const before = written.filter((write) => write.end < begin && write.path === path);
      for (const write of before) written.splice(written.indexOf(write), 1);
      durable.push({ end, records: before.reduce((sum, { records }) => sum + records, 0) });
    } else if (name === "write" && succeeded && /^1<.*"ack \d+ \d+ false\\n"/.test(args)) {
      acknowledgements++;
      const records = durable.reduce((sum, sync) => (sync.end < begin ? sum + sync.records : sum), 0);
      if (records < acknowledgements) early.push(`line ${begin + 1}: ${args}`);
    }
  }
  return { acknowledgements, early };
}

/** Finds calls after which a power failure would lose rows. */
function findUnsafeSteps(calls: readonly SystemCall[]): string[] {
  const state = { dirtyFiles: new Map<string, number>(), dirtyFolders: new Map<string, number>() };
  const selfSyncing = new SelfSyncingDescriptors();
  const named = new Set<string>();
  const unsafe: string[] = [];
  const addUnsafe = (call: SystemCall, what: string[]) => {
    if (what.length > 0)
      unsafe.push(`line ${call.begin + 1}: ${call.name} ${call.path} before the sync of ${what.join(", ")}`);
  };
  for (const call of calls.filter(({ succeeded }) => succeeded)) {
    const { name, path, args, begin } = call;
    selfSyncing.note(call);
    if (name === "openat") {
      const isNew = args.includes("O_CREAT") && !named.has(path);
      if (isNew && mustSurvive(path)) state.dirtyFolders.set(dirname(path), begin);
      named.add(path);
    } else if (name === "mkdir") {
      state.dirtyFolders.set(dirname(path), begin);
    } else if (writes.has(name) && mustSurvive(path)) {
      if (isJournal(path))
        addUnsafe(
          call,
          [...state.dirtyFolders.keys()].filter((folder) => path.startsWith(folder)),
        );
      if (!selfSyncing.has(call)) state.dirtyFiles.set(path, begin);
    } else if (syncs.has(name)) {
      removeSynced(state.dirtyFiles, call);
      removeSynced(state.dirtyFolders, call);
    } else if (name === "rename") {
      addUnsafe(
        call,
        [...state.dirtyFiles.keys()].filter((file) => file === path),
      );
      named.delete(path);
      named.add(targetOf(call));
      state.dirtyFolders.set(dirname(targetOf(call)), begin);
    } else if (name === "unlink" && isJournal(path)) {
      const isOutsideJournal = (other: string) => !other.includes("/journal");
      addUnsafe(call, [...state.dirtyFiles.keys(), ...state.dirtyFolders.keys()].filter(isOutsideJournal));
    }
  }
  return unsafe;
}

/** Returns whether a start after a power failure needs the file; lock files are created anew. */
function mustSurvive(path: string): boolean {
  return !path.endsWith("/lock.mdb") && !path.endsWith("/lock") && !path.endsWith("/strace");
}

function removeSynced(dirty: Map<string, number>, sync: SystemCall): void {
  if ((dirty.get(sync.path) ?? Number.POSITIVE_INFINITY) < sync.begin) dirty.delete(sync.path);
}

test("strace runs here, or the tests of the order of syncs are skipped", () => {
  if (!hasStrace())
    report(`skipped: strace is missing (${spawnSync("strace").error?.message ?? "not permitted"})`);
});
