/**
 * Lines of container logs. CRI: `<RFC 3339 time> stdout|stderr F|P <text>`, where P is the beginning of a longer line.
 * Docker: `{"log":"text\n","stream":"stdout","time":"…"}`, where a `log` without newline is such a beginning. Any other
 * line is a whole line of stdout without a time.
 */

import { isAscii } from "node:buffer";
import { LogTime } from "./log-time.ts";

/** Index of a stream of a container: 0 for stdout, 1 for stderr. */
export type StreamIndex = 0 | 1;
export const streamNames = ["stdout", "stderr"] as const;

const newline = 0x0a;
const brace = 0x7b;
const space = 0x20;
const partialTag = 0x50;
/** Longest RFC 3339 time with nanoseconds and a zone. */
const timeLengthMax = 35;

/** Walks over the lines of a chunk of bytes. The fields are those of the current line. */
export class ChunkLines {
  stream: StreamIndex = 0;
  /** True where the next line of the stream continues this one. */
  isPartial = false;
  /** Digits of nanoseconds since the epoch; empty where the line has no time. */
  time = "";
  /** Bytes of the chunk before this line. */
  start = 0;
  /** Bytes of the chunk up to the next line. */
  next = 0;
  readonly #times = new LogTime();
  #chunk: Buffer = Buffer.alloc(0);
  /** The chunk with one character for each byte. */
  #text = "";
  #isAscii = true;
  #textFrom = 0;
  #textTo = 0;
  /** The text of a line of Docker, which is not a range of the chunk. */
  #log: string | undefined;

  /** Begins with a chunk. */
  open(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#text = chunk.toString("latin1");
    this.#isAscii = isAscii(chunk);
    this.next = 0;
  }

  /** Moves on to the next line; false at the end. The last line may have no newline. */
  advance(): boolean {
    this.start = this.next;
    if (this.start >= this.#text.length) return false;
    const at = this.#text.indexOf("\n", this.start);
    const end = at < 0 ? this.#text.length : at;
    this.next = at < 0 ? end : end + 1;
    this.#log = undefined;
    if (this.#readCri(this.start, end)) return true;
    if (this.#chunk[this.start] === brace && this.#readDocker(this.start, end)) return true;
    this.stream = 0;
    this.isPartial = false;
    this.time = "";
    this.#textFrom = this.start;
    this.#textTo = end;
    return true;
  }

  /** The text of the line. Shares memory with the chunk. */
  text(): string {
    if (this.#log !== undefined) return this.#log;
    return this.#isAscii
      ? this.#text.slice(this.#textFrom, this.#textTo)
      : this.#chunk.toString("utf8", this.#textFrom, this.#textTo);
  }

  /** A copy of the bytes of the text: a character may begin in one partial line and end in the next. */
  textBytes(): Buffer {
    if (this.#log !== undefined) return Buffer.from(this.#log);
    return Buffer.from(this.#chunk.subarray(this.#textFrom, this.#textTo));
  }

  #readCri(from: number, end: number): boolean {
    const chunk = this.#chunk;
    let at = from + 20;
    const timeEnd = Math.min(end, from + timeLengthMax + 1);
    while (at < timeEnd && chunk[at] !== space) at++;
    if (at >= timeEnd) return false;
    const isStdout = this.#text.startsWith(" stdout ", at);
    if (!isStdout && !this.#text.startsWith(" stderr ", at)) return false;
    const tag = at + 8;
    if (tag >= end) return false;
    const time = this.#times.read(this.#text, from, at);
    if (time === undefined) return false;
    // Further tags may follow a colon.
    let tagEnd = tag + 1;
    while (tagEnd < end && chunk[tagEnd] !== space) tagEnd++;
    this.time = time;
    this.stream = isStdout ? 0 : 1;
    this.isPartial = chunk[tag] === partialTag;
    this.#textFrom = Math.min(end, tagEnd + 1);
    this.#textTo = end;
    return true;
  }

  #readDocker(from: number, end: number): boolean {
    const line = parseDocker(this.#chunk.toString("utf8", from, end));
    const time = line && this.#times.read(line.time, 0, line.time.length);
    if (line === undefined || time === undefined) return false;
    this.time = time;
    this.stream = line.stream === "stderr" ? 1 : 0;
    this.isPartial = line.log.charCodeAt(line.log.length - 1) !== newline;
    this.#log = this.isPartial ? line.log : line.log.slice(0, -1);
    return true;
  }
}

interface DockerLine {
  log: string;
  stream: string;
  time: string;
}

function parseDocker(text: string): DockerLine | undefined {
  try {
    const { log, stream, time } = JSON.parse(text) as Record<string, unknown>;
    const isLine = typeof log === "string" && typeof stream === "string" && typeof time === "string";
    return isLine ? { log, stream, time } : undefined;
  } catch {
    // Not JSON: a line of another form.
    return undefined;
  }
}
