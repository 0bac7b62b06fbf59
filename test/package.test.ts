/** The package as others install it: packed, installed into an empty folder, and the README's program run there. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

describe("the package", () => {
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "svc-package-"));
    await run("npm", ["pack", "--pack-destination", dir], { cwd: root });
    const tarball = readdirSync(dir).find((name) => name.endsWith(".tgz"));
    writeFileSync(join(dir, "package.json"), '{ "name": "user", "private": true, "type": "module" }');
    await run("npm", ["install", "--prefer-offline", "--no-audit", `./${tarball}`], { cwd: dir });
  }, 300_000);

  afterAll(() => rmSync(dir, { recursive: true }));

  test("runs the README's program that appends rows and reads them back", async () => {
    const program = /```js\n(.*?)```/s.exec(readFileSync(join(root, "README.md"), "utf8"))?.[1];
    expect(program?.split("\n").length).toBeLessThanOrEqual(25);
    writeFileSync(join(dir, "program.js"), program!);
    const { stdout } = await run(process.execPath, ["program.js"], { cwd: dir });
    expect(stdout.split("\n")).toEqual([
      "error order 2 refused",
      "order 1 paid { 'service.name': '/k8s/shop/pay' }",
      "order 2 refused { 'service.name': '/k8s/shop/pay' }",
      "order 3 paid { 'service.name': '/k8s/shop/pay' }",
      "",
    ]);
  }, 60_000);

  test("has types that a strict compiler takes", async () => {
    const text = [
      'import { type LogRow, openStore } from "svc";',
      "const row: LogRow = { timeNs: 1n, level: '', message: '', attributes: {} };",
      "const store = await openStore({ dir: 'd' });",
      "const { rows }: { rows: number } = await store.append('logs', [row]);",
      "// @ts-expect-error a signal that is none",
      "await store.append('smoke', [row]);",
      "export { rows };",
    ];
    writeFileSync(join(dir, "typed.ts"), text.join("\n"));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const flags = [
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "typed.ts",
    ];
    await run(process.execPath, [tsc, ...flags], { cwd: dir });
  }, 60_000);

  test("starts the program that it names as a command", async () => {
    const { stdout } = await run(join(dir, "node_modules", ".bin", "svc"), ["help"], { cwd: dir });
    expect(stdout).toContain("svc serve");
  }, 60_000);
});
