/** The list of the journal's segments and key files. A listed file that does not exist was lost. */
import { join } from "node:path";
import { type CopiedFileRead, readCopies, writeCopies } from "../files/copied-file.ts";
import { isCount, isListOf, isObjectOf, isText } from "../files/json-shape.ts";

export interface JournalFiles {
  version: number;
  /** File names. */
  segments: string[];
  keys: string[];
}

const isJournalFiles = isObjectOf<JournalFiles>({
  version: isCount,
  segments: isListOf(isText),
  keys: isListOf(isText),
});

/** Reads both copies of the list. */
export function readSegmentList(dir: string): Promise<CopiedFileRead<JournalFiles>> {
  return readCopies(listPaths(dir), isJournalFiles);
}

/** Writes the list; overlapping calls are written one after the other. */
export class SegmentList {
  readonly #dir: string;
  /** Version of the list on disk; 0 without one. */
  #version: number;
  #writing: Promise<void> = Promise.resolve();

  constructor(dir: string, version: number) {
    this.#dir = dir;
    this.#version = version;
  }

  get isWritten(): boolean {
    return this.#version > 0;
  }

  write(files: Omit<JournalFiles, "version">): Promise<void> {
    const written = this.#writing.then(() =>
      writeCopies(listPaths(this.#dir), { version: ++this.#version, ...files }),
    );
    // The caller gets the failure; it must not block the next call.
    this.#writing = written.catch(() => undefined);
    return written;
  }
}

function listPaths(dir: string): string[] {
  return ["segments", "segments.copy"].map((name) => join(dir, name));
}
