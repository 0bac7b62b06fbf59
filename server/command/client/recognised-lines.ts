/** Turns the lines of plain text files and of CRI into JSON lines of svc's own form. JSON lines pass unchanged. */

import { RowProblem } from "../../ingest/json/json-row.ts";
import { isLoggerRow, type LogFieldNames } from "../../ingest/loggers/field-names.ts";
import { describeLoggerRow, readLoggerFields } from "../../ingest/loggers/logger-row.ts";
import { readTextLine, type TextLine } from "../../ingest/loggers/text-line.ts";
import type { Chunks } from "./input.ts";

/** A message that goes on over more lines than this becomes several rows. */
const continuationLinesMax = 500;
/** Longest message that is joined, in characters. */
const messageLengthMax = 256 * 1024;
/** A line of text that is longer becomes several rows: the server stores no message above 2 MiB. In characters. */
const lineLengthMax = 512 * 1024;
const continuation = /^(?:\s|Caused by:|at |\.\.\. \d+ more|Traceback )/;

interface Recognition {
  /** True for a pipe, whose last message is not held back until the next one. */
  isLive: boolean;
  names: LogFieldNames | undefined;
  /** Called once with the form of the first line, except for svc's own form. */
  onForm: (form: string) => void;
}

interface TextRow extends TextLine {
  lines: number;
}

/**
 * Decides by the first line that is not blank: an object or an array is JSON, which passes as it is. Throws an Error for
 * bytes that are no text.
 */
export async function* recogniseLines(chunks: Chunks, { isLive, names, onForm }: Recognition): Chunks {
  let isText: boolean | undefined;
  let rest = "";
  let joiner: LineJoiner | undefined;
  const decoder = new TextDecoder("utf-8");
  for await (const chunk of chunks) {
    if (isText !== true) isText = isPlainText(chunk);
    if (isText === false) {
      describeFirstRow(chunk, names, onForm);
      yield chunk;
      yield* chunks;
      return;
    }
    if (isText === undefined) {
      yield chunk;
      continue;
    }
    joiner ??= new LineJoiner(onForm);
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = pieces.pop()!;
    for (const piece of pieces) joiner.add(piece);
    if (rest.length > lineLengthMax) {
      joiner.add(rest);
      rest = "";
    }
    // Whoever watches a pipe gets its last message without waiting for the next one.
    if (isLive && rest === "") joiner.flush();
    yield joiner.take();
  }
  if (joiner === undefined) return;
  joiner.add(rest + decoder.decode());
  joiner.flush();
  yield joiner.take();
}

/** A first row that is longer than the chunk, not JSON or without a good time is described by the refusals. */
function describeFirstRow(
  chunk: Uint8Array,
  names: LogFieldNames | undefined,
  onForm: (form: string) => void,
): void {
  const [first = ""] = new TextDecoder()
    .decode(chunk)
    .trimStart()
    .replace(/^\[\s*/, "")
    .split("\n", 1);
  const line = first.replace(/[,\]\s]+$/, "");
  try {
    const json = JSON.parse(line) as Record<string, unknown>;
    if (names !== undefined || isLoggerRow(json)) onForm(describeLoggerRow(json, names ?? {}));
  } catch (problem) {
    if (!(problem instanceof SyntaxError || problem instanceof RowProblem)) throw problem;
  }
}

/** True for text, false for JSON, undefined for white space alone. Throws an Error for binary data. */
function isPlainText(chunk: Uint8Array): boolean | undefined {
  const head = chunk.subarray(0, 4096);
  if (head.includes(0)) throw new Error("binary data, neither JSON lines nor text");
  const first = head.find((byte) => byte > 0x20 && ![0xef, 0xbb, 0xbf].includes(byte));
  if (first === undefined) return undefined;
  if (first === 0x7b) return false;
  // A line that begins with [ is an array of rows only where a row or the end follows.
  return first !== 0x5b || !/^\s*\[\s*[\]{]/.test(new TextDecoder().decode(head).replace(/^\uFEFF/, ""));
}

/** Rows of a logger may stand among lines of text, such as those that a program prints at its start. */
function isJsonObject(line: string): boolean {
  if (!line.startsWith("{") || !line.trimEnd().endsWith("}")) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    // It is a line of text that has braces.
    return false;
  }
}

/**
 * The row of a logger that is the message of a CRI line, with the stream and, where it has none, the time of the line.
 * Undefined where the message is none, or its time cannot be read.
 */
function rowOfLogger({ message, attributes: { stream }, timeNs }: TextLine): string | undefined {
  if (!isJsonObject(message)) return undefined;
  const json = JSON.parse(message) as Record<string, unknown>;
  const head: Record<string, string> = "stream" in json ? {} : { stream: stream! };
  try {
    if (!isLoggerRow(json)) return undefined;
    const own = readLoggerFields(json, {}, () => undefined);
    if (own.timeNs === undefined && timeNs !== undefined) {
      if ("time" in json) return undefined;
      head.time = formatNanos(timeNs);
    }
  } catch (problem) {
    if (problem instanceof RowProblem) return undefined;
    throw problem;
  }
  // Numbers stay as they are written.
  const inner = message.trim().slice(1);
  const members = JSON.stringify(head).slice(0, -1);
  return Object.keys(head).length === 0 ? message.trim() : `${members},${inner}`;
}

/** A time in RFC 3339, with its nanoseconds. */
function formatNanos(timeNs: bigint): string {
  const seconds = new Date(Number(timeNs / 1_000_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(timeNs % 1_000_000_000n).padStart(9, "0")}Z`;
}

/** Joins the lines of one message, such as those of a stack trace or of CRI's partial entries, and writes it as a row. */
class LineJoiner {
  readonly #onText: (description: string) => void;
  #pending: TextRow | undefined;
  #written = "";
  #isDescribed = false;

  constructor(onText: (description: string) => void) {
    this.#onText = onText;
  }

  add(text: string): void {
    const line = text.replace(/\r$/, "");
    if (line.trim() === "") return;
    if (isJsonObject(line)) {
      this.flush();
      this.#written += `${line}\n`;
      return;
    }
    const row = this.#pending;
    const fits = row !== undefined && row.message.length + line.length < messageLengthMax;
    const read = readTextLine(line);
    if (!this.#isDescribed) this.#onText(read.form);
    this.#isDescribed = true;
    if (row?.isPartial && fits && read.form === "CRI") {
      row.message += read.message;
      row.isPartial = read.isPartial;
      return;
    }
    if (read.timeNs === undefined && fits && row.lines < continuationLinesMax && continuation.test(line)) {
      row.message += `\n${line}`;
      row.lines++;
      return;
    }
    this.flush();
    this.#pending = { ...read, lines: 1 };
  }

  flush(): void {
    const row = this.#pending;
    if (row === undefined) return;
    const { timeNs, level: log_level, message, attributes } = row;
    const time = timeNs === undefined ? {} : { timeUnixNano: String(timeNs) };
    const own = row.form === "CRI" ? rowOfLogger(row) : undefined;
    this.#written += `${own ?? JSON.stringify({ ...time, log_level, message, attributes })}\n`;
    this.#pending = undefined;
  }

  take(): Uint8Array {
    const bytes = Buffer.from(this.#written);
    this.#written = "";
    return bytes;
  }
}
