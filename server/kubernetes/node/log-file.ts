/** One log file: what it is recognised by, where it is read from, and how far. */

import { createHash } from "node:crypto";
import { headBytesMax, headBytesMin } from "./limits.ts";
import { type LogSource, OpenFile } from "./log-source.ts";
import { type LogFileName, parseLogFileName } from "./pod-folder.ts";

/** Bytes of a file, for each stream: every line of the stream that begins before is done. */
export type Offsets = readonly [stdout: number, stderr: number];

/** First bytes of a file, so that it is recognised under another name, as a copy, or compressed. */
export interface FileHead {
  length: number;
  hash: string;
}

/** What is stored about a file. */
export interface FilePosition {
  id: string;
  /** Path below the folder of all pods. */
  path: string;
  dev: number;
  ino: number;
  /** How often a file with this device and inode was truncated before. */
  truncations: number;
  head: FileHead;
  at: Offsets;
}

export class LogFile {
  readonly id: string;
  readonly truncations: number;
  /** Folder of the container below the folder of all pods. */
  readonly folder: string;
  name: LogFileName;
  dev: number;
  ino: number;
  head: FileHead;
  /** The first bytes, as far as `head` goes; absent until the file was found after a start. */
  headBytes: Buffer | undefined;
  source: LogSource | undefined;
  /** Where the next line begins that is to be parsed. */
  offset: number;
  /** Lines of a stream that begin before it are passed over: they are done. */
  skip: Offsets;
  /** Where the last batch ended. */
  cut: Offsets;
  /** Up to where the server has acknowledged. */
  acknowledged: Offsets;
  /** Size of the file when it last ended in an unfinished line. */
  stuckSize = -1;
  /** Up to where a line that is too long was searched for its end. */
  scannedTo = 0;
  /** True where the end of the file ends its last line, since nobody writes it any more. */
  takesTail = false;
  /** Size of the line that is being added, where it was cut; else 0. */
  cutBytes = 0;
  /** Since when the file has no name, or has ended in an unfinished line while a newer file exists. */
  idleSinceMs: number | undefined;
  /** False where no file in the folder is this one. */
  isListed = false;
  /** False where the file could not be read, so that it is given up. */
  isReadable = true;
  /** Why the open file has to be opened again: it could not say how long it is, or its file server has forgotten it. */
  problem: unknown;

  constructor(position: FilePosition) {
    const slash = position.path.lastIndexOf("/");
    this.id = position.id;
    this.truncations = position.truncations;
    this.folder = position.path.slice(0, slash);
    this.name = parseLogFileName(position.path.slice(slash + 1)) ?? {
      name: position.path.slice(slash + 1),
      restart: 0,
      rotation: "",
      isGzip: false,
    };
    this.dev = position.dev;
    this.ino = position.ino;
    this.head = position.head;
    this.skip = position.at;
    this.cut = position.at;
    this.acknowledged = position.at;
    this.offset = Math.min(...position.at);
  }

  /** What is stored when the file has been sent up to `at`. */
  position(at: Offsets): FilePosition {
    return {
      id: this.id,
      path: `${this.folder}/${this.name.name}`,
      dev: this.dev,
      ino: this.ino,
      truncations: this.truncations,
      head: this.head,
      at,
    };
  }

  /** Sets where every stream goes on. */
  continueAt(at: Offsets): void {
    this.skip = at;
    this.cut = at;
    this.offset = Math.min(...at);
    this.stuckSize = -1;
  }

  /** Returns whether the file begins with these bytes. */
  beginsLike(bytes: Buffer): boolean {
    const { length, hash } = this.head;
    if (bytes.length < length) return false;
    const start = bytes.subarray(0, length);
    return this.headBytes === undefined ? hashHead(start) === hash : start.equals(this.headBytes);
  }

  /** Returns whether a file of another inode that begins with these bytes holds the same lines. */
  isCopiedTo(bytes: Buffer): boolean {
    return this.head.length >= headBytesMin && this.beginsLike(bytes);
  }

  /** Keeps the first bytes; `bytes` begin as the file does. */
  setHead(bytes: Buffer): void {
    const length = Math.min(bytes.length, headBytesMax);
    if (this.headBytes !== undefined && length <= this.head.length) return;
    this.headBytes = Buffer.from(bytes.subarray(0, length));
    this.head = { length, hash: hashHead(this.headBytes) };
  }

  /** True where all bytes that were parsed are acknowledged. */
  get isAcknowledged(): boolean {
    return this.acknowledged[0] >= this.offset && this.acknowledged[1] >= this.offset;
  }

  /** Bytes that were not parsed yet; 0 where the size is not known, such as that of a compressed file. */
  get unreadBytes(): number {
    return this.source instanceof OpenFile ? Math.max(0, this.measure() - this.offset) : 0;
  }

  /** Returns whether bytes can be read that were not there at the last look. */
  hasMore(): boolean {
    if (this.source === undefined || !this.isReadable) return false;
    const size = this.measure();
    return size > this.offset && size !== this.stuckSize;
  }

  /** The size of the source. Where it cannot be asked, `problem` says why, and nothing is there to be read. */
  measure(): number {
    try {
      return this.source!.size();
    } catch (error) {
      this.problem = error;
      return this.offset;
    }
  }

  close(): void {
    const { source } = this;
    this.source = undefined;
    this.problem = undefined;
    source?.close();
  }
}

/** An id that no other content has: an inode may be used again, but no two contents of it begin with the same time. */
export function makeFileId(
  node: string,
  folder: string,
  place: { dev: number; ino: number },
  truncations: number,
  head: Buffer,
): string {
  const { dev, ino } = place;
  const about = JSON.stringify([node, folder, dev, ino, truncations]);
  return createHash("sha256").update(about).update(head).digest("base64url").slice(0, 22);
}

function hashHead(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
}
