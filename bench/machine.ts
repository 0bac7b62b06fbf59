import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, release, totalmem } from "node:os";

/** What the figures were measured on. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryBytes: number;
  system: string;
  node: string;
  /** Commit of the sources; null outside of a git working copy. */
  revision: string | null;
}

export function machineFacts(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${process.platform} ${process.arch} ${release()}`,
    node: process.version,
    revision: revision(),
  };
}

function revision(): string | null {
  try {
    const git = (...args: string[]): string =>
      execFileSync("git", args, {
        cwd: import.meta.dirname,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }).trim();
    return (
      git("rev-parse", "--short", "HEAD") +
      (git("status", "--porcelain", "--", "../engine", "../query", "../server") === "" ? "" : " with changes")
    );
  } catch {
    // A package without its repository, or a machine without git: the figures stand without it.
    return null;
  }
}
