/** Reads a journal without changing it: what it holds, and what is missing or damaged. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { journalSegmentBytes } from "../limits.ts";
import type { DamageReport } from "../model/damage-report.ts";
import { type JournalRecord, recordHeaderBytes, scanSegment } from "./journal-record.ts";
import { readSegmentList } from "./segment-list.ts";
import { readShutdownRecord, type ShutdownRecord } from "./shutdown-record.ts";

export const segmentPattern = /^\d{12}\.log$/;
export const keyFilePattern = /^\d{12}\.keys$/;

export interface JournalScan {
  /** Names of the segments that are there, oldest first. */
  segments: string[];
  keyFiles: string[];
  /** Least numbers that nothing in the journal bears. */
  seqNext: number;
  arrivalNext: number;
  listVersion: number;
  /** Segments that the list names: one that it does not name yet was being made when the process ended, and holds nothing. */
  named: ReadonlySet<string> | undefined;
  damage: DamageReport[];
}

export type OnRecord = (segment: string, record: JournalRecord) => void;

/** Calls `onRecord` for each whole batch, in order. */
export async function scanJournal(dir: string, onRecord: OnRecord): Promise<JournalScan> {
  const names = (await readdir(dir)).sort();
  const scan: JournalScan = {
    segments: names.filter((name) => segmentPattern.test(name)),
    keyFiles: names.filter((name) => keyFilePattern.test(name)),
    seqNext: 1,
    arrivalNext: 1,
    listVersion: 0,
    named: undefined,
    damage: [],
  };
  await checkList(dir, scan);
  let seqSeen = 0;
  for (const name of scan.segments) seqSeen = readSegment(dir, name, seqSeen, scan, onRecord);
  checkClosing(await readShutdownRecord(dir), scan);
  return scan;
}

async function checkList(dir: string, scan: JournalScan): Promise<void> {
  const { value, damaged } = await readSegmentList(dir);
  for (const name of damaged) note(scan, name, "the checksum does not match");
  if (value === undefined) {
    if (scan.segments.length > 0 && damaged.length === 0)
      note(scan, "segments", "the list of segments is missing");
    return;
  }
  scan.listVersion = value.version;
  scan.named = new Set(value.segments);
  for (const name of value.segments) {
    if (!scan.segments.includes(name))
      note(scan, name, "the segment is missing with the batches that it held");
  }
  for (const name of value.keys) {
    if (!scan.keyFiles.includes(name))
      note(scan, name, "the file is missing; batches sent again may be taken twice");
  }
}

const pieceBytes = 2 ** 20;
const zeros = Buffer.alloc(pieceBytes);

/**
 * A file in memory that threads share, and its length. Of the zeros at its end, which were never written, there are as many as a
 * header is long. Read at once: a start has nothing else to do, and its threads, which begin meanwhile, leave little time for turns.
 */
function readUsed(path: string): { used: Buffer; bytes: number } {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const piece = Buffer.alloc(pieceBytes);
    let end = size;
    while (end > 0) {
      const from = Math.max(0, end - pieceBytes);
      const read = readSync(file, piece, 0, end - from, from);
      if (!piece.subarray(0, read).equals(zeros.subarray(0, read))) break;
      end = from;
    }
    end = Math.min(size, end + recordHeaderBytes);
    const used = Buffer.from(new SharedArrayBuffer(end));
    for (let at = 0, read = -1; at < end && read !== 0; at += read)
      read = readSync(file, used, at, end - at, at);
    return { used, bytes: size };
  } finally {
    closeSync(file);
  }
}

/** Returns the last sequence number seen. */
function readSegment(
  dir: string,
  name: string,
  seqSeen: number,
  scan: JournalScan,
  onRecord: OnRecord,
): number {
  const { used, bytes } = readUsed(join(dir, name));
  const isNamed = scan.named?.has(name) ?? true;
  if (isNamed && bytes < journalSegmentBytes) {
    note(scan, name, `the file is ${bytes} bytes, it was at least ${journalSegmentBytes}: it was cut short`);
  }
  const { records, problems, seqNext, arrivalNext } = scanSegment(used, bytes);
  for (const problem of problems) note(scan, name, problem);
  // A segment that got no batch yet carries the numbers on by its name.
  scan.seqNext = Math.max(scan.seqNext, seqNext, Number.parseInt(name, 10));
  scan.arrivalNext = Math.max(scan.arrivalNext, arrivalNext);
  let seqMax = seqSeen;
  for (const record of records) {
    if (record.seq <= seqMax) continue;
    if (seqMax > 0 && record.seq > seqMax + 1)
      note(scan, name, `batches ${seqMax + 1} to ${record.seq - 1} are missing`);
    seqMax = record.seq;
    scan.seqNext = Math.max(scan.seqNext, record.seq + 1);
    scan.arrivalNext = Math.max(scan.arrivalNext, record.arrivalBase + record.rows);
    onRecord(name, record);
  }
  return seqMax;
}

function checkClosing(closing: ShutdownRecord | undefined | "damaged", scan: JournalScan): void {
  if (closing === "damaged")
    note(scan, "closed", "the checksum does not match; the last stop cannot be checked");
  if (typeof closing !== "object") return;
  if (closing.seqNext > scan.seqNext) {
    note(scan, "", `batches ${scan.seqNext} to ${closing.seqNext - 1} are missing`);
    scan.seqNext = closing.seqNext;
  }
  scan.arrivalNext = Math.max(scan.arrivalNext, closing.arrivalNext);
}

function note(scan: JournalScan, name: string, problem: string): void {
  scan.damage.push({ where: name === "" ? "journal" : `journal/${name}`, problem });
}
