/** What a tail writes: server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

import type { FoundRow, RowList } from "../../engine/index.ts";
import { toSpan } from "../../query/index.ts";
import { tailSliceBytesMax, tailSliceRowsMax } from "./limits.ts";
import { logEntryText } from "./log-entry.ts";
import { spanText } from "./span-entry.ts";

export type TailSignal = "logs" | "traces";

/** Why a tail ends: the server stops, the reader may no longer read, its query cannot be run. */
export type EndReason = "stopping" | "access" | "failed";

/** Milliseconds after which a browser connects again. */
const retryMs = 1_000;

/** The first event. From its id a tail can be taken up again before any row has come. */
export function readyEvent(after: number, warnings: readonly string[]): Uint8Array {
  return Buffer.from(`retry: ${retryMs}\n${named("ready", { warnings }, after)}`);
}

/** Takes the place of so many rows, which the reader was too slow for; the last of them has the number `through`. */
export function missedEvent(rows: number, through: number): Uint8Array {
  return Buffer.from(named("missed", { rows }, through));
}

export function endEvent(reason: EndReason, message: string): Uint8Array {
  return Buffer.from(`event: end\ndata: ${JSON.stringify({ reason, message })}\n\n`);
}

/** A comment; and, where the reader has all up to a row, how far it is, so that a tail that finds little goes on from there. */
export function heartbeat(after: number | null): Uint8Array {
  return Buffer.from(after === null ? ":\n\n" : `:\n${named("position", {}, after)}`);
}

function named(event: string, data: object, id: number): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function rowEvent(row: FoundRow, signal: TailSignal): string {
  return `id: ${row.arrival}\ndata: ${signal === "logs" ? logEntryText(row) : spanText(toSpan(row))}\n\n`;
}

/** Rows that are written in one go. */
export interface Slice {
  rows: number;
  /** Bytes of the rows as they came from the store. */
  bytes: number;
  /** Arrival number of the last one. */
  through: number;
  /** Their events; written out when first asked for, once for all tails that they go to. */
  text(): Uint8Array;
}

export function slicesOf(list: RowList, signal: TailSignal): Slice[] {
  const slices: Slice[] = [];
  for (let from = 0; from < list.length; ) {
    let to = from;
    let bytes = 0;
    do bytes += list.bytesAt(to++);
    while (to < list.length && to - from < tailSliceRowsMax && bytes < tailSliceBytesMax);
    slices.push(sliceOf(list, { from, to, bytes }, signal));
    from = to;
  }
  return slices;
}

function sliceOf(
  list: RowList,
  { from, to, bytes }: { from: number; to: number; bytes: number },
  signal: TailSignal,
): Slice {
  let written: Uint8Array | undefined;
  const write = () => {
    let events = "";
    for (let i = from; i < to; i++) events += rowEvent(list.at(i), signal);
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
