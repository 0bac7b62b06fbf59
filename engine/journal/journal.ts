/**
 * The ingest journal (a write-ahead log): batches in the order in which they were acknowledged, in append-only segment
 * files. One synced write serves every batch that waits for it (group commit). A segment has its full length from the
 * start, the unwritten rest being a hole, so that a truncated file differs from one that was never filled.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Failure, toWriteFailure, unlessFull } from "../failure.ts";
import { align8 } from "../files/column-payload.ts";
import { makeFolder } from "../files/folder.ts";
import type { FolderLock } from "../files/folder-lock.ts";
import { readPieceKeys } from "../files/piece-keys.ts";
import { journalSegmentBatches, journalSegmentBytes } from "../limits.ts";
import { IdempotencyKeys } from "./idempotency-keys.ts";
import { scanJournal } from "./journal-reader.ts";
import {
  type JournalRecord,
  type RecordHeader,
  recordHeaderBytes,
  recordLength,
  writeRecordHeader,
} from "./journal-record.ts";
import { SegmentFile } from "./segment-file.ts";
import { SegmentList } from "./segment-list.ts";
import { removeShutdownRecord, writeShutdownRecord } from "./shutdown-record.ts";

/** The batch of one append. */
type JournalBatch = Pick<JournalRecord, "signal" | "frame" | "rows" | "keyHash" | "keyUntilMs">;

/** A batch that is not on disk yet. */
interface PendingBatch extends JournalBatch {
  resolve: (record: JournalRecord) => void;
  reject: (error: unknown) => void;
}

interface Segment {
  /** File name: the sequence number that was next when it was opened. */
  name: string;
  seqMax: number;
  /** Arrival number of its last row. */
  arrivalMax: number;
  keyHashes: string[];
  batches: number;
  /** Length of its records. */
  bytes: number;
}

/**
 * A file as of one moment. The open descriptor keeps it readable after its removal; only `bytes` of it belong to that
 * moment.
 */
export interface JournalFile {
  name: string;
  fd: number;
  bytes: number;
}

/** For this long after a failed write the journal reports that it refuses batches. */
const failureShownMs = 5_000;

export interface JournalOptions {
  dir: string;
  /** Called for each record that is found at start, and for each one that becomes durable, in order of sequence. */
  publish: (record: JournalRecord) => void;
  reportDamage: (where: string, problem: string) => void;
  /** Bytes of batches that wait for the disk. Above it appends are refused as overload. */
  queueBytesMax: number;
  /** The lock of the data folder: without it nothing may be acknowledged. */
  lock: Pick<FolderLock, "check" | "writer">;
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  /** Unix milliseconds by which idempotency keys expire; goes on steadily, however the clock is set. */
  keyClock: () => number;
}

export class Journal {
  readonly keys: IdempotencyKeys;
  readonly #options: JournalOptions;
  #segments: Segment[] = [];
  #segmentList!: SegmentList;
  /** The segment that batches are appended to. Undefined where none could be opened yet. */
  #active: SegmentFile | undefined;
  #seqNext = 1;
  #arrivalNext = 1;
  #queue: PendingBatch[] = [];
  #queueBytes = 0;
  /** The work that has exclusive use of the active segment: a group's write, or opening a segment. */
  #writing: Promise<void> | undefined;
  /** The last failed write, until one succeeds. */
  #lastFailure: { message: string; atMs: number } | undefined;

  private constructor(options: JournalOptions) {
    this.#options = options;
    this.keys = new IdempotencyKeys(options.dir);
  }

  /** Opens a journal and publishes its batches. `firstFree`: lower bounds of the next sequence and arrival numbers. */
  static async open(
    options: JournalOptions,
    firstFree: { seqMin: number; arrivalMin: number },
  ): Promise<Journal> {
    await makeFolder(options.dir);
    const journal = new Journal(options);
    journal.#seqNext = firstFree.seqMin;
    journal.#arrivalNext = firstFree.arrivalMin;
    await journal.keys.load(options.reportDamage);
    await journal.#recover();
    return journal;
  }

