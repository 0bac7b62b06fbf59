/** The day of the Train Ticket benchmark, repeated until there are enough rows. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { GeneratedRow } from "../../fixtures/row.ts";

/** The fields of a span that this file and the questions need; the others pass through. */
export interface TrainTicketSpan {
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string>;
}

/** The fields of a sample that the questions need; the others pass through. */
export interface TrainTicketSample {
  timestamp: number;
  name: string;
  type?: string;
  labels: Record<string, string>;
}

/** The shift from one copy to the next: the recording is somewhat longer than seven hours. */
const copyMs = 8 * 3_600_000;
const dayMs = 24 * 3_600_000;
/** Trace ids, span ids and UUIDs, wherever they occur. */
const idPattern =
  /\b(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/g;

/**
 * Reads `rows` log rows. The first copy is the day as recorded. Each further copy is later and has other ids; within a
 * copy an id is replaced by the same new id in messages and attributes.
 */
export function readTrainTicketRows(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<GeneratedRow[], void> {
  return repeatDay(file, rows, batchRows, parseRow);
}

/** Reads spans in the form in which they are sent; copies differ as those of the logs do. */
export function readTrainTicketSpans(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<TrainTicketSpan[], void> {
  return repeatDay(file, rows, batchRows, (line, copy) => {
    const span = JSON.parse(replaceIds(line, copy)) as TrainTicketSpan;
    const shiftNs = BigInt(copy) * BigInt(copyMs) * 1_000_000n;
    span.startTimeUnixNano = String(BigInt(span.startTimeUnixNano) + shiftNs);
    span.endTimeUnixNano = String(BigInt(span.endTimeUnixNano) + shiftNs);
    return span;
  });
}

/** Reads samples: each copy comes a day later, of the same series. Skips values of NaN, which are not valid JSON. */
export function readTrainTicketSamples(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<TrainTicketSample[], void> {
  return repeatDay(file, rows, batchRows, (line, copy) => {
    if (line.endsWith('"value":NaN}')) return undefined;
    const sample = JSON.parse(line) as TrainTicketSample;
    sample.timestamp += copy * dayMs;
    return sample;
  });
}

async function* repeatDay<T>(
  file: string,
  rows: number,
  batchRows: number,
  read: (line: string, copy: number) => T | undefined,
): AsyncGenerator<T[], void> {
  let left = rows;
  for (let copy = 0; left > 0; copy++) {
    let batch: T[] = [];
    for await (const line of createInterface({ input: createReadStream(file).pipe(createGunzip()) })) {
      const row = read(line, copy);
      if (row === undefined) continue;
      batch.push(row);
      left -= 1;
      if (batch.length === batchRows || left === 0) {
        yield batch;
        batch = [];
      }
      if (left === 0) return;
    }
    if (batch.length > 0) yield batch;
  }
}

function parseRow(line: string, copy: number): GeneratedRow {
  const { timeUnixNano, log_level, message, attributes } = JSON.parse(replaceIds(line, copy));
  return {
    timeNs: BigInt(timeUnixNano) + BigInt(copy) * BigInt(copyMs) * 1_000_000n,
    level: log_level,
    message,
    attributes,
  };
}

function replaceIds(line: string, copy: number): string {
  return copy === 0 ? line : line.replace(idPattern, (id) => makeFreshId(id, copy));
}

/**
 * Makes another id of the same form. Each hexadecimal digit is shifted by a hash of the copy's number and the digits
 * before it, so different ids stay different.
 */
function makeFreshId(id: string, copy: number): string {
  let fresh = "";
  let state = Math.imul(copy, 0x9e3779b1);
  for (const digit of id) {
    if (digit === "-") {
      fresh += digit;
      continue;
    }
    const value = Number.parseInt(digit, 16);
    fresh += ((value + (state >>> 28)) & 15).toString(16);
    state = Math.imul(state ^ (value + 1), 0x01000193);
  }
  return fresh;
}

/** Counts the rows of the recorded day. */
export async function countTrainTicketDayRows(file: string): Promise<number> {
  let rows = 0;
  for await (const piece of createReadStream(file).pipe(createGunzip())) {
    const bytes = piece as Buffer;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) rows += 1;
  }
  return rows;
}
