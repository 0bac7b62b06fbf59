import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import type { GeneratedRow } from "../fixtures/row.ts";

/** A span as it is sent: what of it is read here. */
export interface SentSpan {
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, string>;
}

/** A sample as it is sent. */
export interface SentSample {
  timestamp: number;
  name: string;
  type?: string;
  labels: Record<string, string>;
}

/** What one copy of the day is shifted by: the day's seven hours and some. */
const copyMs = 8 * 3_600_000;
const dayMs = 24 * 3_600_000;
/** Trace and span ids and UUIDs, wherever they stand. */
const idPattern =
  /\b(?:[0-9a-f]{32}|[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b/g;

/**
 * The day of Train Ticket over and over, until there are as many rows as asked for: each copy comes later than the one before and has
 * ids of its own, the same id the same new one in messages and attributes. The first copy is the day as it is.
 */
export function trainTicketRows(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<GeneratedRow[], void> {
  return repeated(file, rows, batchRows, rowOf);
}

/** The spans of that day, in the same way, as they are sent. */
export function trainTicketSpans(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<SentSpan[], void> {
  return repeated(file, rows, batchRows, (line, copy) => {
    const span = JSON.parse(withFreshIds(line, copy)) as SentSpan;
    const shiftNs = BigInt(copy) * BigInt(copyMs) * 1_000_000n;
    span.startTimeUnixNano = String(BigInt(span.startTimeUnixNano) + shiftNs);
    span.endTimeUnixNano = String(BigInt(span.endTimeUnixNano) + shiftNs);
    return span;
  });
}

/** The samples of that day: those of each copy come a day later, of the same series. What is no number is none, and no JSON either. */
export function trainTicketSamples(
  file: string,
  rows: number,
  batchRows: number,
): AsyncGenerator<SentSample[], void> {
  return repeated(file, rows, batchRows, (line, copy) => {
    if (line.endsWith('"value":NaN}')) return undefined;
    const sample = JSON.parse(line) as SentSample;
    sample.timestamp += copy * dayMs;
    return sample;
  });
}

async function* repeated<T>(
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

function rowOf(line: string, copy: number): GeneratedRow {
  const { timeUnixNano, log_level, message, attributes } = JSON.parse(withFreshIds(line, copy));
  return {
    timeNs: BigInt(timeUnixNano) + BigInt(copy) * BigInt(copyMs) * 1_000_000n,
    level: log_level,
    message,
    attributes,
  };
}

function withFreshIds(line: string, copy: number): string {
  return copy === 0 ? line : line.replace(idPattern, (id) => freshId(id, copy));
}

/** Another id of the same form: each digit is moved on by what the copy and the digits before it make. Different ids stay different. */
function freshId(id: string, copy: number): string {
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

/** Rows of the day as it is. */
export async function trainTicketDayRows(file: string): Promise<number> {
  let rows = 0;
  for await (const piece of createReadStream(file).pipe(createGunzip())) {
    const bytes = piece as Buffer;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) rows += 1;
  }
  return rows;
}
