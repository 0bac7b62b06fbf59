/** The peers' npm packages in `bench/peers`, which the first run that needs them installs. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { benchPath } from "../paths.ts";
import type { ShowProgress } from "../terminal/progress.ts";
import type { PeerName } from "./system.ts";

const folder = benchPath("peers");
const packages: Readonly<Record<PeerName, string>> = {
  duckdb: "@duckdb/node-api",
  clickhouse: "chdb",
  ripgrep: "@vscode/ripgrep",
};

/** Installs the packages that are missing, up to 620 MB. Throws where npm fails. */
export async function installPeers(peers: readonly PeerName[], show: ShowProgress): Promise<void> {
  const missing = peers.filter((name) => !existsSync(join(folder, "node_modules", packages[name])));
  if (missing.length === 0) return;
  show({ step: "install the peers with npm (620 MB)", done: 0, total: 1, unit: "packages" });
  await promisify(execFile)(...makeNpmCommand("install", "--no-audit", "--no-fund"), { cwd: folder });
}

/** Prefers the npm of the running Node: PATH may hold another one first. */
function makeNpmCommand(...args: string[]): [string, string[]] {
  const script = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js");
  const npmScript = process.env.npm_execpath ?? (existsSync(script) ? script : undefined);
  return npmScript === undefined ? ["npm", args] : [process.execPath, [npmScript, ...args]];
}

export async function loadPeerPackage<T>(name: string): Promise<T> {
  return createRequire(join(folder, "package.json"))(name) as T;
}

export async function findRipgrep(): Promise<string> {
  const { rgPath } = await import(join(folder, "node_modules/@vscode/ripgrep/lib/index.js"));
  return rgPath;
}
