/**
 * How far every file was sent, on disk. The file `positions` begins with a line that holds the state. Each further line
 * is one change: a batch that is about to be sent, or that it was acknowledged. Every line begins with its CRC-32, and
 * the first one that does not match ends the file: a kill leaves at most one such line, the last.
 *
 * A batch is written down before it is sent. After a kill the same bytes are sent under the same key, so that the
 * server recognises what it had already.
 */

import { type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { journalBytesMax } from "./limits.ts";
import type { BatchPlan } from "./log-batch.ts";
import type { FilePosition } from "./log-file.ts";

type Change =
  | { state: { files: FilePosition[]; sending: BatchPlan | null } }
  | { sending: BatchPlan }
  | { acknowledged: string }
  | { forgotten: string[] };

export class Positions {
  readonly #path: string;
  readonly #files = new Map<string, FilePosition>();
  #sending: BatchPlan | undefined;
  #journal: FileHandle | undefined;
  #journalBytes = 0;
  /** Bytes of the journal when it was last written anew. */
  #stateBytes = 0;

  private constructor(path: string) {
    this.#path = path;
  }

  /** Opens the folder's positions, none where it is new. `warn` is told where a part was damaged. */
  static async open(folder: string, warn: (message: string) => void): Promise<Positions> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const positions = new Positions(join(folder, "positions"));
    const text = await readFile(positions.#path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const damagedAt = positions.#replay(text);
    if (damagedAt !== undefined && damagedAt < text.lastIndexOf("\n")) {
      warn(`${positions.#path} is damaged from byte ${damagedAt} on: some logs may be sent twice`);
    }
    await positions.#rewrite();
    return positions;
  }

  get files(): Iterable<FilePosition> {
    return this.#files.values();
  }

  /** The batch that was to be sent when the agent ended, and was not acknowledged. */
  get sending(): BatchPlan | undefined {
    return this.#sending;
  }

  /** Writes down what is about to be sent. It is on disk when this returns. */
  async begin(plan: BatchPlan): Promise<void> {
    const change = { sending: plan };
    await this.#append(change);
    await this.#journal!.datasync();
    this.#apply(change);
  }

  /**
   * Writes down that the batch was acknowledged. A power failure may undo it: then the batch is sent again, and the
   * server drops it by its key. Does nothing where no batch is on its way.
   */
  async acknowledge(): Promise<void> {
    if (this.#sending === undefined) return;
    const change = { acknowledged: this.#sending.key };
    await this.#append(change);
    this.#apply(change);
    const isLong = this.#journalBytes > this.#stateBytes + journalBytesMax;
    // The batch is done all the same. The next change writes the journal anew first, and tells why it cannot.
    if (isLong) await this.#rewrite().catch(() => undefined);
  }

  async forget(ids: string[]): Promise<void> {
    const change = { forgotten: ids };
    await this.#append(change);
    this.#apply(change);
  }

  async close(): Promise<void> {
    await this.#journal?.close();
    this.#journal = undefined;
  }

  async #append(change: Change): Promise<void> {
    // After a write that failed half way, nothing may stand after the damaged line.
    if (this.#journal === undefined) await this.#rewrite();
    const journal = this.#journal!;
    const line = toLine(change);
    try {
      await journal.appendFile(line);
    } catch (error) {
      this.#journal = undefined;
      await journal.close();
      throw error;
    }
    this.#journalBytes += line.length;
  }

  /** Writes the state to a new file, which then takes the old one's name. */
  async #rewrite(): Promise<void> {
    await this.close();
    const path = `${this.#path}.new`;
    const journal = await open(path, "w", 0o600);
    try {
      const state = { files: [...this.#files.values()], sending: this.#sending ?? null };
      const line = toLine({ state });
      await journal.appendFile(line);
      await journal.datasync();
      await rename(path, this.#path);
      await syncFolder(dirname(this.#path));
      this.#journalBytes = line.length;
      this.#stateBytes = line.length;
      this.#journal = journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  /** Returns where the first damaged line begins. */
  #replay(text: string): number | undefined {
    let from = 0;
    while (from < text.length) {
      const end = text.indexOf("\n", from);
      const change = end < 0 ? undefined : readLine(text.slice(from, end));
      if (change === undefined) return from;
      this.#apply(change);
      from = end + 1;
    }
    return undefined;
  }

  #apply(change: Change): void {
    if ("state" in change) {
      for (const file of change.state.files) this.#files.set(file.id, file);
      this.#sending = change.state.sending ?? undefined;
    } else if ("sending" in change) {
      this.#sending = change.sending;
    } else if ("forgotten" in change) {
      for (const id of change.forgotten) this.#files.delete(id);
    } else {
      for (const { position } of this.#sending?.ranges ?? []) this.#files.set(position.id, position);
      this.#sending = undefined;
    }
  }
}

function toLine(change: Change): string {
  const json = JSON.stringify(change);
  return `${crc32(json).toString(16).padStart(8, "0")} ${json}\n`;
}

function readLine(line: string): Change | undefined {
  const json = line.slice(9);
  return line.slice(0, 8) === crc32(json).toString(16).padStart(8, "0") ? JSON.parse(json) : undefined;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
