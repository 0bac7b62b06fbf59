/** Commits to both copies of the state at once; what one of them could not take is kept for its next commit. */
import { Failure } from "../failure.ts";
import { type Environment, openEnvironment } from "../lmdb/environment.ts";
import type { EncodedRecord } from "./state-record.ts";

/** Records by name. */
export type StateValues = ReadonlyMap<string, EncodedRecord>;

interface CopyWriter {
  dir: string;
  environment: Environment | undefined;
  /** What the other copy took and this one did not. */
  behind: Map<string, EncodedRecord>;
}

export class StateWriter {
  readonly #copies: readonly CopyWriter[];

  constructor(dirs: readonly string[]) {
    this.#copies = dirs.map((dir) => ({ dir, environment: undefined, behind: new Map() }));
  }

  /**
   * Resolves when the values are on disk in one copy at least, with the problems of the other.
   * Throws Failure "disk-full" or "damage" where neither took them; both are as before then.
   */
  async write(values: StateValues): Promise<string[]> {
    const errors = await Promise.all(this.#copies.map((copy) => attempt(copy, values)));
    const failed = errors.filter((error) => error !== undefined);
    if (failed.length === this.#copies.length) throw failed.find(isDiskFull) ?? failed[0];
    for (const [i, copy] of this.#copies.entries()) {
      if (errors[i] !== undefined) for (const [name, value] of values) copy.behind.set(name, value);
    }
    return failed.map((error) => error.message);
  }

  async close(): Promise<void> {
    await Promise.all(this.#copies.map((copy) => copy.environment?.close()));
  }
}

async function attempt(copy: CopyWriter, values: StateValues): Promise<Error | undefined> {
  try {
    copy.environment ??= openEnvironment(copy.dir, { readOnly: false });
    await copy.environment.write((to) => {
      for (const { key, frame } of copy.behind.values()) to.put(key, frame);
      for (const { key, frame } of values.values()) to.put(key, frame);
    });
    copy.behind.clear();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function isDiskFull(error: Error): boolean {
  return error instanceof Failure && error.kind === "disk-full";
}
