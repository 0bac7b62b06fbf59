/** A backup's folder is not trusted: restoring it follows no links, waits for no device, and believes no odd list. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openState, openStore, restoreBackup, verifyStore, writeBackup } from "../../../engine/index.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-untrusted-"));
afterAll(() => rmSync(folder, { recursive: true }));

const options = { nowMs: 0, onProgress: () => undefined };
const row = { timeNs: 1_700_000_000_000_000_000n, level: "info", message: "order 1 paid", attributes: {} };
const original = join(folder, "original");
const secret = join(folder, "secret");

beforeAll(async () => {
  writeFileSync(secret, "of somebody else\n");
  const dir = join(folder, "data");
  const store = await openStore({ dir, threads: 1 });
  const state = await openState(join(dir, "control"));
  await store.append("logs", [row]);
  await store.seal();
  await store.append("logs", [row]);
  const opened = await store.openBackup(state);
  await writeBackup(
    opened.pieces([{ name: "admin-token", bytes: Buffer.from("secret\n") }]),
    original,
    () => undefined,
  );
  await opened.close();
  await state.close();
  await store.close();
});

type List = Record<string, unknown> & { files: Record<string, unknown>[] };

function readChecked<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8").split("\n", 1)[0]!) as T;
}

/** Copies a folder with hard links: a test removes a file before it writes another in its place. */
function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else linkSync(source, target);
  }
}

/** Replaces a file by one whose checksum is right, whatever it says. */
function writeChecked(path: string, value: unknown): void {
  const json = JSON.stringify(value);
  rmSync(path);
  writeFileSync(path, `${json}\n${crc32(json).toString(16).padStart(8, "0")}\n`);
}

/** Restores a copy of the backup after `change`, and expects that nothing is left of the attempt. */
async function refuse(name: string, change: (dir: string) => void, problem: RegExp): Promise<void> {
  const [dir, target] = [join(folder, `${name}-backup`), join(folder, `${name}-target`)];
  copyFolder(original, dir);
  change(dir);
  await expect(restoreBackup(dir, target, options), name).rejects.toThrow(problem);
  expect([existsSync(target), existsSync(`${target}.partial`)]).toEqual([false, false]);
}

function replaceByLink(path: string, to: string): void {
  rmSync(path, { recursive: true });
  symlinkSync(to, path);
}

function replaceByFifo(path: string): void {
  rmSync(path);
  execFileSync("mkfifo", [path]);
}

function replaceByHole(path: string, bytes: number): void {
  rmSync(path);
  writeFileSync(path, "");
  truncateSync(path, bytes);
}

const listedFiles = ["format", "admin-token", "journal/segments", "control/a/data.mdb", "backup"];

describe("links and devices", () => {
  test.each(listedFiles)("%s as a link is refused", async (path) => {
    const name = path.replaceAll("/", "-");
    await refuse(
      `link-${name}`,
      (dir) => {
        renameSync(join(dir, path), join(dir, "moved"));
        symlinkSync(join(dir, "moved"), join(dir, path));
      },
      /link/,
    );
    await refuse(`other-${name}`, (dir) => replaceByLink(join(dir, path), secret), /link/);
  });

  test.each(listedFiles)("%s as a pipe, a device or a folder is refused at once", async (path) => {
    const name = path.replaceAll("/", "-");
    await refuse(`pipe-${name}`, (dir) => replaceByFifo(join(dir, path)), /no regular file/);
    await refuse(`device-${name}`, (dir) => replaceByLink(join(dir, path), "/dev/zero"), /link/);
    const makeFolder = (dir: string) => {
      rmSync(join(dir, path));
      mkdirSync(join(dir, path));
    };
    await refuse(`folder-${name}`, makeFolder, /no regular file/);
  });

  test.each(["journal", "control", "control/a", "logs"])(
    "the folder %s as a link is refused",
    async (path) => {
      await refuse(
        `folder-link-${path.replaceAll("/", "-")}`,
        (dir) => {
          renameSync(join(dir, path), join(dir, "elsewhere"));
          symlinkSync(join(dir, "elsewhere"), join(dir, path));
        },
        /link/,
      );
    },
  );

  test("the backup itself may be named by a link", async () => {
    symlinkSync(original, join(folder, "latest"));
    await restoreBackup(join(folder, "latest"), join(folder, "restored"), options);
    expect((await verifyStore(join(folder, "restored"))).damage).toEqual([]);
  });

  test("a file of a size other than the listed one is not read", async () => {
    const copied: number[] = [];
    const dir = join(folder, "sparse");
    copyFolder(original, dir);
    replaceByHole(join(dir, "admin-token"), 2 ** 40);
    const onProgress = ({ bytes }: { bytes: number }) => copied.push(bytes);
    await expect(restoreBackup(dir, join(folder, "never"), { nowMs: 0, onProgress })).rejects.toThrow(
      /admin-token: it has 1099511627776 bytes, it was written with 7/,
    );
    expect(Math.max(...copied)).toBeLessThan(2 ** 30);
  });
});

