import { execFileSync, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../../engine/failure.ts";
import { openEnvironment } from "../../../engine/lmdb/environment.ts";
import { auditPageTree } from "../../../engine/lmdb/page-audit.ts";
import { type EnvironmentTask, generationsKept, writeGeneration } from "./environment-user.ts";
import { anyShape, buildEnvironment } from "./random-environment.ts";

const engine = join(import.meta.dirname, "../../../engine");
const prelude = `import { openEnvironment } from ${JSON.stringify(join(engine, "lmdb/environment.ts"))};`;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-lmdb-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function emptyPath(name: string): string {
  const path = join(dir, name);
  rmSync(path, { recursive: true, force: true });
  return path;
}

function k(text: string): Buffer {
  return Buffer.from(text);
}

function failureOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return kindOf(error);
  }
  return "none";
}

async function failureOfAsync(act: () => Promise<unknown>): Promise<string> {
  return await act().then(() => "none", kindOf);
}

function kindOf(error: unknown): string {
  if (error instanceof Failure) return error.kind;
  throw error;
}

describe("an environment", () => {
  test("holds what was written last, across opening again", async () => {
    await fc.assert(
      fc.asyncProperty(anyShape, async (shape) => {
        const path = emptyPath("model");
        const stored = await buildEnvironment(path, shape);
        for (const readOnly of [true, false]) {
          const environment = openEnvironment(path, { readOnly });
          const keys = environment.keys().map((key) => Buffer.from(key).toString("hex"));
          expect(keys).toEqual([...stored.keys()].sort());
          for (const [key, frame] of stored)
            expect(frame.equals(environment.get(Buffer.from(key, "hex"))!)).toBe(true);
          expect(environment.get(k("no such key"))).toBeUndefined();
          await environment.close();
        }
      }),
      { numRuns: 15 },
    );
  });

  test("shows a reader what the writer last wrote, though it first looks into the commit that it read last", async () => {
    const path = emptyPath("views");
    const writer = openEnvironment(path, { readOnly: false });
    const makeValue = (key: number, commit: number) => Buffer.alloc(3_000 + 500 * key, commit * 16 + key);
    const isValue = (key: number, commit: number) => (read: Uint8Array) =>
      makeValue(key, commit).equals(read);
    const parts = [
      { offset: 7, length: 90 },
      { offset: 2_500, length: 500 },
    ];
    await writer.write((to) => to.put(k("0"), makeValue(0, 0)));
    const reader = openEnvironment(path, { readOnly: true });
    for (let commit = 1; commit < 9; commit++) {
      const keys = Array.from({ length: commit + 1 }, (_, key) => key);
      await writer.write((to) => {
        for (const key of keys) to.put(k(String(key)), makeValue(key, commit));
      });
      for (const key of keys) {
        const wanted = makeValue(key, commit);
        const [first, second] = parts.map(({ offset, length }) => wanted.subarray(offset, offset + length));
        expect(wanted.equals(reader.view(k(String(key)), isValue(key, commit))!)).toBe(true);
        const read = reader.viewParts(k(String(key)), parts, ([a]) => first!.equals(a!));
        expect(read!.map((part, i) => [first, second][i]!.equals(part))).toEqual([true, true]);
        // Whoever knows no value as its own gets the newest one.
        expect(wanted.equals(reader.view(k(String(key)), () => false)!)).toBe(true);
      }
      expect(reader.view(k("none"), () => true)).toBeUndefined();
    }
    await writer.write((to) => to.remove(k("3")));
    expect(reader.view(k("3"), () => false)).toBeUndefined();
    await reader.close();
    await writer.close();
  });

  test("is smaller after compaction and holds the same values", async () => {
    const path = emptyPath("wide");
    const environment = openEnvironment(path, { readOnly: false });
    for (let i = 0; i < 40; i++)
      await environment.write((to) => to.put(k(`key ${i % 8}`), Buffer.alloc(30_000, i)));
    await environment.compactInto(emptyPath("tight"));
    const compacted = openEnvironment(join(dir, "tight"), { readOnly: true });
    expect(compacted.keys()).toEqual(environment.keys());
    for (const key of compacted.keys()) expect(compacted.get(key)).toEqual(environment.get(key));
    expect(statSync(join(dir, "tight/data.mdb")).size).toBeLessThan(statSync(join(path, "data.mdb")).size);
    await compacted.close();
    await environment.close();
  });

  test("applies a transaction as a whole or not at all", async () => {
    const path = emptyPath("atomic");
    const environment = openEnvironment(path, { readOnly: false });
    await environment.write((to) => to.put(k("a"), k("1")));
    const throwing = environment.write((to) => {
      to.put(k("a"), k("2"));
      throw new Error("no");
    });
    await expect(throwing).rejects.toThrow("no");
    await expect(environment.write((to) => to.put(k(""), k("2")))).rejects.toThrow(RangeError);
    await expect(environment.write((to) => to.put(Buffer.alloc(2_000), k("2")))).rejects.toThrow(RangeError);
    expect(environment.get(k("a"))).toEqual(k("1"));
    await environment.write((to) => {
      to.put(k("a"), k("3"));
      to.remove(k("a"));
      to.put(k("b"), new Uint8Array(new SharedArrayBuffer(5)).fill(9));
      to.put(k("empty"), Buffer.alloc(0));
      to.remove(k("never there"));
    });
    expect(environment.keys()).toEqual([k("b"), k("empty")]);
    expect(environment.get(k("b"))).toEqual(Buffer.alloc(5, 9));
    expect(environment.get(k("empty"))).toEqual(Buffer.alloc(0));
    await environment.close();
    const reader = openEnvironment(path, { readOnly: true });
    await expect(reader.write(() => undefined)).rejects.toThrow("reading");
    await reader.close();
  });

  test("commits in the order of the calls, without waiting for each", async () => {
    const path = emptyPath("ordered");
    const environment = openEnvironment(path, { readOnly: false });
    const writes = Array.from({ length: 50 }, (_, i) => {
      return environment.write((to) => {
        to.put(k("last"), k(String(i)));
        if (i % 10 === 3) throw new Error("no");
        to.put(k(`key ${i}`), Buffer.alloc(i * 100));
      });
    });
    const ends = await Promise.allSettled(writes);
    expect(ends.map(({ status }) => status === "fulfilled")).toEqual(writes.map((_, i) => i % 10 !== 3));
    expect(environment.get(k("last"))).toEqual(k("49"));
    expect(environment.keys().length).toBe(46);
    await environment.close();
  });

  test("opens whatever its lock file holds", async () => {
    const path = emptyPath("lock");
    await openEnvironment(path, { readOnly: false }).close();
    for (const content of [Buffer.alloc(0), Buffer.alloc(10, 255), Buffer.alloc(50_000, 0xa5)]) {
      writeFileSync(join(path, "lock.mdb"), content);
      const environment = openEnvironment(path, { readOnly: false });
      await environment.write((to) => to.put(k("key"), content));
      expect(environment.get(k("key"))).toEqual(content);
      await environment.close();
    }
  });

  test("has a commit on disk before write returns", async (context) => {
    if (spawnSync("strace", ["-V"]).status !== 0) return context.skip("strace is not installed");
    const script = `${prelude} import { writeSync } from "node:fs";
      const environment = openEnvironment(process.argv[1], { readOnly: false });
      for (let i = 0; i < 5; i++) {
        await environment.write((to) => to.put(Buffer.from("key" + i), Buffer.alloc(9000, i)));
        writeSync(1, "acknowledged\\n");
      }`;
    const log = join(dir, "strace");
    const calls = "trace=openat,pwrite64,writev,pwritev,write,fdatasync";
    execFileSync("strace", [
      "-f",
      "-y",
      "-e",
      calls,
      "-o",
      log,
      process.execPath,
      "--input-type=module",
      "-e",
      script,
      emptyPath("synced"),
    ]);
    expect(syncsBeforeAcknowledgements(readFileSync(log, "utf8"))).toEqual([true, true, true, true, true]);
  });
});

