/** System calls of a process as logged by strace, in the order in which they started. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface SystemCall {
  name: string;
  /** As strace prints them, with the path of each file descriptor. */
  args: string;
  /** Path of the first file descriptor among the arguments, or the first string. */
  path: string;
  /** Index of the log line where it started. */
  begin: number;
  /** Index of the log line where it ended; infinite where it never did. */
  end: number;
  succeeded: boolean;
}

export const fileCalls =
  "pwrite64,pwritev,write,writev,fdatasync,fsync,rename,unlink,unlinkat,rmdir,ftruncate,mkdir,openat";

export function hasStrace(): boolean {
  const { status } = spawnSync("strace", ["-f", "-o", "/dev/null", "true"]);
  return status === 0;
}

/** The command line that runs a program and logs its calls to `logFile`. */
export function straceWrapper(logFile: string): string[] {
  // abbrev=none prints every buffer of a writev; -s limits how much of each.
  return [
    "strace",
    "-f",
    "-y",
    "-qq",
    "-s",
    "48",
    "-e",
    "abbrev=none",
    "-e",
    `trace=${fileCalls}`,
    "-o",
    logFile,
  ];
}

/** The command line that runs a program and kills it when one of its threads enters that call for the n-th time. */
export function killingWrapper(call: string, nth: number): string[] {
  const filter = ["-e", `trace=${call}`, "-e", `inject=${call}:signal=SIGKILL:when=${nth}`];
  // Without --seccomp-bpf: with it, strace 6.1 counts only the first call.
  return ["strace", "-f", "-qq", "-o", "/dev/null", ...filter];
}

/**
 * Returns every call in the log as a pair of its name and its count on its thread: the points at which a process can be
 * killed.
 */
export function callSitesOf(logFile: string, calls: ReadonlySet<string>): { call: string; nth: number }[] {
  const counts = new Map<string, number>();
  const callSites: { call: string; nth: number }[] = [];
  for (const line of readFileSync(logFile, "latin1").split("\n")) {
    const match = /^(\d+) +(\w+)\(/.exec(line);
    if (match === null || !calls.has(match[2]!)) continue;
    const thread = `${match[1]} ${match[2]}`;
    const nth = (counts.get(thread) ?? 0) + 1;
    counts.set(thread, nth);
    callSites.push({ call: match[2]!, nth });
  }
  return callSites;
}

export function readTrace(logFile: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, SystemCall>();
  for (const [at, line] of readFileSync(logFile, "latin1").split("\n").entries()) {
    const begun = /^(\d+) +(\w+)\((.*)$/.exec(line);
    if (begun !== null) {
      const [, thread, name, rest] = begun as unknown as [string, string, string, string];
      const call = { name, args: rest, path: pathOf(rest), begin: at, end: at, succeeded: isSuccess(rest) };
      calls.push(call);
      if (rest.endsWith("<unfinished ...>")) unfinished.set(thread, call);
      continue;
    }
    const resumed = /^(\d+) +<\.\.\. \w+ resumed>(.*)$/.exec(line);
    const call = resumed === null ? undefined : unfinished.get(resumed[1]!);
    if (call === undefined) continue;
    unfinished.delete(resumed![1]!);
    call.end = at;
    call.succeeded = isSuccess(line);
    if (call.name === "openat") call.args += resumed![2]!;
  }
  // A call that never returned cannot have had an effect that a later call depends on.
  for (const call of unfinished.values()) call.end = Number.POSITIVE_INFINITY;
  return calls;
}

/** The target path of a rename. */
export function targetOf({ args }: SystemCall): string {
  return /^"[^"]*", "([^"]*)"/.exec(args)?.[1] ?? "";
}

export function descriptorOf({ args }: SystemCall): string {
  return /^(\d+)</.exec(args)?.[1] ?? "";
}

/** The file descriptor that an openat returned. */
export function openedDescriptor({ args }: SystemCall): string {
  return /= (\d+)<[^>]*>$/.exec(args)?.[1] ?? "";
}

function pathOf(args: string): string {
  return /^\d+<([^>]*)>/.exec(args)?.[1] ?? /"([^"]*)"/.exec(args)?.[1] ?? "";
}

function isSuccess(text: string): boolean {
  return /\) += \d+(?:<.*>)?$/.test(text);
}
