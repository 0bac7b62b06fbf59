import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { projectRoot } from "../paths.ts";

/** The machine and the revision that figures were measured on. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryBytes: number;
  system: string;
  node: string;
  /** Commit of the sources, marked where they have changes; null outside of a git working copy. */
  revision: string | null;
}

export function readMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${process.platform} ${process.arch} ${release()}`,
    node: process.version,
    revision: readRevision(),
  };
}

function readRevision(): string | null {
  try {
    const git = (...args: string[]): string =>
      execFileSync("git", args, {
        cwd: projectRoot,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }).trim();
    return (
      git("rev-parse", "--short", "HEAD") +
      (git("status", "--porcelain", "--", "engine", "query", "server") === "" ? "" : " with changes")
    );
  } catch {
    // There is no repository or no git.
    return null;
  }
}
