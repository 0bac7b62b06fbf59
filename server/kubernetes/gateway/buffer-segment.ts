/** One file of the disk buffer: entries one after the other. */

import { type FileHandle, open, unlink } from "node:fs/promises";
import { decodeEntry, entryBytes, headerBytes, type OutgoingBody, readHeader } from "./buffer-entry.ts";

export class BufferSegment {
  readonly path: string;
  readonly number: number;
  /** End of the last whole entry. */
  bytes = 0;
  /** Entries, and those of them that were taken. */
  entries = 0;
  taken = 0;
  /** Where the next entry to take begins. */
  readAt = 0;
  /** Whether bytes after the last whole entry were cut off when it was opened. */
  isCut = false;
  readonly #file: FileHandle;

  private constructor(path: string, number: number, file: FileHandle) {
    this.path = path;
    this.number = number;
    this.#file = file;
  }

  static async create(path: string, number: number): Promise<BufferSegment> {
    return new BufferSegment(path, number, await open(path, "wx+"));
  }

  /**
   * Opens a segment of an earlier process. Entries before `readAt` were taken. Entries end at the first damage: what
   * follows was not acknowledged, or its beginnings cannot be found. The content of the last entry is checked, since only
   * it may have been cut short by the end of the process.
   */
  static async reopen(path: string, number: number, readAt: number): Promise<BufferSegment> {
    const segment = new BufferSegment(path, number, await open(path, "r+"));
    await segment.#scan(readAt);
    return segment;
  }

  /** Appends entries and waits for the disk. Where that fails, none of them counts. */
  async append(entries: readonly Buffer[]): Promise<void> {
    const bytes = entries.reduce((sum, { length }) => sum + length, 0);
    try {
      let at = this.bytes;
      for (const entry of entries) {
        let written = 0;
        while (written < entry.length) {
          const result = await this.#file.write(entry, written, entry.length - written, at + written);
          written += result.bytesWritten;
        }
        at += entry.length;
      }
      await this.#file.datasync();
    } catch (error) {
      // Later entries overwrite what was written of these.
      await this.#file.truncate(this.bytes).catch(() => undefined);
      throw error;
    }
    this.bytes += bytes;
    this.entries += entries.length;
  }

  /** The next entry and its length; undefined in place of a body that is damaged, null at the end. */
  async read(): Promise<{ body: OutgoingBody | undefined; bytes: number } | null> {
    if (this.readAt >= this.bytes) return null;
    const header = readHeader(await this.#readBytes(this.readAt, headerBytes));
    if (header === undefined) return { body: undefined, bytes: this.bytes - this.readAt };
    const bytes = entryBytes(header);
    const content = await this.#readBytes(this.readAt + headerBytes, bytes - headerBytes);
    return { body: decodeEntry(header, content), bytes };
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  /**
   * Closes and removes the file. Throws where the disk does not remove it; then it has no bytes any more, if the disk takes
   * that, and this may be called again.
   */
  async remove(): Promise<void> {
    try {
      await unlink(this.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      await this.#file.truncate(0).catch(() => undefined);
      throw error;
    } finally {
      await this.close();
    }
  }

  async #scan(readAt: number): Promise<void> {
    const { size } = await this.#file.stat();
    let last = 0;
    while (this.bytes < size) {
      const header = readHeader(await this.#readBytes(this.bytes, headerBytes));
      if (header === undefined || this.bytes + entryBytes(header) > size) break;
      last = this.bytes;
      this.bytes += entryBytes(header);
      this.entries++;
      if (this.bytes <= readAt) {
        this.taken++;
        this.readAt = this.bytes;
      }
    }
    if (this.entries > 0 && !(await this.#isWhole(last))) {
      this.entries--;
      this.bytes = last;
      if (this.readAt > last) {
        this.readAt = last;
        this.taken--;
      }
    }
    this.isCut = this.bytes < size;
    if (this.isCut) await this.#file.truncate(this.bytes);
  }

  async #isWhole(at: number): Promise<boolean> {
    const header = readHeader(await this.#readBytes(at, headerBytes))!;
    const content = await this.#readBytes(at + headerBytes, entryBytes(header) - headerBytes);
    return decodeEntry(header, content) !== undefined;
  }

  async #readBytes(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await this.#file.read(bytes, read, length - read, at + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  }
}
