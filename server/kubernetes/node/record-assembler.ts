/** Joins the lines of one container to records: partial lines to whole ones, and the lines of a stack trace to one. */

import {
  joinedLineBytesMax,
  joinMs,
  openBytesMax,
  openDistanceMax,
  partialMs,
  traceGapMs,
  traceLengthMax,
  traceLinesMax,
} from "./limits.ts";
import type { LogFile, Offsets } from "./log-file.ts";
import type { ChunkLines, StreamIndex } from "./log-line.ts";
import { millisOf } from "./log-time.ts";
import { beginTrace, continueTrace, type TraceState } from "./stack-trace.ts";

/** One row to be: a line, or the lines of a stack trace. */
export interface TailedRecord {
  /** Files that the record has lines in. */
  places: readonly Place[];
  stream: StreamIndex;
  /** Digits of nanoseconds since the epoch; empty where the runtime gave no time. */
  time: string;
  message: string;
  lines: number;
  /** Bytes that the line had, where it was cut; else 0. */
  cutBytes: number;
}

/** The first byte in a file that a record needs. */
interface Place {
  file: LogFile;
  offset: number;
}

/** UTF-16 units of the unfinished records of all files. */
export interface OpenTotal {
  length: number;
}

interface OpenRecord {
  places: Place[];
  time: string;
  lines: string[];
  /** Time of the last line. */
  lastTime: string;
  length: number;
  state: TraceState | undefined;
  cutBytes: number;
}

interface OpenPartial {
  places: Place[];
  time: string;
  parts: Buffer[];
  bytes: number;
}

interface Slot {
  record: OpenRecord | undefined;
  partial: OpenPartial | undefined;
  /** When the slot last got a line, in milliseconds of a monotonic clock. */
  fedMs: number;
}

/** Characters of a line that the rules of stack traces read. */
const ruleLengthMax = 2_048;

export class RecordAssembler {
  readonly #emit: (record: TailedRecord) => void;
  readonly #slots: readonly Slot[] = [makeSlot(), makeSlot()];
  readonly #openTotal: OpenTotal;

  /** `emit` gets the records of a stream in their order. */
  constructor(emit: (record: TailedRecord) => void, openTotal: OpenTotal) {
    this.#emit = emit;
    this.#openTotal = openTotal;
  }

  /** Takes the current line of `lines`, which begins at `offset` of the file. */
  add(lines: ChunkLines, file: LogFile, offset: number, nowMs: number): void {
    const slot = this.#slots[lines.stream]!;
    slot.fedMs = nowMs;
    const { partial } = slot;
    if (!lines.isPartial && partial === undefined) {
      const cutBytes = file.cutBytes;
      this.#addLine(slot, lines.stream, [{ file, offset }], lines.time, lines.text(), cutBytes);
      return;
    }
    const bytes = lines.textBytes();
    this.#openTotal.length += bytes.length;
    if (partial === undefined) {
      slot.partial = { places: [{ file, offset }], time: lines.time, parts: [bytes], bytes: bytes.length };
    } else {
      addPlace(partial.places, file, offset);
      partial.parts.push(bytes);
      partial.bytes += bytes.length;
    }
    if (!lines.isPartial || slot.partial!.bytes >= joinedLineBytesMax) this.#endPartial(slot, lines.stream);
  }

