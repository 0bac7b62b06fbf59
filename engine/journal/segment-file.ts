/**
 * The file of the active segment. It has its full length from the start; what is not written yet is a hole. A failed
 * append leaves it as it was.
 */
import { constants, fstatSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { diskFullMessage, Failure } from "../failure.ts";
import { syncFolder } from "../files/folder.ts";

/** On Linux a write returns once its bytes are on disk: write and sync are one call, and so one turn of the event loop. */
const syncsByItself = process.platform === "linux";
const writesAreSynced = constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC | constants.O_DSYNC;

export class SegmentFile {
  readonly name: string;
  readonly #path: string;
  readonly #file: FileHandle;
  /** Length of the file. */
  readonly #fileBytes: number;
  /** End of the last record. */
  #endBytes = 0;
  #isOpen = true;

  private constructor(path: string, name: string, file: FileHandle, fileBytes: number) {
    this.#path = path;
    this.name = name;
    this.#file = file;
    this.#fileBytes = fileBytes;
  }

  /** Creates the file and makes its name durable. Where that fails, no file is left. */
  static async create(dir: string, name: string, fileBytes: number): Promise<SegmentFile> {
    const path = join(dir, name);
    const file = await open(path, writesAreSynced);
    const segment = new SegmentFile(path, name, file, fileBytes);
    try {
      await file.truncate(fileBytes);
      await file.sync();
      await syncFolder(dir);
    } catch (error) {
      await segment.discard();
      throw error;
    }
    return segment;
  }

  /** Length of its records. */
  get endBytes(): number {
    return this.#endBytes;
  }

  /** False also where the file was closed. */
  hasRoomFor(byteLength: number): boolean {
    return this.#isOpen && this.#endBytes + byteLength <= this.#fileBytes;
  }

  /**
   * Writes after the last record, on disk. `checkFolder` runs before the records count as written. Throws Failure
   * "disk-full", and "folder" where the file has no name any more: it is gone with its last descriptor.
   */
  async append(parts: Uint8Array[], byteLength: number, checkFolder: () => void): Promise<void> {
    const { bytesWritten } = await this.#file.writev(parts, this.#endBytes);
    if (bytesWritten !== byteLength) throw new Failure("disk-full", diskFullMessage);
    // Elsewhere the flag does not reach through the cache of the drive.
    if (!syncsByItself) await this.#file.datasync();
    checkFolder();
    if (!this.#isLinked()) throw new Failure("folder", `${this.#path} was removed while it was open`);
    this.#endBytes += byteLength;
  }

  /** Turns the remains of a failed append into zeros again. Where that fails too, the file is closed. */
  async rollBack(): Promise<void> {
    try {
      await this.#file.truncate(this.#endBytes);
      await this.#file.truncate(this.#fileBytes);
      await this.#file.datasync();
      if (this.#isLinked()) return;
    } catch {
      // What remains is no intact record, or one that was not acknowledged. The next start takes that one only where no batch
      // of its number follows in the next segment.
    }
    await this.close();
  }

  /** Closes the file and removes it. */
  async discard(): Promise<void> {
    await this.close();
    await rm(this.#path, { force: true });
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#file.close();
  }

  #isLinked(): boolean {
    return fstatSync(this.#file.fd).nlink > 0;
  }
}
