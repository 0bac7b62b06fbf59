/** Whatever file of a data folder is removed, verify says so; with a copy left, a start says so and writes it again. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openState, openStore, verifyStore } from "../../../engine/index.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-missing-"));
afterAll(() => rmSync(folder, { recursive: true }));

const original = join(folder, "original");
const timeNs = 1_700_000_000_000_000_000n;
const rows = [{ timeNs, level: "info", message: "order 1 paid", attributes: {} }];

/** Files without which a store is whole: locks, and the record of a shutdown, which a killed process never writes. */
const dispensable = /(?:^|\/)(?:lock|lock\.mdb|holder|closed)$/;

async function makeStore(): Promise<string[]> {
  const store = await openStore({ dir: original, threads: 1, now: () => Number(timeNs / 1_000_000n) });
  const state = await openState(join(original, "control"));
  await state.write([{ table: "left", id: "1", value: 1 }]);
  await store.append("logs", rows, { key: "one" });
  await store.seal();
  await store.append("logs", rows, { key: "two" });
  await state.close();
  await store.close();
  expect(await verifyStore(original)).toMatchObject({ rows: 1, unsealedRows: 1, damage: [] });
  const entries = readdirSync(original, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(original.length + 1))
    .filter((path) => !dispensable.test(path));
}

test("a file that is missing is reported by verify; a start writes a missing copy again", async () => {
  const files = await makeStore();
  expect(files.filter((path) => /copy$|control\/b/.test(path)).length).toBe(3);
  for (const path of files) {
    const dir = join(folder, path.replaceAll("/", "-"));
    cpSync(original, dir, { recursive: true });
    rmSync(join(dir, path));
    if (path === "format") {
      await expect(verifyStore(dir)).rejects.toThrow(/no file "format"/);
      continue;
    }
    const { damage } = await verifyStore(dir);
    expect(damage.length, path).toBeGreaterThan(0);
    expect(damage.map(({ problem }) => problem).join(), path).toMatch(
      /missing|is gone|lost|unreadable|No such/,
    );
    const isCopied = /\/(?:segments|manifest|control\/[ab])/.test(`/${path}`);
    if (isCopied) {
      const store = await openStore({ dir, threads: 1, now: () => Number(timeNs / 1_000_000n) });
      const state = await openState(join(dir, "control"));
      const told = [...store.stats().damage, ...state.damage].map(({ problem }) => problem);
      await store.append("logs", rows);
      expect(told.join(), path).toMatch(/missing/);
      expect(store.stats().rows, path).toBe(3);
      await state.close();
      await store.close();
      expect(existsSync(join(dir, path)), path).toBe(true);
      expect((await verifyStore(dir)).damage, path).toEqual([]);
    }
    rmSync(dir, { recursive: true });
  }
});

test("a folder with files but no format file is no store, and nothing is written to it", async () => {
  for (const name of ["notes.txt", ".profile", "journal", "logs", "admin-token"]) {
    const dir = mkdtempSync(join(folder, "strange-"));
    if (name.includes("o")) mkdirSync(join(dir, name));
    else writeFileSync(join(dir, name), "");
    await expect(openStore({ dir, threads: 1 })).rejects.toThrow(
      `holds ${JSON.stringify(name)} but no file "format"`,
    );
    expect(readdirSync(dir)).toEqual([name]);
  }
});

test("a new volume, and the remains of a first start that was killed, become a store", async () => {
  const dir = mkdtempSync(join(folder, "volume-"));
  mkdirSync(join(dir, "lost+found"));
  for (const name of ["lock", "format.new"]) writeFileSync(join(dir, name), "");
  await (await openStore({ dir, threads: 1 })).close();
  expect((await verifyStore(dir)).damage).toEqual([]);
});
