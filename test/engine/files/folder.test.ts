import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { replaceFile } from "../../../engine/files/folder.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-replace-"));
});

afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("a replaced file has the new content, and nothing stands beside it", async () => {
  const path = join(dir, "manifest");
  writeFileSync(path, "a longer content than the new one");
  writeFileSync(`${path}.new`, "left by a process that was killed, and longer than both");

  await replaceFile(path, [Buffer.from("new "), Buffer.from("content")]);

  expect(readFileSync(path, "utf8")).toBe("new content");
  expect(readdirSync(dir)).toEqual(["manifest"]);
});

test("a file that cannot be replaced says why, and its unfinished copy is removed", async () => {
  const path = join(dir, "manifest");
  mkdirSync(path);
  writeFileSync(join(path, "file"), "");

  await expect(replaceFile(path, "content")).rejects.toMatchObject({ syscall: "rename" });

  expect(readdirSync(dir)).toEqual(["manifest"]);
});

test("a failure is told as it was where the unfinished copy cannot be removed", async () => {
  const path = join(dir, "manifest");
  mkdirSync(`${path}.new`);

  await expect(replaceFile(path, "content")).rejects.toMatchObject({ code: "EISDIR", syscall: "open" });

  expect(existsSync(path)).toBe(false);
});
