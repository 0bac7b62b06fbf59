/** The bundle of the program: it runs in place of the sources it was made of, and never in place of others. */

import { execFile } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const server = join(import.meta.dirname, "../../server");
const root = mkdtempSync(join(tmpdir(), "svc-bundle-"));
afterAll(() => rmSync(root, { recursive: true }));

/** The seed of the tests is no setting of svc, which refuses variables that it does not know. */
const { SVC_SEED: _, NODE_COMPILE_CACHE: __, ...env } = process.env;

async function runNode(words: readonly string[], more = {}): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, words, { env: { ...env, ...more } });
  return `${stdout}${stderr}`.trim();
}
const runProgram = () => runNode([join(root, "server/svc.js")]);
const makeBundle = () => runNode([join(server, "build-bundle.js"), root]);

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** The program prints a text of another module, what its thread sends, and whether it runs from a bundle. */
beforeAll(() => {
  for (const file of ["svc.js", "bundle.js"]) cpSync(join(server, file), join(root, "server", file));
  write("package.json", '{ "type": "module" }');
  write(
    "server/main.ts",
    `import { ask } from "../engine/threads/some-thread.ts";
     const { text } = await import('./text.ts');
     const isBundle: boolean = /dist.bundle/.test(new Error().stack!);
     console.log(text, await ask(), isBundle);`,
  );
  write("server/text.ts", 'export const text: string = "one";');
  write(
    "engine/threads/some-thread.ts",
    `import { Worker } from "node:worker_threads";
     import { extname } from "node:path";
     const program = new URL("../worker/worker" + extname(import.meta.url), import.meta.url);
     export const ask = () => new Promise((resolve) => new Worker(program).on("message", resolve));`,
  );
  write(
    "engine/worker/worker.ts",
    `import { parentPort } from "node:worker_threads";
     const isBundle: boolean = /dist.bundle/.test(new Error().stack!);
     parentPort!.postMessage(isBundle ? "bundled thread" : "thread");`,
  );
  for (const path of [
    "server/ingest/decode-worker.ts",
    "server/investigate/analysis/analysis-worker.ts",
    "engine/index.ts",
    "query/index.ts",
    "server/index.ts",
  ])
    write(path, "export {};");
});

test("the sources run until a bundle is made, then the bundle", async () => {
  expect(await runProgram()).toBe("one thread false");
  expect(await makeBundle()).toMatch(/^bundled the program: \d+ files$/);
  expect(await runProgram()).toBe("one bundled thread true");
  // Nothing has changed, so nothing is made.
  expect(await makeBundle()).toBe("");
});

/** The modules whose compiled code Node took from its folder, as it says itself. */
async function listPrecompiled(): Promise<string[]> {
  const said = await runNode([join(root, "server/svc.js")], { NODE_DEBUG_NATIVE: "COMPILE_CACHE" });
  expect(said).toContain("one bundled thread true");
  return [...said.matchAll(/^\[compile cache\] cache for \S*\/(\S+) was accepted/gm)].map(
    ([, name]) => name!,
  );
}

test("what was compiled of a bundle is kept beside it, of threads too; where it is damaged it is compiled again", async () => {
  const used = await listPrecompiled();
  expect(used).toContain("main.js");
  expect(used).toContain("worker.js");
  const bundles = join(root, "dist/bundle");
  const compiled = globSync("*/compiled/**", { cwd: bundles, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  expect(compiled.length).toBeGreaterThanOrEqual(used.length);
  for (const { parentPath, name } of compiled) {
    const bytes = readFileSync(join(parentPath, name));
    writeFileSync(join(parentPath, name), bytes.fill(0x55, bytes.length / 2));
  }
  expect(await listPrecompiled()).toEqual([]);
  for (const folder of globSync("*/compiled", { cwd: bundles })) {
    rmSync(join(bundles, folder), { recursive: true });
    writeFileSync(join(bundles, folder), "");
  }
  expect(await runProgram()).toBe("one bundled thread true");
});

test("an empty NODE_COMPILE_CACHE is as good as none, and nothing is written where the program was started", async () => {
  const elsewhere = mkdtempSync(join(root, "elsewhere-"));
  const started = { cwd: elsewhere, env: { ...env, NODE_COMPILE_CACHE: "" } };
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, "server/svc.js")], started);
  expect(stdout).toBe("one bundled thread true\n");
  expect(readdirSync(elsewhere)).toEqual([]);
});

test.each([
  ["server/text.ts", 'export const text: string = "two";', "two thread false"],
  ["engine/worker/worker.ts", "throw new Error();", undefined],
])("after a change of %s the sources run again", async (path, text, printed) => {
  write("server/text.ts", 'export const text: string = "one";');
  await makeBundle();
  write(path, text);
  if (printed === undefined) await expect(runProgram()).rejects.toThrow();
  else expect(await runProgram()).toBe(printed);
});

test("a source that is gone, a damaged list and a bundle that was removed make the sources run", async () => {
  write(
    "engine/worker/worker.ts",
    'import { parentPort } from "node:worker_threads";\nparentPort!.postMessage("thread");',
  );
  write("server/text.ts", 'export { text } from "./words.ts";');
  write("server/words.ts", 'export const text: string = "words";');
  await makeBundle();
  expect(await runProgram()).toMatch(/^words .* true$/);
  write("server/text.ts", 'export const text: string = "three";');
  rmSync(join(root, "server/words.ts"));
  expect(await runProgram()).toBe("three thread false");
  await makeBundle();
  expect(await runProgram()).toMatch(/ true$/);
  const bundles = join(root, "dist/bundle");
  for (const { name } of readdirSync(bundles, { withFileTypes: true }).filter((each) => each.isDirectory()))
    rmSync(join(bundles, name), { recursive: true });
  expect(await runProgram()).toBe("three thread false");
  write("dist/bundle/newest.json", "{");
  expect(await runProgram()).toBe("three thread false");
});

test("svc itself runs from a bundle", async () => {
  const top = join(server, "..");
  const copy = mkdtempSync(join(tmpdir(), "svc-bundled-"));
  try {
    for (const folder of ["engine", "query", "server"])
      cpSync(join(top, folder), join(copy, folder), { recursive: true });
    for (const file of ["package.json", "tsconfig.json"]) cpSync(join(top, file), join(copy, file));
    symlinkSync(join(top, "node_modules"), join(copy, "node_modules"));
    expect(await runNode([join(copy, "server/build-bundle.js")])).toMatch(/^bundled/);
    const rows = join(copy, "rows.jsonl");
    writeFileSync(rows, '{"message":"order 4711 paid"}\n');
    const svc = (...words: string[]) => runNode([join(copy, "server/svc.js"), ...words]);
    expect(await svc("ingest", "--direct", "--data", join(copy, "data"), rows)).toMatch(
      /1 rows taken, 0 refused/,
    );
    expect(await svc("verify", "--data", join(copy, "data"))).toMatch(/ 1 not sealed yet/);
  } finally {
    rmSync(copy, { recursive: true });
  }
}, 60_000);
