/** Programs from Debian's packages as senders, each in a folder of its own. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { post, type Running } from "../../running.ts";

/**
 * Where packages are unpacked that cannot be installed beside others, as two daemons of syslog: `.ci/unpack-daemons`
 * does that.
 */
const unpacked = process.env.SVC_DAEMONS ?? "/opt/daemons";

/** The path of a program, installed or unpacked; undefined where there is none that runs. */
export function findProgram(path: string): string | undefined {
  return [path, join(unpacked, path)].find((candidate) => {
    if (!existsSync(candidate)) return false;
    return spawnSync(candidate, ["--version"], { env: environmentOf(candidate) }).status === 0;
  });
}

/** Files that unpacked programs look for where their package would have put them. */
export function inPackage(path: string): string {
  return existsSync(path) ? path : join(unpacked, path);
}

const libraryFolders = [
  ...["usr/lib", "lib"].flatMap((lib) => [
    ...["x86_64-linux-gnu", "aarch64-linux-gnu"].map((machine) => `${lib}/${machine}`),
    ...["x86_64-linux-gnu", "aarch64-linux-gnu"].map((machine) => `${lib}/${machine}/systemd`),
  ]),
  "usr/lib/syslog-ng",
];

export class Daemons {
  readonly dir = mkdtempSync(join(tmpdir(), "svc-daemons-"));
  readonly #children: ChildProcess[] = [];

  /** Writes a file of the folder; returns its path. */
  write(name: string, text: string | Uint8Array): string {
    const path = join(this.dir, name);
    writeFileSync(path, text);
    return path;
  }

  /** Starts a program, which is ended by `stop`. What it prints goes to the file `output`. */
  start(program: string, words: readonly string[], input?: string | Uint8Array): ChildProcess {
    const child = spawn(program, words, {
      cwd: this.dir,
      env: environmentOf(program),
      stdio: ["pipe", "ignore", "pipe"],
    });
    const printed: Buffer[] = [];
    child.stderr!.on("data", (bytes: Buffer) => {
      printed.push(bytes);
      this.write("output", Buffer.concat(printed));
    });
    child.stdin!.on("error", () => undefined);
    child.stdin!.end(input);
    this.#children.push(child);
    return child;
  }

  /** What the program that printed last has printed. */
  get output(): string {
    const path = join(this.dir, "output");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Runs a program to its end. Throws what it printed where it fails. */
  async run(program: string, words: readonly string[], input?: string | Uint8Array): Promise<void> {
    const child = this.start(program, words, input);
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${this.output}`);
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await new Promise((resolve) => child.once("close", resolve));
    }
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** An unpacked program has its libraries beside it. */
function environmentOf(program: string): NodeJS.ProcessEnv {
  if (!program.startsWith(unpacked)) return process.env;
  const folders = libraryFolders.map((folder) => join(unpacked, folder));
  return { ...process.env, LD_LIBRARY_PATH: folders.join(":") };
}

/** Calls `read` until it returns something; undefined after a minute. */
export async function eventually<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
  const endMs = Date.now() + 60_000;
  while (Date.now() < endMs) {
    const value = await read();
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return undefined;
}

export interface FoundSeries {
  labels: Record<string, string>;
  points: [ms: number, value: number][];
}

/** The series of a query over the last five minutes, as one bucket; undefined where there is none. */
export async function seriesOf(server: Running, query: string): Promise<FoundSeries[] | undefined> {
  const range = { startTime: Date.now() - 300_000, endTime: Date.now(), bucketSize: 300 };
  const got = await post<{ series?: FoundSeries[] }>(server, "timeseries", { query, ...range });
  if (got.status !== 200) throw new Error(`${query}: ${got.text}`);
  const { series } = got.json;
  return series === undefined || series.length === 0 ? undefined : series;
}
