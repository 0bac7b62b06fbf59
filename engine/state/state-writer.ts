/** Commits to both copies of the state at once. What one copy could not take is kept for its next commit. */
import { Failure, toWriteFailure } from "../failure.ts";
import { type LmdbEnvironment, openEnvironment } from "../lmdb/environment.ts";
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
