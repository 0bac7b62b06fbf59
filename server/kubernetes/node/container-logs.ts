/** The logs of one container: its files in their order, and the records that are being joined from their lines. */

import { join } from "node:path";
import { type ChunkReader, FileReplaced, type LineChunk } from "./chunk-reader.ts";
import { describe, matchFolder, type TailContext } from "./container-folder.ts";
import { openGzipFilesMax, settlePolls, unlinkedMs } from "./limits.ts";
import type { LogFile, Offsets } from "./log-file.ts";
import { ChunkLines } from "./log-line.ts";
import { GzipFile } from "./log-source.ts";
import { compareLogFiles } from "./pod-folder.ts";
import { type OpenTotal, RecordAssembler, type TailedRecord } from "./record-assembler.ts";

export class ContainerLogs {
  /** Folder below the folder of all pods. */
  readonly folder: string;
  /** In the order in which they were written. */
  readonly files: LogFile[];
  readonly assembler: RecordAssembler;
  readonly #context: TailContext;
  readonly #lines = new ChunkLines();
  #lastRead: LogFile | undefined;
  #folderTime = -1;
  /** Looks until which the folder is read again. */
  #unsettled = 0;
  #mustMatch = true;

  /** `files` are those of which positions are stored. */
  constructor(
    context: TailContext,
    folder: string,
    files: readonly LogFile[],
    emit: (record: TailedRecord) => void,
    openTotal: OpenTotal,
  ) {
    this.#context = context;
    this.folder = folder;
    this.files = [...files];
    this.assembler = new RecordAssembler(emit, openTotal);
  }

  /** Looks for new, moved and truncated files. Returns ids of files that are gone and done. */
  async poll(nowMs: number, mayOpen: boolean): Promise<string[]> {
    this.#closeBroken();
    this.#watchFolder();
    this.#watchFiles();
    if (this.#mustMatch || this.#unsettled > 0) {
      this.#unsettled--;
      const isComplete = await matchFolder(this.#context, this.folder, this.files, mayOpen);
      this.#mustMatch = !isComplete;
    }
    // A further line may have come while others were read.
    if (!this.files.some((file) => file.hasMore())) this.assembler.flushDue(nowMs);
    return this.#release(nowMs);
  }

  /** Reads one chunk of lines from the oldest file that has any. Returns that file. */
  async readTurn(reader: ChunkReader, nowMs: number): Promise<LogFile | undefined> {
    const file = this.files.find((each) => each.hasMore());
    if (file === undefined || !this.#mayRead(file)) return undefined;
    const last = this.#lastRead;
    const follows =
      last === undefined ||
      last === file ||
      (last.name.restart === file.name.restart && compareLogFiles(last.name, file.name) < 0);
    if (!follows) this.assembler.flush();
    this.#lastRead = file;
    return (await this.#readLines(file, reader, nowMs)) ? file : undefined;
  }

  /** Reads again what stands between these offsets, and ends all records there. */
  async readRange(
    file: LogFile,
    from: Offsets,
    to: Offsets,
    reader: ChunkReader,
    nowMs: number,
  ): Promise<void> {
    const end = Math.max(...to);
    file.skip = from;
    file.offset = Math.min(...from);
    if (file.source === undefined) {
      this.#context.counts.lostBytes += end - file.offset;
      return;
    }
    try {
      while (file.offset < end) {
        const chunk = await reader.read(file, end - file.offset, true);
        if (chunk === undefined) break;
        this.#addLines(file, chunk, nowMs, to);
      }
    } catch (error) {
      if (!(error instanceof FileReplaced)) this.#giveUp(file, error);
      this.#mustMatch = true;
    }
  }

  #mayRead({ source }: LogFile): boolean {
    const isWaiting = source instanceof GzipFile && !source.isOpen;
    return !isWaiting || this.#context.counts.openGzipFiles < openGzipFilesMax;
  }

  async #readLines(file: LogFile, reader: ChunkReader, nowMs: number): Promise<boolean> {
    try {
      const chunk = await reader.read(file, Number.MAX_SAFE_INTEGER, file.takesTail);
      if (chunk !== undefined) this.#addLines(file, chunk, nowMs, undefined);
      if (file.source instanceof GzipFile && !file.hasMore()) file.close();
      return chunk !== undefined;
    } catch (error) {
      if (error instanceof FileReplaced) file.stuckSize = file.measure();
      else if ((error as NodeJS.ErrnoException).code === "ESTALE") file.problem = error;
      else this.#giveUp(file, error);
      this.#mustMatch = true;
      return false;
    }
  }

  #addLines(file: LogFile, { bytes, consumed, cutBytes }: LineChunk, nowMs: number, until?: Offsets): void {
    const { counts } = this.#context;
    const lines = this.#lines;
    const start = file.offset;
    file.cutBytes = cutBytes;
    lines.open(bytes);
    while (lines.advance()) {
      const offset = start + lines.start;
      if (offset < file.skip[lines.stream] || (until !== undefined && offset >= until[lines.stream]))
        continue;
      counts.lines++;
      this.assembler.add(lines, file, offset, nowMs);
    }
    counts.bytes += consumed;
    file.cutBytes = 0;
    file.offset = start + consumed;
    file.idleSinceMs = undefined;
    this.assembler.endChunk(file);
  }

