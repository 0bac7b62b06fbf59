/** What the machine gives this process: in a container, what the container may use. */

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";

/** Where systems mount the cgroups of each version, and the file that holds a group's limit. */
const versions = {
  1: { root: "/sys/fs/cgroup/memory", limitFile: "memory.limit_in_bytes" },
  2: { root: "/sys/fs/cgroup", limitFile: "memory.max" },
};

/** Returns the text of a file; undefined where it cannot be read. */
type ReadText = (path: string) => string | undefined;

/** Bytes of memory that this process may use. */
export function readMemoryBytes(readText: ReadText = readIfThere): number {
  // Zero where it is not known, and a number without meaning where nothing is set.
  const constrained = process.constrainedMemory();
  const limits = constrained > 0 ? [constrained] : [];
  return Math.min(totalmem(), ...limits, ...listCgroupLimits(readText));
}

/**
 * The limits of the process's cgroup and of all groups around it, which hold as well: Node reads the innermost alone.
 * Seen from within a container the outer groups may be missing.
 */
export function listCgroupLimits(readText: ReadText): number[] {
  const lines = (readText("/proc/self/cgroup") ?? "").split("\n");
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) return [];
    if (controllers !== "" && !controllers.split(",").includes("memory")) return [];
    const { root, limitFile } = versions[controllers === "" ? 2 : 1];
    const texts = listFolders(path).map((folder) => readText(join(root, folder, limitFile)));
    // Version 2 says "max" where a group has no limit.
    return texts.map(Number.parseFloat as (text?: string) => number).filter((limit) => limit > 0);
  });
}

/** A path and all that lie above it, up to "/". */
function listFolders(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...listFolders(above)];
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
