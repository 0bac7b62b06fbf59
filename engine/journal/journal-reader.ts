/** Reads a journal without changing it: its batches, and what is missing or damaged. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { journalSegmentBytes } from "../limits.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { type JournalRecord, recordHeaderBytes, type SegmentScan, scanSegment } from "./journal-record.ts";
import { readSegmentList } from "./segment-list.ts";
import { readShutdownRecord, type ShutdownRecord } from "./shutdown-record.ts";

/** Name of a segment file. */
export const segmentPattern = /^\d{12}\.log$/;
/** Name of a file of idempotency keys. */
export const keyFilePattern = /^\d{12}\.keys$/;

export interface JournalScan {
  /** Names of the segment files in the folder, oldest first. */
  segments: string[];
  keyFiles: string[];
  /** Greater than every sequence number in the journal. */
  seqNext: number;
  /** Greater than every arrival number in the journal. */
  arrivalNext: number;
  /** Version of the segment list; 0 without one. */
  listVersion: number;
  /**
   * Segments in the segment list; undefined without a list. A segment that is not in the list was being created when
   * the process ended, and holds no batch.
   */
  listed: ReadonlySet<string> | undefined;
  damage: DamageReport[];
}

export type OnRecord = (segment: string, record: JournalRecord) => void;

/** Calls `onRecord` for each intact batch, in order of sequence. */
export async function scanJournal(dir: string, onRecord: OnRecord): Promise<JournalScan> {
  const names = (await readdir(dir)).sort();
  const scan: JournalScan = {
    segments: names.filter((name) => segmentPattern.test(name)),
    keyFiles: names.filter((name) => keyFilePattern.test(name)),
    seqNext: 1,
    arrivalNext: 1,
    listVersion: 0,
    listed: undefined,
    damage: [],
  };
  const missingCopies = await checkSegmentList(dir, scan);
  const order = new RecordOrder(scan);
  let next = scan.segments[0] === undefined ? undefined : readSegment(dir, scan.segments[0], scan);
  for (let i = 0; next !== undefined; i++) {
    const segment: ReadSegment = next;
    const nextName = scan.segments[i + 1];
    next = nextName === undefined ? undefined : readSegment(dir, nextName, scan);
    takeSegment(segment, next?.records[0], order, onRecord);
  }
  // A crash between the first writes of the copies leaves one alone; there is no batch before both are there.
  if (scan.seqNext > 1) {
    for (const name of missingCopies) addDamage(scan, name, "the copy is missing; the other one serves");
  }
  checkShutdownRecord(await readShutdownRecord(dir), scan);
  return scan;
}

/** Checks that every file in the segment list exists. Returns the copies of the list that are missing beside another. */
async function checkSegmentList(dir: string, scan: JournalScan): Promise<string[]> {
  const { value, damaged, missing } = await readSegmentList(dir);
  for (const name of damaged) addDamage(scan, name, "the checksum does not match");
  if (value === undefined) {
    if (scan.segments.length > 0 && damaged.length === 0)
      addDamage(scan, "segments", "the list of segments is missing");
    return [];
  }
  scan.listVersion = value.version;
  scan.listed = new Set(value.segments);
  for (const name of value.segments) {
    if (!scan.segments.includes(name))
      addDamage(scan, name, "the segment is missing with the batches that it held");
  }
  for (const name of value.keys) {
    if (!scan.keyFiles.includes(name))
      addDamage(scan, name, "the file is missing; batches sent again may be taken twice");
  }
  return missing;
}

const blockBytes = 2 ** 20;
const zeros = Buffer.alloc(blockBytes);

/**
 * Reads a file into shared memory up to the last block that is not all zeros, and as many zeros after it as a record
 * header is long. The rest was never written. `bytes` is the length of the whole file. It reads synchronously: the
 * process has nothing else to do when it starts, and the threads that start meanwhile would delay asynchronous reads.
 */
function readWithoutTail(path: string): { written: Buffer; bytes: number } {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const block = Buffer.alloc(blockBytes);
    let end = size;
    while (end > 0) {
      const from = Math.max(0, end - blockBytes);
      const read = readSync(file, block, 0, end - from, from);
      if (!block.subarray(0, read).equals(zeros.subarray(0, read))) break;
      end = from;
    }
    end = Math.min(size, end + recordHeaderBytes);
    const written = Buffer.from(new SharedArrayBuffer(end));
    for (let at = 0, read = -1; at < end && read !== 0; at += read)
      read = readSync(file, written, at, end - at, at);
    return { written, bytes: size };
  } finally {
    closeSync(file);
  }
}

