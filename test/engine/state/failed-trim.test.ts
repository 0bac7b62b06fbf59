/** The state where the disk fails after a commit, when the file gives back what it did not need. */
import fs, { mkdtempSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openState, type State } from "../../../engine/index.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-failed-trim-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Makes files keep their length until the returned function is called. */
function failTruncation(): { restore: () => void; calls: () => number } {
  const { ftruncateSync } = fs;
  let calls = 0;
  fs.ftruncateSync = () => {
    calls++;
    throw Object.assign(new Error("EIO: i/o error, ftruncate"), { code: "EIO" });
  };
  syncBuiltinESMExports();
  return {
    calls: () => calls,
    restore: () => {
      fs.ftruncateSync = ftruncateSync;
      syncBuiltinESMExports();
    },
  };
}

/** A text of some megabytes that does not compress away. */
const longText = (number: number) => Array.from({ length: 200_000 }, (_, i) => Math.sin(i + number)).join();

test("a change that is on disk is acknowledged, and the next ones do not contradict it", async () => {
  let state: State = await openState(dir);
  const write = (id: string, value: string) => state.write([{ table: "t", id, value }]);
  await write("a", "first");
  // Each replaces the one before, so that the file has more pages than a commit needs.
  for (let i = 0; i < 6; i++) await write("b", longText(i));
  const failing = failTruncation();
  const replaced = longText(6);
  await write("b", replaced);
  failing.restore();
  expect(failing.calls()).toBeGreaterThan(0);
  await write("c", "last");
  expect(state.get("t", "b")).toBe(replaced);
  await state.close();
  state = await openState(dir);
  expect(state.damage).toEqual([]);
  expect(["a", "b", "c"].map((id) => state.get("t", id))).toEqual(["first", replaced, "last"]);
  await state.close();
});
