/** Reads whole lines from a log file into memory that all files share: one file is read at a time. */

import { chunkBytes, headBytesMax, lineBytesMax } from "./limits.ts";
import type { LogFile } from "./log-file.ts";
import { GzipFile, OpenFile } from "./log-source.ts";

/** Lines of a file, from its `offset` on. Valid until the next read. */
export interface LineChunk {
  bytes: Buffer;
  /** Bytes of the file up to the next line. */
  consumed: number;
  /** Size of the only line, where it was cut; else 0. */
  cutBytes: number;
}

/** The file is not what it was: it was truncated, and perhaps written again. */
export class FileReplaced extends Error {}

const newline = 0x0a;
/** Bytes in which the end of a line that is too long is searched at one turn. */
const searchBytesMax = 64 * chunkBytes;

export class ChunkReader {
  readonly #small = Buffer.allocUnsafeSlow(chunkBytes);
  #large: Buffer | undefined;

  /**
   * Returns the next whole lines, at most `bytesMax` bytes of them; undefined where there is none yet. With `takesTail`
   * the end of the file is the end of a line. Throws FileReplaced.
   */
  async read(file: LogFile, bytesMax: number, takesTail: boolean): Promise<LineChunk | undefined> {
    const source = file.source!;
    const small = bytesMax < chunkBytes ? this.#small.subarray(0, bytesMax) : this.#small;
    const chunk = await this.#readInto(small, file, takesTail);
    if (chunk !== "longer" || small.length === bytesMax) return chunk === "longer" ? whole(small) : chunk;
    this.#large ??= Buffer.allocUnsafeSlow(lineBytesMax);
    const large = bytesMax < lineBytesMax ? this.#large.subarray(0, bytesMax) : this.#large;
    const longer = await this.#readInto(large, file, takesTail);
    if (longer !== "longer") return longer;
    if (large.length === bytesMax) return whole(large);
    const end = await this.#findLineEnd(file, file.offset + large.length, takesTail);
    if (end === undefined) return undefined;
    checkHead(file, source);
    return { bytes: large, consumed: end - file.offset, cutBytes: end - file.offset };
  }

  async #readInto(
    buffer: Buffer,
    file: LogFile,
    takesTail: boolean,
  ): Promise<LineChunk | undefined | "longer"> {
    const source = file.source!;
    const length = await source.read(buffer, file.offset);
    checkHead(file, source);
    const end = length === 0 ? 0 : buffer.lastIndexOf(newline, length - 1) + 1;
    const isEnd = length < buffer.length;
    const used = isEnd && (takesTail || source instanceof GzipFile) ? length : end;
    if (used > 0) return { bytes: buffer.subarray(0, used), consumed: used, cutBytes: 0 };
    if (!isEnd) return "longer";
    file.stuckSize = file.offset + length;
    return undefined;
  }

  async #findLineEnd(file: LogFile, from: number, takesTail: boolean): Promise<number | undefined> {
    let at = Math.max(from, file.scannedTo);
    const until = at + searchBytesMax;
    while (at < until) {
      const length = await file.source!.read(this.#small, at);
      const found = length === 0 ? -1 : this.#small.subarray(0, length).indexOf(newline);
      if (found >= 0) return at + found + 1;
      at += length;
      file.scannedTo = at;
      if (length < this.#small.length) {
        if (takesTail || file.source instanceof GzipFile) return at;
        file.stuckSize = at;
        return undefined;
      }
    }
    return undefined;
  }
}

function whole(bytes: Buffer): LineChunk {
  return { bytes, consumed: bytes.length, cutBytes: 0 };
}

/**
 * Throws FileReplaced where the file does not begin as it did. Comes after a read: then what was read is of the content
 * that is known.
 */
function checkHead(file: LogFile, source: LogFile["source"]): void {
  if (!(source instanceof OpenFile)) return;
  const head = source.head(headBytesMax);
  if (!file.beginsLike(head)) throw new FileReplaced();
  file.setHead(head);
}
