/** Commits to both copies of the state at once. What one copy could not take is kept for its next commit. */
import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Failure, toWriteFailure } from "../failure.ts";
import { syncFolder } from "../files/folder.ts";
import { fillEnvironment, type LmdbEnvironment, openEnvironment } from "../lmdb/environment.ts";
import type { EncodedRecord } from "./state-record.ts";

/** The records of a commit, by name. */
export type StateValues = ReadonlyMap<string, EncodedRecord>;

interface CopyWriter {
  dir: string;
  /** True where its tree was audited, or written anew, when the state was opened. */
  isAudited: boolean;
  /** Opened by the first write. */
  environment: LmdbEnvironment | undefined;
  /** Records that the other copy has and this one does not yet. */
  pending: Map<string, EncodedRecord>;
}

export class StateWriter {
  readonly #copies: readonly CopyWriter[];

  constructor(copies: readonly Pick<CopyWriter, "dir" | "isAudited">[]) {
    this.#copies = copies.map((copy) => ({ ...copy, environment: undefined, pending: new Map() }));
  }

  /**
   * Resolves when the values are on disk in at least one copy; the result has the error message of the other, if it
   * failed. Throws Failure "disk-full", "damage" or "overload" (another error of the system) where both copies failed;
   * both are then unchanged.
   */
  async write(values: StateValues): Promise<string[]> {
    const errors = await Promise.all(this.#copies.map((copy) => writeCopy(copy, values)));
    const failed = errors.filter((error) => error !== undefined);
    if (failed.length === this.#copies.length) throw failed.find(isDiskFull) ?? failed[0];
    for (const [i, copy] of this.#copies.entries()) {
      if (errors[i] !== undefined) for (const [name, value] of values) copy.pending.set(name, value);
    }
    return failed.map((error) => error.message);
  }

  /**
   * Replaces both copies by new ones with these keys and frames, so that no trace of others is left in their files. Where
   * the new ones cannot be written, it throws, and nothing has changed.
   */
  async replace(values: () => AsyncIterable<[Uint8Array, Uint8Array]>): Promise<void> {
    const paths = this.#copies.map(({ dir }) => ({ dir, made: `${dir}.new`, old: `${dir}.old` }));
    try {
      for (const { made } of paths) {
        rmSync(made, { recursive: true, force: true });
        await fillEnvironment(made, values());
      }
    } catch (error) {
      for (const { made } of paths) rmSync(made, { recursive: true, force: true });
      throw error;
    }
    for (const [i, { dir, made, old }] of paths.entries()) {
      const copy = this.#copies[i]!;
      await copy.environment?.close();
      copy.environment = undefined;
      rmSync(old, { recursive: true, force: true });
      renameSync(dir, old);
      renameSync(made, dir);
      await syncFolder(dirname(dir));
      rmSync(old, { recursive: true, force: true });
      copy.isAudited = true;
      copy.pending.clear();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#copies.map((copy) => copy.environment?.close()));
  }
}

/** Writes what is pending and the values to one copy. Returns the error instead of throwing it. */
async function writeCopy(copy: CopyWriter, values: StateValues): Promise<Error | undefined> {
  try {
    copy.environment ??= openEnvironment(copy.dir, { readOnly: false, isAudited: copy.isAudited });
    await copy.environment.write((to) => {
      for (const { key, frame } of copy.pending.values()) to.put(key, frame);
      for (const { key, frame } of values.values()) to.put(key, frame);
    });
    copy.pending.clear();
    return undefined;
  } catch (error) {
    return toWriteFailure(error, "what is configured") ?? (error as Error);
  }
}

function isDiskFull(error: Error): boolean {
  return error instanceof Failure && error.kind === "disk-full";
}
