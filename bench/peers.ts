/** The peers' packages: in a folder of their own, installed when they are needed for the first time. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { PeerName } from "./options.ts";
import type { StepProgress } from "./progress.ts";

const folder = new URL("./peers/", import.meta.url).pathname;
const packages: Readonly<Record<PeerName, string>> = {
  duckdb: "@duckdb/node-api",
  clickhouse: "chdb",
  ripgrep: "@vscode/ripgrep",
};

/** Takes some 620 MB on the first use. Throws where npm fails. */
export async function installPeers(
  peers: readonly PeerName[],
  show: (progress: StepProgress) => void,
): Promise<void> {
  const missing = peers.filter((name) => !existsSync(join(folder, "node_modules", packages[name])));
  if (missing.length === 0) return;
  show({ step: "install the peers with npm (620 MB)", done: 0, total: 1, unit: "packages" });
  await promisify(execFile)(...npmCommand("install", "--no-audit", "--no-fund"), { cwd: folder });
}

/** The npm that belongs to the Node that runs: another may stand first in PATH. */
function npmCommand(...args: string[]): [string, string[]] {
  const script = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js");
  const known = process.env.npm_execpath ?? (existsSync(script) ? script : undefined);
  return known === undefined ? ["npm", args] : [process.execPath, [known, ...args]];
}

export async function peerPackage<T>(name: string): Promise<T> {
  return createRequire(join(folder, "package.json"))(name) as T;
}

export async function ripgrepPath(): Promise<string> {
  const { rgPath } = await import(join(folder, "node_modules/@vscode/ripgrep/lib/index.js"));
  return rgPath;
}