interface ReadSegment extends SegmentScan {
  name: string;
}

function readSegment(dir: string, name: string, scan: JournalScan): ReadSegment {
  const { written, bytes } = readWithoutTail(join(dir, name));
  const isListed = scan.listed?.has(name) ?? true;
  if (isListed && bytes < journalSegmentBytes) {
    const problem = `the file is ${bytes} bytes, it was at least ${journalSegmentBytes}: it was cut short`;
    addDamage(scan, name, problem);
  }
  return { name, ...scanSegment(written, bytes) };
}

/**
 * Takes the batches of a segment. Left out are batches whose numbers the same process used again at the start of the next
 * segment: their write failed and they were refused, but their records could not be removed.
 */
function takeSegment(
  { name, records, problems, seqNext, arrivalNext }: ReadSegment,
  nextRecord: JournalRecord | undefined,
  order: RecordOrder,
  onRecord: OnRecord,
): void {
  const { scan } = order;
  for (const problem of problems) addDamage(scan, name, problem);
  // The name of a segment without batches is the next sequence number.
  scan.seqNext = Math.max(scan.seqNext, seqNext, Number.parseInt(name, 10));
  scan.arrivalNext = Math.max(scan.arrivalNext, arrivalNext);
  for (const record of records) {
    const isRefused =
      nextRecord !== undefined && record.writer === nextRecord.writer && record.seq >= nextRecord.seq;
    if (isRefused || !order.add(name, record)) continue;
    scan.seqNext = Math.max(scan.seqNext, record.seq + 1);
    scan.arrivalNext = Math.max(scan.arrivalNext, record.arrivalBase + record.rows);
    onRecord(name, record);
  }
}

/** Written by builds that did not say which opening of the folder appended a record. */
const unknownWriter = "0".repeat(16);

/**
 * Checks that sequence numbers have no gaps, and that one process at a time wrote: each opening of the folder continues
 * where the one before it ended, so the records of an opening are in a row.
 */
class RecordOrder {
  readonly scan: JournalScan;
  #seqMax = 0;
  #writer = unknownWriter;
  /** Openings whose records have ended. */
  readonly #ended = new Set<string>();
  /** One report is enough: every later batch is out of order as well. */
  #isReported = false;

  constructor(scan: JournalScan) {
    this.scan = scan;
  }

  /** Takes the next record; `name` is its segment. Returns false where a record of its number was there before. */
  add(name: string, { seq, writer }: JournalRecord): boolean {
    if (writer !== this.#writer && writer !== unknownWriter) {
      if (seq <= this.#seqMax || this.#ended.has(writer)) this.#reportTwoWriters(name, seq);
      this.#ended.add(this.#writer);
      this.#writer = writer;
    }
    if (seq <= this.#seqMax) return false;
    if (this.#seqMax > 0 && seq > this.#seqMax + 1)
      addDamage(this.scan, name, `batches ${this.#seqMax + 1} to ${seq - 1} are missing`);
    this.#seqMax = seq;
    return true;
  }

  #reportTwoWriters(name: string, seq: number): void {
    if (this.#isReported) return;
    this.#isReported = true;
    addDamage(
      this.scan,
      name,
      `two processes had the folder open for writing, and both wrote batch ${seq} or batches beside it; batches of one may be lost`,
    );
  }
}

/** Checks that the journal holds every batch that the shutdown record counted. */
function checkShutdownRecord(shutdown: ShutdownRecord | undefined | "damaged", scan: JournalScan): void {
  if (shutdown === "damaged")
    addDamage(scan, "closed", "the checksum does not match; the last stop cannot be checked");
  if (typeof shutdown !== "object") return;
  if (shutdown.seqNext > scan.seqNext) {
    addDamage(scan, "", `batches ${scan.seqNext} to ${shutdown.seqNext - 1} are missing`);
    scan.seqNext = shutdown.seqNext;
  }
  scan.arrivalNext = Math.max(scan.arrivalNext, shutdown.arrivalNext);
}

/** Adds a damage report. `name`: the file, or empty for the journal as a whole. */
function addDamage(scan: JournalScan, name: string, problem: string): void {
  scan.damage.push({ where: name === "" ? "journal" : `journal/${name}`, problem });
}
