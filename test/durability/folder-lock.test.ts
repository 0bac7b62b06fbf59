/**
 * One process at a time has a data folder open: across namespaces of one machine, after kill -9, and where the kernel's
 * lock does not reach. A folder that is removed or replaced under a running store acknowledges nothing more.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openState, openStore, type Store, verifyStore } from "../../engine/index.ts";
import { seed, temporaryFolder } from "./campaign.ts";
import { Driver } from "./driver.ts";
import { nowMs, rowsOf, signalOf } from "./rows/batches.ts";

/** Namespaces that a second opener runs in, as options of unshare; those of a container are all of them. */
const namespaces: Readonly<Record<string, string[]>> = {
  "the same ones": [],
  "another host name": ["--uts"],
  "another network": ["--net"],
  "another process table": ["--pid", "--fork", "--kill-child", "--mount-proc"],
  "another mount table": ["--mount"],
  "those of another container": [
    ...["--uts", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"],
  ],
};

const unshare = ["unshare", "--user", "--map-root-user"];
const canUnshare =
  spawnSync(unshare[0]!, [...unshare.slice(1), "--pid", "--fork", "--mount-proc", "true"]).status === 0;

function wrapperOf(options: readonly string[]): string[] {
  return options.length === 0 ? [] : [...unshare, ...options];
}

async function holdFolder(dir: string): Promise<Driver> {
  const holder = new Driver(seed);
  await holder.run({ do: "open", dir });
  await holder.run({ do: "append", batches: [1] });
  return holder;
}

describe.each(Object.entries(namespaces))("an opener in %s", (name, options) => {
  test.skipIf(options.length > 0 && !canUnshare)(
    "is refused while the folder is open, and accepted once the holder was killed",
    async () => {
      const dir = join(temporaryFolder(), "data");
      const holder = await holdFolder(dir);
      const other = new Driver(seed, { wrapper: wrapperOf(options) });
      await expect(other.run({ do: "open", dir }), name).rejects.toThrow(/is in use by process \d+ on /);
      await holder.run({ do: "append", batches: [2] });
      await holder.kill();
      await other.run({ do: "open", dir });
      const { contents } = await other.run({ do: "read" });
      expect(contents).toMatchObject({
        rows: rowsOf(seed, 1).length + rowsOf(seed, 2).length,
        problems: [],
      });
      await other.kill();
      expect((await verifyStore(dir)).damage).toEqual([]);
    },
  );
});

test.skipIf(!canUnshare)("a bind mount and a symbolic link lead to the same lock", async () => {
  const base = temporaryFolder();
  const [dir, mounted, link] = ["data", "mounted", "link"].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(mounted);
  symlinkSync(dir, link);
  const holder = await holdFolder(dir);
  const bind = `mount --bind '${dir}' '${mounted}' && exec "$@"`;
  const other = new Driver(seed, { wrapper: [...unshare, "--mount", "sh", "-c", bind, "sh"] });
  for (const path of [mounted, link]) {
    await expect(other.run({ do: "open", dir: path })).rejects.toThrow(/is in use by process/);
  }
  await other.kill();
  await holder.kill();
});

const stores: Store[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const store of stores.splice(0)) await store.close().catch(() => undefined);
});

async function openAt(dir: string): Promise<Store> {
  const store = await openStore({ dir, threads: 1, now: () => nowMs });
  stores.push(store);
  return store;
}

function append(store: Store, batch: number) {
  return store.append(signalOf(batch), rowsOf(seed, batch));
}

test("a second opener in the same process is refused, and the first keeps its lock", async () => {
  const dir = join(temporaryFolder(), "data");
  const store = await openAt(dir);
  await expect(openAt(dir)).rejects.toThrow(/is in use by process/);
  const other = new Driver(seed);
  await expect(other.run({ do: "open", dir })).rejects.toThrow(/is in use by process/);
  await append(store, 1);
  await store.close();
  await other.run({ do: "open", dir });
  await other.kill();
});

test("a file system without file locks is refused with a sentence", async () => {
  const sqlite = process.getBuiltinModule("node:sqlite");
  const busy = Object.assign(new Error("database is locked"), { errcode: 5 });
  class WithoutLocks {
    exec(): never {
      throw busy;
    }
    close(): void {
      // Nothing is open.
    }
  }
  vi.spyOn(process, "getBuiltinModule").mockReturnValue({ ...sqlite, DatabaseSync: WithoutLocks } as never);
  await expect(openAt(join(temporaryFolder(), "data"))).rejects.toThrow(/has no file locks/);
});

