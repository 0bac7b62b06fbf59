/** A log file that fails while it is open holds up no other one, and goes on where it was when it can be read again. */

import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { logOnce } from "../../../server/kubernetes/exporter/sparse-log.ts";
import { OpenFile } from "../../../server/kubernetes/node/log-source.ts";
import { LogTail } from "../../../server/kubernetes/node/log-tail.ts";

let dir: string;
let bad: string;
let good: string;
let messages: string[];
let warnings: string[];
let tail: LogTail;
let running: Promise<void>;
/** Added to the clock of the tail. */
let laterMs = 0;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "svc-failing-"));
  [bad, good] = ["shop_bad-1_0a", "shop_cart-1_0b"].map((pod) => join(dir, "pods", pod, "app")) as [
    string,
    string,
  ];
  for (const folder of [bad, good]) mkdirSync(folder, { recursive: true });
  [messages, warnings, laterMs] = [[], [], 0];
  tail = new LogTail({
    folder: join(dir, "pods"),
    stateFolder: join(dir, "state"),
    node: "n",
    sink: async ({ rows }) => void messages.push(...rows.map(({ message }) => message)),
    pods: () => ({ service: "s", labels: {}, workload: {} }),
    warn: logOnce(
      (message) => void warnings.push(message),
      () => performance.now(),
    ),
    elapsed: () => performance.now() + laterMs,
    ...{ pollMs: 5, batchMs: 5 },
  });
  running = tail.run();
  write("first");
  await arrived("first");
});
afterEach(async () => {
  vi.restoreAllMocks();
  tail.close();
  await running;
  rmSync(dir, { recursive: true, force: true });
});

/** Writes a line to the file of each container. */
function write(text: string): void {
  for (const folder of [bad, good])
    appendFileSync(join(folder, "0.log"), `2026-01-29T08:42:00.000000000Z stdout F ${text} of ${folder}\n`);
}

const arrived = (text: string, folders = [bad, good]) =>
  Promise.race([
    running,
    expect
      .poll(() => messages, { timeout: 10_000 })
      .toEqual(expect.arrayContaining(folders.map((folder) => `${text} of ${folder}`))),
  ]);

type Method = "size" | "head" | "read" | "close";

/** Lets calls of a method fail for some handles of the bad file. */
function breakFile(method: Method, code: string, isBroken: (handle: OpenFile) => boolean): void {
  const { ino } = statSync(join(bad, "0.log"));
  const real = OpenFile.prototype[method] as (...given: unknown[]) => unknown;
  vi.spyOn(OpenFile.prototype, method).mockImplementation(function (this: OpenFile, ...given: unknown[]) {
    if (this.place.ino === ino && isBroken(this))
      throw Object.assign(new Error(`${code}: it fails`), { code, syscall: "fstat" });
    return real.apply(this, given) as never;
  });
}

/** The handle of the bad file that the tail holds: files that are only compared are not asked for their size. */
async function findHeld(): Promise<OpenFile> {
  let held: OpenFile | undefined;
  breakFile("size", "", (handle) => {
    held = handle;
    return false;
  });
  await expect.poll(() => held).toBeDefined();
  vi.restoreAllMocks();
  return held!;
}

/** A change of a folder lets its files be matched again. */
async function changeFolders(): Promise<void> {
  for (const folder of [bad, good]) {
    const path = join(folder, "change.tmp");
    writeFileSync(path, "");
    rmSync(path);
  }
  await sleep(50);
}

const once = (...texts: string[]) => texts.flatMap((text) => [`${text} of ${bad}`, `${text} of ${good}`]);

test.each([
  ["size", "ESTALE", "opened again: ESTALE"],
  ["head", "EIO", "opened again: EIO"],
  ["read", "ESTALE", "opened again: ESTALE"],
  ["close", "EIO", "passed over: EIO"],
] as const)("a handle whose %s fails with %s", async (method, code, warning) => {
  const held = await findHeld();
  breakFile(method, code, (handle) => handle === held);
  // A handle is closed because it fails.
  if (method === "close") breakFile("size", "ESTALE", (handle) => handle === held);
  for (const text of ["second", "third"]) {
    if (method !== "read") await changeFolders();
    write(text);
    await arrived(text);
  }
  expect(messages.sort()).toEqual(once("first", "second", "third").sort());
  expect(warnings.at(-1)).toContain(warning);
  expect(warnings.length).toBe(method === "close" ? 2 : 1);
});

test.each<[string, Method[]]>([
  ["once it is open", ["size"]],
  ["when it is opened, too", ["size", "head"]],
])("a file that fails for minutes, %s", async (_, methods) => {
  let isFailing = true;
  for (const method of methods) breakFile(method, "EIO", () => isFailing);
  await changeFolders();
  for (const text of ["second", "third"]) {
    write(text);
    await arrived(text, [good]);
    laterMs += 60_000;
    await sleep(50);
  }
  // The same is logged once in a while.
  expect(warnings.length).toBe(methods.length);
  isFailing = false;
  write("fourth");
  await arrived("fourth");
  await sleep(50);
  expect(messages.sort()).toEqual(once("first", "second", "third", "fourth").sort());
});
