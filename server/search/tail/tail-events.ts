/** The server-sent events of a tail (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

import type { FoundRow, RowList } from "../../../engine/index.ts";
import { toSpan } from "../../../query/index.ts";
import { tailSliceBytesMax, tailSliceRowsMax } from "../limits.ts";
import { formatLogEntry } from "../log-entry.ts";
import { formatSpan } from "../span-entry.ts";

export type TailSignal = "logs" | "traces";

/** Why a tail ends: the server stops, the caller may no longer read, or the query cannot be run. */
export type EndReason = "stopping" | "access" | "failed";

/** Milliseconds after which a browser reconnects. */
const retryMs = 1_000;

/** The first event. A reader can resume from its id before any row has come. */
export function readyEvent(after: number, warnings: readonly string[]): Uint8Array {
  return Buffer.from(`retry: ${retryMs}\n${formatEvent("ready", { warnings }, after)}`);
}

/** Stands for `rows` rows that the reader was too slow for; `through` is the arrival number of the last one. */
export function missedEvent(rows: number, through: number): Uint8Array {
  return Buffer.from(formatEvent("missed", { rows }, through));
}

export function endEvent(reason: EndReason, message: string): Uint8Array {
  return Buffer.from(`event: end\ndata: ${JSON.stringify({ reason, message })}\n\n`);
}

/**
 * A comment that keeps the connection alive. Where the reader has every matching row up to the arrival number `after`,
 * a `position` event with this id follows, so that a tail that finds little resumes from there.
 */
export function heartbeatEvent(after: number | null): Uint8Array {
  return Buffer.from(after === null ? ":\n\n" : `:\n${formatEvent("position", {}, after)}`);
}

function formatEvent(event: string, data: object, id: number): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function formatRow(row: FoundRow, signal: TailSignal): string {
  return `id: ${row.arrival}\ndata: ${signal === "logs" ? formatLogEntry(row) : formatSpan(toSpan(row))}\n\n`;
}

/** Rows that are written to a connection at once. */
export interface Slice {
  /** Number of rows. */
  rows: number;
  /** Bytes of the rows as they came from the store. */
  bytes: number;
  /** Arrival number of the last row. */
  through: number;
  /** The events of the rows, formatted at the first call and shared by all tails that send this slice. */
  text(): Uint8Array;
}

/** Cuts rows into slices of at most `tailSliceRowsMax` rows and about `tailSliceBytesMax` bytes. */
export function slicesOf(list: RowList, signal: TailSignal): Slice[] {
  const slices: Slice[] = [];
  for (let from = 0; from < list.length; ) {
    let to = from;
    let bytes = 0;
    do bytes += list.bytesAt(to++);
    while (to < list.length && to - from < tailSliceRowsMax && bytes < tailSliceBytesMax);
    slices.push(makeSlice(list, { from, to, bytes }, signal));
    from = to;
  }
  return slices;
}

function makeSlice(
  list: RowList,
  { from, to, bytes }: { from: number; to: number; bytes: number },
  signal: TailSignal,
): Slice {
  let written: Uint8Array | undefined;
  const write = () => {
    let events = "";
    for (let i = from; i < to; i++) events += formatRow(list.at(i), signal);
    return Buffer.from(events);
  };
  return {
    rows: to - from,
    bytes,
    through: list.arrivalAt(to - 1),
    text: () => {
      written ??= write();
      return written;
    },
  };
}