describe("a list that is none", () => {
  const file = { path: "format", bytes: 1, sha256: "0".repeat(64) };
  const lists: [string, (list: List) => unknown, RegExp][] = [
    ["null", () => null, /no backup/],
    ["an array", () => [], /no backup/],
    ["of another program", (list) => ({ ...list, name: "tar" }), /no backup/],
    ["of a later version", (list) => ({ ...list, version: 2 }), /version 2; this build reads version 1/],
    ["without files", ({ files: _, ...list }) => list, /files/],
    ["files as text", (list) => ({ ...list, files: "all" }), /files/],
    ["a file that is none", (list) => ({ ...list, files: [null] }), /files/],
    ["a path as a number", (list) => ({ ...list, files: [{ ...file, path: 1 }] }), /files/],
    ["bytes below 0", (list) => ({ ...list, files: [{ ...file, bytes: -1 }] }), /files/],
    ["a hash that is none", (list) => ({ ...list, files: [{ ...file, sha256: "0" }] }), /files/],
    ["a time as text", (list) => ({ ...list, takenAtMs: "now" }), /takenAtMs/],
    ["losses as text", (list) => ({ ...list, losses: "none" }), /losses/],
    ["a file twice", (list) => ({ ...list, files: [...list.files, list.files[0]] }), /twice/],
    ["nothing of a store", (list) => ({ ...list, files: [] }), /no data folder|format/],
    ...["../secret", "/etc/passwd", "a/../../secret", "journal/../../secret", "", ".", "a//b", "a\0b"].map(
      (path): [string, (list: List) => unknown, RegExp] => [
        `the path ${JSON.stringify(path)}`,
        (list) => ({ ...list, files: [...list.files, { ...file, path }] }),
        /names the file/,
      ],
    ),
  ];

  test.each(lists)("%s is refused", async (name, change, problem) => {
    const path = (dir: string) => join(dir, "backup");
    const rewrite = (dir: string) => writeChecked(path(dir), change(readChecked<List>(path(dir))));
    await refuse(`list-${lists.findIndex(([each]) => each === name)}`, rewrite, problem);
  });

  test("a list of more bytes than any has is not read", async () => {
    await refuse("long", (dir) => replaceByHole(join(dir, "backup"), 2 ** 40), /checksum/);
  });
});

describe("small files with a right checksum and another content", () => {
  const partition = () => join("logs", readdirSync(join(original, "logs"))[0]!);
  const names = ["format", "journal/segments", "journal/closed", "manifest"];
  const values = [null, [], { version: 9, chunks: [null], segments: [1] }];

  test.each(names)("%s is reported by verify as damage or as no data folder", async (name) => {
    for (const [i, value] of values.entries()) {
      const dir = join(folder, `content-${name.replaceAll("/", "-")}-${i}`);
      copyFolder(original, dir);
      writeChecked(join(dir, name === "manifest" ? join(partition(), name) : name), value);
      const found = await verifyStore(dir).then(
        ({ damage }) => damage.map(({ problem }) => problem).join(),
        (error: Error) => `${error.name}: ${error.message}`,
      );
      expect(found, `${name}: ${JSON.stringify(value)}`).toMatch(/is damaged|does not match|Failure:/);
    }
  });
});