  /** Bytes of all records; the unwritten rest of a segment is a hole. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  /** Batches that a start would read now. */
  get batches(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.batches, 0);
  }

  /** Why the last write failed. Undefined again after a few seconds, or clients would never try another write. */
  get recentFailure(): string | undefined {
    const lastFailure = this.#lastFailure;
    return lastFailure !== undefined && this.#options.elapsed() - lastFailure.atMs < failureShownMs
      ? lastFailure.message
      : undefined;
  }

  /** Arrival number of the newest row that is on disk. */
  get arrivalMax(): number {
    return this.#arrivalNext - 1;
  }

  /** Resolves once the batch is on disk and published. Throws Failure "overload", "disk-full" or "folder". */
  append(batch: JournalBatch): Promise<JournalRecord> {
    if (this.#queueBytes + batch.frame.byteLength > this.#options.queueBytesMax) {
      return Promise.reject(
        new Failure("overload", "more batches wait for the disk than memory allows; try again shortly"),
      );
    }
    this.#queueBytes += batch.frame.byteLength;
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...batch, resolve, reject });
      this.#startFlush();
    });
  }

  /**
   * Removes the segments whose rows are all sealed: those up to arrival number `arrivalSealed`. The newest segment
   * stays, because its name carries the next sequence number.
   */
  async removeSealedSegments(arrivalSealed: number): Promise<void> {
    this.#options.lock.check();
    await this.#removeSegments(arrivalSealed);
    const active = this.#segments.at(-1);
    const isSealed =
      active !== undefined && this.#active?.endBytes !== 0 && active.arrivalMax <= arrivalSealed;
    if (!isSealed || this.#writing !== undefined) return;
    await this.#runExclusively(this.#openSegment(journalSegmentBytes));
    await this.#removeSegments(arrivalSealed);
  }

  /** The batches that are acknowledged now. The caller closes the file descriptors. */
  snapshot(): { seqNext: number; arrivalNext: number; segments: JournalFile[]; keys: JournalFile[] } {
    const fds: number[] = [];
    const opened = (name: string): JournalFile => {
      const fd = openSync(this.#segmentPath(name), "r");
      fds.push(fd);
      // After its end there may be a group that is being written.
      return { name, fd, bytes: name === this.#active?.name ? this.#active.endBytes : fstatSync(fd).size };
    };
    try {
      const segments = this.#segments.map(({ name }) => opened(name));
      const keys = this.keys.files.map(opened);
      return { seqNext: this.#seqNext, arrivalNext: this.#arrivalNext, segments, keys };
    } catch (error) {
      for (const fd of fds) closeSync(fd);
      throw error;
    }
  }

  /**
   * Waits for pending appends and writes the shutdown record, unless the folder is no longer this process's: throws
   * Failure "folder".
   */
  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#active?.close();
    this.#options.lock.check();
    // Without a shutdown record, as on a full disk, the next start assumes a crash, which loses nothing.
    await unlessFull(
      writeShutdownRecord(this.#options.dir, { seqNext: this.#seqNext, arrivalNext: this.#arrivalNext }),
    );
  }

  /** Removes sealed segments other than the newest, and key files whose keys have all expired. */
  async #removeSegments(arrivalSealed: number): Promise<void> {
    const now = this.#options.keyClock();
    const sealed = this.#segments.slice(0, -1).filter((segment) => segment.arrivalMax <= arrivalSealed);
    for (const segment of sealed) await this.keys.writeKeyFile(segment.name, segment.keyHashes, now);
    const expired = this.keys.expire(now);
    if (sealed.length === 0 && expired.length === 0) return;
    this.#segments = this.#segments.filter((segment) => !sealed.includes(segment));
    // The list is written first: a listed file that does not exist counts as lost.
    try {
      await this.#writeSegmentList();
    } catch (error) {
      // The files are still there: the next pass removes them, in order, so that no gap is left between the others.
      this.#segments = [...sealed, ...this.#segments].sort((a, b) => (a.name < b.name ? -1 : 1));
      throw error;
    }
    for (const { name } of sealed) await rm(this.#segmentPath(name), { force: true });
    for (const name of expired) await rm(join(this.#options.dir, name), { force: true });
  }

  #startFlush(): void {
    if (this.#writing === undefined && this.#queue.length > 0) void this.#runExclusively(this.#flush());
  }

  #runExclusively(work: Promise<void>): Promise<void> {
    const writing = work.finally(() => {
      this.#writing = undefined;
      // For batches that were queued after the work last checked the queue.
      this.#startFlush();
    });
    this.#writing = writing;
    return writing;
  }

  async #recover(): Promise<void> {
    const { dir, reportDamage, publish } = this.#options;
    const segments = new Map<string, Segment>();
    const scan = await scanJournal(dir, (name, record) => {
      const segment = segments.get(name) ?? emptySegment(name);
      segments.set(name, segment);
      this.#addToSegment(segment, record);
      publish(record);
    });
    for (const { where, problem } of scan.damage) reportDamage(where, problem);
    this.#segments = scan.segments.map((name) => segments.get(name) ?? emptySegment(name));
    this.#seqNext = Math.max(this.#seqNext, scan.seqNext);
    this.#arrivalNext = Math.max(this.#arrivalNext, scan.arrivalNext);
    this.#segmentList = new SegmentList(dir, scan.listVersion);
    // On a full disk the store still opens for searches; the first append that finds space opens the segment.
    await unlessFull(this.#openSegment(journalSegmentBytes));
    await removeShutdownRecord(dir);
  }

  async #flush(): Promise<void> {
    // Waits one microtask, so that appends of the same turn share a group.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#takeGroup();
      const headers = this.#numberGroup(group);
      try {
        await this.#write(group, headers);
      } catch (error) {
        await this.#active?.rollBack();
        const failure = toJournalFailure(error);
        this.#lastFailure = { message: failure.message, atMs: this.#options.elapsed() };
        for (const pending of group) pending.reject(failure);
        continue;
      } finally {
        for (const pending of group) this.#queueBytes -= pending.frame.byteLength;
      }
      this.#lastFailure = undefined;
      this.#publishGroup(group, headers);
    }
  }

  /** Takes as many batches from the queue as one segment's bytes, at least one. */
  #takeGroup(): PendingBatch[] {
    let bytes = 0;
    let count = 0;
    for (const pending of this.#queue) {
      bytes += recordLength(pending.frame.byteLength);
      if (count > 0 && bytes > journalSegmentBytes) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** Assigns sequence and arrival numbers; they are used up only when the group is on disk. */
  #numberGroup(group: PendingBatch[]): RecordHeader[] {
    let seq = this.#seqNext;
    let arrivalBase = this.#arrivalNext;
    return group.map((pending) => {
      const header = {
        signal: pending.signal,
        seq: seq++,
        arrivalBase,
        appendedMs: this.#options.now(),
        keyUntilMs: pending.keyUntilMs,
        rows: pending.rows,
        frameBytes: pending.frame.byteLength,
        writer: this.#options.lock.writer,
        keyHash: pending.keyHash,
      };
      arrivalBase += pending.rows;
      return header;
    });
  }

  async #write(group: PendingBatch[], headers: RecordHeader[]): Promise<void> {
    this.#options.lock.check();
    const parts: Uint8Array[] = [];
    let byteLength = 0;
    for (const [i, { frame }] of group.entries()) {
      parts.push(writeRecordHeader(headers[i]!), frame);
      const padding = align8(frame.byteLength) - frame.byteLength;
      if (padding > 0) parts.push(Buffer.alloc(padding));
      byteLength += recordHeaderBytes + frame.byteLength + padding;
    }
    const isFull = (this.#segments.at(-1)?.batches ?? 0) >= journalSegmentBatches;
    if (isFull || this.#active?.hasRoomFor(byteLength) !== true) {
      await this.#openSegment(Math.max(journalSegmentBytes, byteLength));
    }
    await this.#active!.append(parts, byteLength, () => this.#options.lock.check());
  }

  #publishGroup(group: PendingBatch[], headers: RecordHeader[]): void {
    const segment = this.#segments.at(-1)!;
    for (const [i, pending] of group.entries()) {
      const header = headers[i]!;
      this.#seqNext = header.seq + 1;
      this.#arrivalNext = header.arrivalBase + header.rows;
      const record = { ...header, frame: pending.frame };
      this.#addToSegment(segment, record);
      this.#options.publish(record);
      pending.resolve(record);
    }
  }

  #addToSegment(segment: Segment, record: JournalRecord): void {
    segment.seqMax = record.seq;
    segment.arrivalMax = record.arrivalBase + record.rows - 1;
    segment.batches++;
    segment.bytes += recordLength(record.frameBytes);
    const { keyHash, rows, keyUntilMs: untilMs } = record;
    const keys = keyHash === undefined ? readPieceKeys(record.frame) : [{ hash: keyHash, rows }];
    for (const key of keys) {
      segment.keyHashes.push(key.hash);
      this.keys.add(key.hash, { rows: key.rows, untilMs });
    }
  }

  #segmentPath(name: string): string {
    return join(this.#options.dir, name);
  }

  #writeSegmentList(): Promise<void> {
    const segments = this.#segments.map(({ name }) => name);
    return this.#segmentList.write({ segments, keys: this.keys.files });
  }

  async #openSegment(fileBytes: number): Promise<void> {
    const name = `${String(this.#seqNext).padStart(12, "0")}.log`;
    // Sealed segments may be removed while this waits for the disk.
    const otherSegments = () => this.#segments.filter((segment) => segment.name !== name);
    if (otherSegments().length < this.#segments.length || !this.#segmentList.isWritten) {
      // A segment of that name has no batch yet and is created again. It is taken off the list first, or it would count
      // as truncated if this is interrupted. The first list is written before the first segment: where there are
      // segments but no list, the list was lost.
      this.#segments = otherSegments();
      await this.#writeSegmentList();
    }
    const created = await SegmentFile.create(this.#options.dir, name, fileBytes);
    try {
      this.#segments = [...otherSegments(), emptySegment(name)];
      await this.#writeSegmentList();
    } catch (error) {
      this.#segments = otherSegments();
      await created.discard();
      throw error;
    }
    const previous = this.#active;
    this.#active = created;
    await previous?.close();
  }
}

function emptySegment(name: string): Segment {
  return { name, seqMax: 0, arrivalMax: 0, keyHashes: [], batches: 0, bytes: 0 };
}

function toJournalFailure(error: unknown): Failure {
  const failure = toWriteFailure(error, "the journal");
  return (
    failure ??
    new Failure("overload", "the journal could not be written (unknown error); try again", { cause: error })
  );
}
