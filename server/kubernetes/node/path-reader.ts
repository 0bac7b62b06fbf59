/** Reads paths that pods may have made unreadable: one that fails is skipped, and logged once. */

import { type Dirent, readdirSync, type Stats, statSync } from "node:fs";
import { refusedPathsMax } from "./limits.ts";

export class PathReader {
  readonly #warn: (message: string) => void;
  /** What could not be read at the last look. */
  readonly #refused = new Set<string>();

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /** What a path names; undefined where there is nothing, or it cannot be read, as a link that leads to itself. */
  look(path: string): Stats | undefined {
    return this.#attempt(path, () => statSync(path, { throwIfNoEntry: false }));
  }

  /** What is in a folder; nothing where it was removed, or cannot be read. */
  list(path: string): Dirent[] {
    return this.#attempt(`${path}/`, () => readdirSync(path, { withFileTypes: true })) ?? [];
  }

  #attempt<T>(path: string, read: () => T): T | undefined {
    try {
      const found = read();
      this.#refused.delete(path);
      return found;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") this.#refuse(path, message);
      return undefined;
    }
  }

  #refuse(path: string, problem: string): void {
    if (this.#refused.has(path)) return;
    // Paths that are gone are not looked at any more.
    if (this.#refused.size >= refusedPathsMax) this.#refused.clear();
    this.#refused.add(path);
    this.#warn(`${path} is skipped: ${problem}`);
  }
}