  /**
   * Is called when a chunk has been added: lets go of its memory, and ends records that have become too old or take too
   * much.
   */
  endChunk(file: LogFile): void {
    for (const stream of [0, 1] as const) {
      const slot = this.#slots[stream]!;
      const from = heldFrom(slot, file);
      if (from !== undefined && file.offset - from > openDistanceMax) this.#flush(slot, stream);
      else if (slot.record !== undefined) detach(slot.record);
    }
    if (this.#openTotal.length > openBytesMax) this.flush();
  }

  /** Where each stream of the file goes on: the first byte that no record so far has taken. */
  offsetsOf(file: LogFile): Offsets {
    return [heldFrom(this.#slots[0]!, file) ?? file.offset, heldFrom(this.#slots[1]!, file) ?? file.offset];
  }

  /** Ends records that have waited long enough for a further line. */
  flushDue(nowMs: number): void {
    for (const stream of [0, 1] as const) {
      const slot = this.#slots[stream]!;
      if (slot.record === undefined && slot.partial === undefined) continue;
      const waitMs = slot.partial === undefined ? joinMs : partialMs;
      if (nowMs - slot.fedMs >= waitMs) this.#flush(slot, stream);
    }
  }

  /** Ends all records. */
  flush(): void {
    this.#flush(this.#slots[0]!, 0);
    this.#flush(this.#slots[1]!, 1);
  }

  #flush(slot: Slot, stream: StreamIndex): void {
    if (slot.partial !== undefined) this.#endPartial(slot, stream);
    if (slot.record !== undefined) this.#end(slot, stream);
  }

  #endPartial(slot: Slot, stream: StreamIndex): void {
    const { places, time, parts, bytes } = slot.partial!;
    slot.partial = undefined;
    this.#openTotal.length -= bytes;
    this.#addLine(slot, stream, places, time, Buffer.concat(parts).toString(), 0);
  }

  #addLine(
    slot: Slot,
    stream: StreamIndex,
    places: Place[],
    time: string,
    text: string,
    cutBytes: number,
  ): void {
    const open = slot.record;
    if (open !== undefined) {
      if (continues(open, time, text)) {
        for (const { file, offset } of places) addPlace(open.places, file, offset);
        open.lines.push(text);
        open.length += text.length + 1;
        open.lastTime = time;
        this.#openTotal.length += text.length + 1;
        return;
      }
      this.#end(slot, stream);
    }
    this.#openTotal.length += text.length;
    slot.record = {
      places,
      time,
      lines: [text],
      lastTime: time,
      length: text.length,
      state: undefined,
      cutBytes,
    };
  }

  #end(slot: Slot, stream: StreamIndex): void {
    const { places, time, lines, length, cutBytes } = slot.record!;
    slot.record = undefined;
    this.#openTotal.length -= length;
    // Blank lines may stand within a trace; those after it belong to nothing.
    let count = lines.length;
    while (count > 1 && lines[count - 1] === "") count--;
    const message = count === 1 ? lines[0]! : lines.slice(0, count).join("\n");
    this.#emit({ places, stream, time, message, lines: lines.length, cutBytes });
  }
}

function continues(open: OpenRecord, time: string, text: string): boolean {
  const first = open.lines[0]!;
  // JSON is one line.
  if (first.charCodeAt(0) === 0x7b || open.cutBytes > 0) return false;
  const probe = text.length > ruleLengthMax ? text.slice(0, ruleLengthMax) : text;
  const head = first.length > ruleLengthMax ? first.slice(0, ruleLengthMax) : first;
  open.state ??= beginTrace(head);
  const state = continueTrace(open.state, probe, head);
  if (state === undefined) return false;
  if (open.lines.length >= traceLinesMax || open.length + text.length >= traceLengthMax) return false;
  if (time !== open.lastTime && millisOf(time) - millisOf(open.lastTime) > traceGapMs) return false;
  open.state = state;
  return true;
}

function addPlace(places: Place[], file: LogFile, offset: number): void {
  if (places[places.length - 1]!.file !== file) places.push({ file, offset });
}

function heldFrom(slot: Slot, file: LogFile): number | undefined {
  const places = [...(slot.record?.places ?? []), ...(slot.partial?.places ?? [])];
  return places.find((place) => place.file === file)?.offset;
}

/** Copies the last line: a short text would keep its whole chunk in memory. The lines before it were copied earlier. */
function detach(record: OpenRecord): void {
  record.lines = record.lines.map((line) => Buffer.from(line).toString());
}

function makeSlot(): Slot {
  return { record: undefined, partial: undefined, fedMs: 0 };
}