test("where the kernel's lock does not reach, the earlier opener acknowledges nothing after the later one opened", async () => {
  const dir = join(temporaryFolder(), "data");
  const first = await openAt(dir);
  await append(first, 1);
  // Another host's kernel does not know this lock; neither does this kernel once the locked file has no name.
  rmSync(join(dir, "lock"));
  const second = await openAt(dir);
  await expect(append(first, 2)).rejects.toMatchObject({ kind: "folder" });
  await expect(first.seal()).rejects.toMatchObject({ kind: "folder" });
  expect(first.stats().refusing).toMatch(/removed or replaced/);
  await append(second, 3);
  await first.close().catch(() => undefined);
  await append(second, 4);
  await second.seal();
  await second.close();
  expect((await verifyStore(dir)).damage).toEqual([]);
  const rows = [1, 3, 4].reduce((sum, batch) => sum + rowsOf(seed, batch).length, 0);
  expect((await openAt(dir)).stats()).toMatchObject({ rows, damage: [] });
});

describe("a running store whose folder is", () => {
  const changes: Readonly<Record<string, (dir: string) => void>> = {
    removed: (dir) => rmSync(dir, { recursive: true }),
    "moved away": (dir) => renameSync(dir, `${dir}.moved`),
    "replaced by an empty one": (dir) => {
      renameSync(dir, `${dir}.moved`);
      mkdirSync(dir);
    },
    emptied: (dir) => {
      for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true });
    },
  };
  test.each(Object.entries(changes))(
    "%s refuses batches and state, and creates nothing there",
    async (_, change) => {
      const dir = join(temporaryFolder(), "data");
      const store = await openAt(dir);
      const state = await openState(join(dir, "control"), { checkFolder: () => store.checkFolder() });
      await append(store, 1);
      await state.write([{ table: "t", id: "a", value: 1 }]);
      expect(store.stats().refusing).toBeUndefined();
      change(dir);
      expect(store.stats().refusing).toMatch(/was removed or replaced/);
      await expect(append(store, 2)).rejects.toThrow(/was removed or replaced/);
      await expect(state.write([{ table: "t", id: "a", value: 2 }])).rejects.toThrow(
        /was removed or replaced/,
      );
      expect(state.get("t", "a")).toBe(1);
      await expect(store.seal()).rejects.toMatchObject({ kind: "folder" });
      await state.close();
      await expect(store.close()).rejects.toThrow(/was removed or replaced/);
    },
  );

  test("moved away and back takes batches again, and has lost nothing", async () => {
    const dir = join(temporaryFolder(), "data");
    const store = await openAt(dir);
    await append(store, 1);
    renameSync(dir, `${dir}.moved`);
    await expect(append(store, 2)).rejects.toThrow(/was removed or replaced/);
    renameSync(`${dir}.moved`, dir);
    await append(store, 3);
    await store.close();
    expect((await verifyStore(dir)).damage).toEqual([]);
    const rows = rowsOf(seed, 1).length + rowsOf(seed, 3).length;
    expect((await openAt(dir)).stats()).toMatchObject({ rows, damage: [] });
  });
});

test("a removed journal segment refuses its batch, and the next batch gets a segment of its own", async () => {
  const dir = join(temporaryFolder(), "data");
  const store = await openAt(dir);
  await append(store, 1);
  rmSync(join(dir, "journal", "000000000001.log"));
  await expect(append(store, 2)).rejects.toThrow(/000000000001.log was removed while it was open/);
  await append(store, 3);
  await store.seal();
  await store.close();
  const rows = rowsOf(seed, 1).length + rowsOf(seed, 3).length;
  expect((await openAt(dir)).stats().rows).toBe(rows);
});

test("a removed copy of the state is reported, and without both copies a write is refused", async () => {
  const dir = join(temporaryFolder(), "control");
  const state = await openState(dir);
  await state.write([{ table: "t", id: "a", value: 1 }]);
  rmSync(join(dir, "a"), { recursive: true });
  await state.write([{ table: "t", id: "a", value: 2 }]);
  expect(state.damage.map(({ problem }) => problem).join()).toMatch(
    /a\/data.mdb was removed while it was open/,
  );
  rmSync(join(dir, "b"), { recursive: true });
  await expect(state.write([{ table: "t", id: "a", value: 3 }])).rejects.toMatchObject({ kind: "damage" });
  await state.close();
});
