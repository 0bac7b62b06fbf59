/** System calls of a process as strace wrote them down, in order of their beginning. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface SystemCall {
  name: string;
  /** As strace prints them; descriptors carry their paths. */
  args: string;
  /** Of the first descriptor among the arguments, or the first text. */
  path: string;
  /** Place in the log where it began, and where it had ended. */
  begin: number;
  end: number;
  succeeded: boolean;
}

export const fileCalls =
  "pwrite64,pwritev,write,writev,fdatasync,fsync,rename,unlink,unlinkat,rmdir,ftruncate,mkdir,openat";

export function hasStrace(): boolean {
  const { status } = spawnSync("strace", ["-f", "-o", "/dev/null", "true"]);
  return status === 0;
}

/** Runs a program and writes its calls to `logFile`. */
export function straceWrapper(logFile: string): string[] {
  // Every element of a vector of buffers is printed, the first bytes of each.
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

/** Ends a program with SIGKILL when one of its threads enters that call for the n-th time. */
export function killingWrapper(call: string, nth: number): string[] {
  const filter = ["-e", `trace=${call}`, "-e", `inject=${call}:signal=SIGKILL:when=${nth}`];
  // Not with --seccomp-bpf: strace 6.1 then counts no further than the first call.
  return ["strace", "-f", "-qq", "-o", "/dev/null", ...filter];
}

/** How often each thread made each call, as (call, n-th time on its thread): the places for a kill. */
export function placesOf(logFile: string, calls: ReadonlySet<string>): { call: string; nth: number }[] {
  const counts = new Map<string, number>();
  const places: { call: string; nth: number }[] = [];
  for (const line of readFileSync(logFile, "latin1").split("\n")) {
    const match = /^(\d+) +(\w+)\(/.exec(line);
    if (match === null || !calls.has(match[2]!)) continue;
    const thread = `${match[1]} ${match[2]}`;
    const nth = (counts.get(thread) ?? 0) + 1;
    counts.set(thread, nth);
    places.push({ call: match[2]!, nth });
  }
  return places;
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
  // What never came back had no effect that anything after could rest on.
  for (const call of unfinished.values()) call.end = Number.POSITIVE_INFINITY;
  return calls;
}

/** The second path of a rename. */
export function targetOf({ args }: SystemCall): string {
  return /^"[^"]*", "([^"]*)"/.exec(args)?.[1] ?? "";
}

export function descriptorOf({ args }: SystemCall): string {
  return /^(\d+)</.exec(args)?.[1] ?? "";
}

/** The descriptor that an openat gave. */
export function openedDescriptor({ args }: SystemCall): string {
  return /= (\d+)<[^>]*>$/.exec(args)?.[1] ?? "";
}

function pathOf(args: string): string {
  return /^\d+<([^>]*)>/.exec(args)?.[1] ?? /"([^"]*)"/.exec(args)?.[1] ?? "";
}

function isSuccess(text: string): boolean {
  return /\) += \d+(?:<.*>)?$/.test(text);
}