/**
 * For each acknowledgement: true where the data was written, then synced with fdatasync, then the meta page written
 * with O_DSYNC.
 */
function syncsBeforeAcknowledgements(trace: string): boolean[] {
  const synced: boolean[] = [];
  let steps = "";
  let syncFd = "";
  for (const line of trace.split("\n")) {
    if (/O_DSYNC/.test(line)) syncFd = / = (\d+)</.exec(line)![1]!;
    if (/acknowledged/.test(line)) {
      synced.push(/wfm$/.test(steps));
      steps = "";
    } else if (/data\.mdb/.test(line)) {
      if (/fdatasync\(/.test(line)) steps += "f";
      else if (syncFd !== "" && line.includes(`pwrite64(${syncFd}<`)) steps += "m";
      else if (/write(v|64)?\(/.test(line)) steps += "w";
    }
  }
  return synced;
}

const userFile = join(import.meta.dirname, "environment-user.ts");

function startThread(task: EnvironmentTask): {
  message: Promise<unknown>;
  ended: Promise<number>;
  worker: Worker;
} {
  const worker = new Worker(userFile, { workerData: task });
  const message = new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  const ended = new Promise<number>((resolve) => worker.once("exit", resolve));
  return { message, ended, worker };
}

describe("several threads and processes", () => {
  test("read while one writes, and see whole commits", async () => {
    const path = emptyPath("shared");
    const environment = openEnvironment(path, { readOnly: false });
    await writeGeneration(environment, 1);
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const task = { path, role: "read", shared, rounds: 1e9 } as const;
    const readers = [1, 2, 3].map(() => startThread(task));
    const child = spawn(process.execPath, [userFile, JSON.stringify({ path, role: "read", rounds: 5 })], {
      stdio: "inherit",
    });
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
    for (let generation = 2; child.exitCode === null && child.signalCode === null; generation++) {
      await writeGeneration(environment, generation);
      await new Promise((resolve) => setTimeout(resolve, generation % 4 === 0 ? 20 : 0));
    }
    expect(await ended).toBe(0);
    Atomics.store(shared, 0, 1);
    for (const { message } of readers) expect(await message).toBeGreaterThan(0);
    await environment.close();
    expect(auditPageTree(join(path, "data.mdb")).problems).toEqual([]);
  });

  test("keep reading while the folder is removed and created again", async () => {
    const path = emptyPath("removed");
    const write = async (text: string) => {
      const environment = openEnvironment(path, { readOnly: false });
      await environment.write((to) => to.put(k("key"), k(text)));
      await environment.close();
    };
    await write("before");
    const reader = openEnvironment(path, { readOnly: true });
    rmSync(path, { recursive: true });
    expect(reader.get(k("key"))).toEqual(k("before"));
    await write("after");
    expect(reader.get(k("key"))).toEqual(k("before"));
    await reader.close();
    const again = openEnvironment(path, { readOnly: true });
    expect(again.get(k("key"))).toEqual(k("after"));
    await again.close();
  });

  test("may be terminated while it commits: acknowledged commits stay, and the next thread can write", async () => {
    const path = emptyPath("terminated");
    await openEnvironment(path, { readOnly: false }).close();
    const acknowledged = new Int32Array(new SharedArrayBuffer(8));
    for (let round = 0; round < 12; round++) {
      acknowledged[1] = 0;
      const task: EnvironmentTask = { path, role: "write", shared: acknowledged, rounds: 0 };
      const { worker, message, ended } = startThread(task);
      await message;
      // However slow the disk is, each round terminates a thread that has written.
      const before = acknowledged[0]!;
      while (acknowledged[0]! < before + 2) await sleep(1);
      await sleep((round * 7) % 31);
      Atomics.store(acknowledged, 1, 1);
      while (Atomics.load(acknowledged, 1) !== 2) await sleep(1);
      await worker.terminate();
      await ended;
      expect(auditPageTree(join(path, "data.mdb")).problems).toEqual([]);
      const environment = openEnvironment(path, { readOnly: true });
      const last = acknowledged[0]!;
      for (let number = Math.max(last - generationsKept + 2, 1); number <= last; number++) {
        expect(environment.get(k(`key ${number} 29`))).toEqual(Buffer.alloc(29 * 200, number));
      }
      await environment.close();
    }
    expect(acknowledged[0]).toBeGreaterThanOrEqual(24);
  });
});

describe("damage to an open environment", () => {
  test("is an error for readers, not the end of the process", async () => {
    const path = emptyPath("live");
    const file = join(path, "data.mdb");
    const stored = await buildEnvironment(path, {
      keyBytes: 20,
      transactions: [Array.from({ length: 300 }, (_, key) => ({ key, bytes: (key * 97) % 9_000 }))],
    });
    const reader = openEnvironment(path, { readOnly: true });
    const fd = openSync(file, "r+");
    const bytes = statSync(file).size;
    const whole = readFileSync(file);
    for (let at = 0; at < bytes; at += 4_096) {
      writeSync(fd, Buffer.alloc(64, at), 0, 64, at);
      for (const key of stored.keys()) failureOf(() => reader.get(Buffer.from(key, "hex")));
      writeSync(fd, whole, at, 64, at);
    }
    for (let end = bytes; end > 0; end = Math.floor(end * 0.9) - 1) {
      ftruncateSync(fd, end);
      const kinds = new Set(
        [...stored.keys()].map((key) => failureOf(() => reader.get(Buffer.from(key, "hex")))),
      );
      expect([...kinds].every((kind) => kind === "damage" || kind === "none")).toBe(true);
    }
    expect(failureOf(() => reader.keys())).toBe("damage");
    closeSync(fd);
    await reader.close();
  });

  test("that truncates the file is an error for the writer", async () => {
    const path = emptyPath("cut");
    const environment = openEnvironment(path, { readOnly: false });
    await environment.write((to) => to.put(k("key"), Buffer.alloc(50_000)));
    truncateSync(join(path, "data.mdb"), 9_000);
    expect(await failureOfAsync(() => environment.write((to) => to.put(k("key"), k("new"))))).toBe("damage");
    await environment.close();
    expect(failureOf(() => openEnvironment(path, { readOnly: false }))).toBe("damage");
  });
});

describe("a full disk", () => {
  test("refuses the write, keeps what is stored, and takes writes again once there is space", async (context) => {
    const disk = emptyPath("disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "none", disk]).status !== 0) {
      return context.skip("only root may mount a small disk");
    }
    try {
      const filler = join(disk, "ballast");
      const environment = openEnvironment(join(disk, "env"), { readOnly: false });
      await environment.write((to) => to.put(k("kept"), Buffer.alloc(100_000, 1)));
      writeFileSync(filler, Buffer.alloc(600_000));
      for (let i = 0; i < 5; i++) {
        const fill = () => environment.write((to) => to.put(k("big"), Buffer.alloc(3_000_000)));
        expect(await failureOfAsync(fill)).toBe("disk-full");
        expect(environment.get(k("kept"))).toEqual(Buffer.alloc(100_000, 1));
        expect(environment.get(k("big"))).toBeUndefined();
      }
      let small = 0;
      const addSmall = () => environment.write((to) => to.put(k(`small ${small}`), Buffer.alloc(20_000)));
      while ((await failureOfAsync(addSmall)) === "none") small++;
      expect(small).toBeGreaterThan(5);
      expect(failureOf(() => openEnvironment(join(disk, "new"), { readOnly: false }))).toBe("disk-full");
      expect(auditPageTree(join(disk, "env/data.mdb")).problems).toEqual([]);
      expect(environment.keys().length).toBe(small + 1);
      rmSync(filler);
      await environment.write((to) => to.put(k("room"), Buffer.alloc(200_000, 2)));
      expect(environment.get(k("room"))).toEqual(Buffer.alloc(200_000, 2));
      await environment.close();
    } finally {
      execFileSync("umount", [disk]);
    }
  });
});