  #giveUp(file: LogFile, error: unknown): void {
    this.#context.warn(`${this.folder}/${file.name.name} is not read any further: ${describe(error)}`);
    this.#context.counts.lostBytes += file.source instanceof GzipFile ? 0 : file.unreadBytes;
    file.isReadable = false;
    file.close();
  }

  /** Closes files that failed while they were open, as a file server does that was restarted: they are opened again. */
  #closeBroken(): void {
    for (const file of this.files) {
      if (file.problem === undefined) continue;
      this.#context.warn(`${this.folder}/${file.name.name} is opened again: ${describe(file.problem)}`);
      this.#mustMatch = true;
      file.close();
    }
  }

  /** Notices by the folder's time that files were added, renamed or removed. */
  #watchFolder(): void {
    const stats = this.#context.paths.look(join(this.#context.root, this.folder));
    const time = stats?.mtimeMs ?? 0;
    if (time === this.#folderTime) return;
    this.#folderTime = time;
    this.#unsettled = settlePolls;
  }

  /** Notices that a file became shorter, or that its name stands for another one, perhaps an empty one that has grown. */
  #watchFiles(): void {
    for (const file of this.files) {
      if (file.name.rotation !== "" || !file.isListed) continue;
      const path = join(this.#context.root, this.folder, file.name.name);
      const stats = this.#context.paths.look(path);
      const isSame = stats?.ino === file.ino && stats.dev === file.dev && stats.size >= file.offset;
      if (!isSame) this.#mustMatch = true;
    }
  }

  /** Closes files that are done, and forgets those of them that are gone. */
  #release(nowMs: number): string[] {
    const forgotten: string[] = [];
    for (const file of [...this.files]) {
      if (file.hasMore()) continue;
      file.idleSinceMs ??= nowMs;
      if (nowMs - file.idleSinceMs < unlinkedMs || !this.#isEnded(file)) continue;
      if (file.unreadBytes > 0 && file.isReadable) this.#takeTail(file);
      if (!file.isAcknowledged) continue;
      file.close();
      if (file.isListed) continue;
      this.files.splice(this.files.indexOf(file), 1);
      forgotten.push(file.id);
    }
    return forgotten;
  }

  /** Whether nobody writes the file any more. */
  #isEnded(file: LogFile): boolean {
    return !file.isListed || this.files.some((each) => compareLogFiles(file.name, each.name) < 0);
  }

  /** The next turn reads the unfinished last line as a line. */
  #takeTail(file: LogFile): void {
    file.takesTail = true;
    file.stuckSize = -1;
  }
}
