/** Which segments and key files the journal has: one that is named here and is not there was lost. */
import { join } from "node:path";
import { type CopiedFileRead, readCopies, writeCopies } from "../files/copied-file.ts";

export interface JournalFiles {
  version: number;
  /** File names. */
  segments: string[];
  keys: string[];
}

export function readSegmentList(dir: string): Promise<CopiedFileRead<JournalFiles>> {
  return readCopies<JournalFiles>(pathsIn(dir));
}

/** Writes the list; calls that overlap follow one another. */
export class SegmentList {
  readonly #dir: string;
  /** 0 until there is a list. */
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
      writeCopies(pathsIn(this.#dir), { version: ++this.#version, ...files }),
    );
    // Whoever asked hears of the failure; the next call must still come.
    this.#writing = written.catch(() => undefined);
    return written;
  }
}

function pathsIn(dir: string): string[] {
  return ["segments", "segments.copy"].map((name) => join(dir, name));
}
