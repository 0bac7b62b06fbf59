/** Runs `svc` as a user does: a process of its own. */

import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = join(import.meta.dirname, "../../../server/svc.js");
/** Where programs run that are not told otherwise: the project's folder may hold `data` of whoever works there, and its token. */
const elsewhere = mkdtempSync(join(tmpdir(), "svc-elsewhere-"));
process.once("exit", () => rmSync(elsewhere, { recursive: true, force: true }));

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface Options {
  env?: Record<string, string>;
  cwd?: string;
  /** A program with arguments that starts the process, such as unshare. */
  wrapper?: readonly string[];
  /** Null leaves standard input open. */
  input?: string | Uint8Array | null;
}

export interface Started {
  child: ChildProcessWithoutNullStreams;
  /** Resolves with all that it printed once `text` stands on standard output; rejects when it ends before. */
  printed(text: string): Promise<string>;
  ended: Promise<Ended>;
}

/** Servers that run at once do not share the usual port for gRPC. */
const freePort = { SVC_OTLP_GRPC: "127.0.0.1:0" };

/** The environment has none of the variables of whoever runs the tests. */
export function startSvc(words: readonly string[], options: Options = {}): Started {
  const { PATH, HOME, TMPDIR } = process.env;
  const [command, ...args] = [...(options.wrapper ?? []), process.execPath, program, ...words];
  const child = spawn(command!, args, {
    cwd: options.cwd ?? elsewhere,
    env: {
      ...(PATH && { PATH }),
      ...(HOME && { HOME }),
      ...(TMPDIR && { TMPDIR }),
      ...freePort,
      ...options.env,
    },
  });
  let out = "";
  let err = "";
  const watchers = new Set<() => void>();
  child.stdout.on("data", (data) => {
    out += data;
    for (const watch of watchers) watch();
  });
  child.stderr.on("data", (data) => {
    err += data;
  });
  child.stdin.on("error", () => undefined);
  if (options.input !== null) child.stdin.end(options.input ?? "");
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  const printed = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const watch = () => {
        if (!out.includes(text)) return;
        watchers.delete(watch);
        resolve(out);
      };
      watchers.add(watch);
      watch();
      void ended.then(({ code }) => reject(new Error(`ended with ${code}: ${out}${err}`)));
    });
  return { child, printed, ended };
}

export function runSvc(words: readonly string[], options: Options = {}): Promise<Ended> {
  return startSvc(words, options).ended;
}
