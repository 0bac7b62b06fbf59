/** A memory cgroup of Linux, version 1 or 2, which bounds the memory of processes and counts it. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the processes of a cgroup did. */
interface CgroupFigures {
  /** Largest memory that counted, with pages of files that the kernel takes back when it needs room. */
  usedBytesPeak: number;
  /** Memory now that is not pages of files. */
  anonymousBytes: number;
  /** Processes that the kernel killed for want of memory. */
  kills: number;
}

export interface Cgroup {
  /** The file that a process's id is written to. */
  procsFile: string;
  read(): CgroupFigures;
  /** All of its processes must have ended. */
  remove(): void;
}

/** How a version names what is read and written. */
interface Version {
  root: string;
  /** A file at the root by which the version is known. */
  mark: string;
  limit: string;
  /** Limits memory and swap together; only where the kernel counts swap. */
  swapLimit: [file: string, value: (bytes: number) => number];
  peak: string;
  anonymous: RegExp;
  kills: [file: string, pattern: RegExp];
}

const versions: readonly Version[] = [
  {
    root: "/sys/fs/cgroup",
    mark: "cgroup.controllers",
    limit: "memory.max",
    swapLimit: ["memory.swap.max", () => 0],
    peak: "memory.peak",
    anonymous: /^anon (\d+)$/m,
    kills: ["memory.events", /^oom_kill (\d+)$/m],
  },
  {
    root: "/sys/fs/cgroup/memory",
    mark: "memory.limit_in_bytes",
    limit: "memory.limit_in_bytes",
    swapLimit: ["memory.memsw.limit_in_bytes", (bytes) => bytes],
    peak: "memory.max_usage_in_bytes",
    anonymous: /^total_rss (\d+)$/m,
    kills: ["memory.oom_control", /^oom_kill (\d+)$/m],
  },
];

/** Makes a cgroup with this limit. Returns undefined where this user cannot, or the system has none. */
export function makeCgroup(name: string, limitBytes: number): Cgroup | undefined {
  const version = versions.find(({ root, mark }) => existsSync(join(root, mark)));
  if (version === undefined) return undefined;
  const folder = join(version.root, name);
  try {
    mkdirSync(folder);
  } catch {
    return undefined;
  }
  const remove = () => rmdirSync(folder);
  try {
    writeFileSync(join(folder, version.limit), String(limitBytes));
  } catch {
    remove();
    return undefined;
  }
  const [swapFile, swapValue] = version.swapLimit;
  if (existsSync(join(folder, swapFile)))
    writeFileSync(join(folder, swapFile), String(swapValue(limitBytes)));
  const readText = (file: string) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8") : "";
  return {
    procsFile: join(folder, "cgroup.procs"),
    read: () => ({
      usedBytesPeak: Number(readText(version.peak)),
      anonymousBytes: Number(version.anonymous.exec(readText("memory.stat"))?.[1] ?? 0),
      kills: Number(version.kills[1].exec(readText(version.kills[0]))?.[1] ?? 0),
    }),
    remove,
  };
}

/** The words of a command that enters the cgroup and becomes the command of `words`, under the same process id. */
export function enterCgroup({ procsFile }: Cgroup, words: readonly string[]): string[] {
  return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', procsFile, ...words];
}
