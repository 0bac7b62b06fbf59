/** `npm run bench:compare -- REV`: measures another revision and this working copy in turn, on the same rows. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { benchPath, projectRoot } from "./paths.ts";

const usage = `Usage: npm run bench:compare -- REV [options of npm run bench]
  Measures the sources of the revision REV and those of the working copy by turns, on the same rows. Unless told otherwise:
  --only queries --sets system --json bench/results/compare.json
`;

/** Runs `use` with a temporary working copy of the revision, which shares this one's `node_modules`. */
async function runOnRevision(revision: string, use: (root: string) => Promise<number>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "svc-compare-"));
  const root = join(folder, "svc");
  const git = (...args: string[]): void => {
    execFileSync("git", args, { cwd: projectRoot, stdio: ["ignore", "ignore", "inherit"] });
  };
  git("worktree", "add", "--detach", root, revision);
  try {
    await symlink(join(projectRoot, "node_modules"), join(root, "node_modules"));
    return await use(root);
  } finally {
    git("worktree", "remove", "--force", root);
    await rm(folder, { recursive: true, force: true });
  }
}

async function runBench(root: string, args: readonly string[]): Promise<number> {
  const defaults = ["--only", "queries", "--sets", "system"];
  const json = ["--json", benchPath("results/compare.json")];
  const main = benchPath("main.ts");
  // The last of repeated options counts, so `args` override the defaults.
  const child = spawn(process.execPath, [main, ...defaults, ...json, ...args, "--revision", root], {
    stdio: "inherit",
  });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

const [revision, ...args] = process.argv.slice(2);
if (revision === undefined || revision.startsWith("-")) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  process.exitCode = await runOnRevision(revision, (root) => runBench(root, args));
}
