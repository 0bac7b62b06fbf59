/** Where a worker thread cannot be started, its tasks fail, and the process neither hangs nor ends. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

const project = join(import.meta.dirname, "../../..");
const dir = mkdtempSync(join(tmpdir(), "svc-worker-"));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs on a copy of the engine whose worker module is missing at first. */
const program = `
import { renameSync } from "node:fs";
const { Failure, openStore } = await import(process.argv[2]!);
const outcomeOf = async (work) => {
  try {
    const { rows } = (await work) ?? {};
    return rows?.length ?? "done";
  } catch (error) {
    return error instanceof Failure ? error.kind + ": " + error.message : "bug: " + error;
  }
};
const store = await openStore({ dir: "data", threads: 1 });
const row = { timeNs: BigInt(Date.now()) * 1_000_000n, level: "", message: "x", attributes: {} };
// More rows than a query reads on the query thread.
await store.append("logs", Array(10_000).fill(row));
const search = () => outcomeOf(store.search({ signal: "logs", fromNs: 0n, toNs: 1n << 62n, steps: [], limit: 1 }));
const answers = [...(await Promise.all([search(), search()])), await search(), await search(), await outcomeOf(store.seal())];
renameSync("worker.ts", "engine/worker/worker.ts");
// A thread that was starting when the module came back may still fail.
let found = await search();
for (let i = 0; i < 20 && found !== 1; i++) found = await search();
answers.push(found, await outcomeOf(store.seal()), await search());
await store.close();
console.log(JSON.stringify(answers));
`;

test("a thread that cannot load its module fails its tasks, and later tasks start it again", () => {
  for (const name of ["engine", "package.json"])
    cpSync(join(project, name), join(dir, name), { recursive: true });
  symlinkSync(join(project, "node_modules"), join(dir, "node_modules"));
  renameSync(join(dir, "engine/worker/worker.ts"), join(dir, "worker.ts"));
  writeFileSync(join(dir, "program.ts"), program);
  const output = execFileSync(process.execPath, ["program.ts", "./engine/index.ts"], {
    cwd: dir,
    timeout: 60_000,
    encoding: "utf8",
  });
  const refused = expect.stringMatching(/^overload: a worker thread ended \(Cannot find module .*worker\.ts/);
  expect(JSON.parse(output)).toEqual([refused, refused, refused, refused, refused, 1, "done", 1]);
});
