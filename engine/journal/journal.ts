/**
 * The ingest journal: batches in the order in which they were acknowledged, in append-only segment files.
 * One fdatasync serves every batch that waits for it (group commit). A segment has its full length from the start (the
 * rest is a hole), so that a file that was cut short is told from one that was never filled.
 */
import { fstatSync, openSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { diskFullMessage, Failure, isDiskFull, unlessFull } from "../failure.ts";
import { makeFolder, syncFolder } from "../files/folder.ts";
import { align8 } from "../files/payload.ts";
import { journalQueueBytesMax, journalSegmentBytes } from "../limits.ts";
import type { Signal } from "../model/signal.ts";
import { IdempotencyKeys } from "./idempotency-keys.ts";
import { scanJournal } from "./journal-reader.ts";
import {
  type JournalRecord,
  type RecordHeader,
  recordHeaderBytes,
  recordLength,
  writeRecordHeader,
} from "./journal-record.ts";
import { SegmentList } from "./segment-list.ts";
import { removeShutdownRecord, writeShutdownRecord } from "./shutdown-record.ts";

/** What one append brings. */
interface JournalBatch {
  signal: Signal;
  frame: Uint8Array;
  rows: number;
  keyHash: string | undefined;
  keyUntilMs: number;
}

interface Waiting extends JournalBatch {
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
  bytes: number;
}

/** A file as it stands at one moment, which an open descriptor keeps there. */
export interface JournalFile {
  name: string;
  fd: number;
  bytes: number;
}

const refusingMs = 5_000;

export interface JournalOptions {
  dir: string;
  /** Called for each record found at start, and for each one made durable, in order of sequence. */
  publish: (record: JournalRecord) => void;
  reportDamage: (where: string, problem: string) => void;
  now: () => number;
}

export class Journal {
  readonly keys: IdempotencyKeys;
  readonly #options: JournalOptions;
  #segments: Segment[] = [];
  #list!: SegmentList;
  #file: FileHandle | undefined;
  #end = 0;
  #fileBytes = 0;
  /** The segment that `#end` counts in. */
  #fileName = "";
  #seqNext = 1;
  #arrivalNext = 1;
  #queue: Waiting[] = [];
  #queueBytes = 0;
  /** What has the file to itself just now: a group's write or the opening of a segment. */
  #writing: Promise<void> | undefined;
  #refused: { message: string; atMs: number } | undefined;

  private constructor(options: JournalOptions) {
    this.#options = options;
    this.keys = new IdempotencyKeys(options.dir);
  }

  /** Opens a journal and publishes what it holds. `seqMin` and `arrivalMin`: the least numbers still free. */
  static async open(options: JournalOptions, free: { seqMin: number; arrivalMin: number }): Promise<Journal> {
    await makeFolder(options.dir);
    const journal = new Journal(options);
    journal.#seqNext = free.seqMin;
    journal.#arrivalNext = free.arrivalMin;
    await journal.keys.load(options.reportDamage);
    await journal.#recover();
    return journal;
  }

  /** Bytes that records take up; the rest of a segment is a hole. */
  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  /** Why the last write failed, for a few seconds, lest nobody try again. */
  get refusing(): string | undefined {
    const refused = this.#refused;
    return refused !== undefined && this.#options.now() - refused.atMs < refusingMs
      ? refused.message
      : undefined;
  }

  /** Arrival number of the newest row that is on disk. */
  get arrivalMax(): number {
    return this.#arrivalNext - 1;
  }

  /** Resolves once the batch is on disk and published. Throws Failure "overload" or "disk-full". */
  append(batch: JournalBatch): Promise<JournalRecord> {
    if (this.#queueBytes + batch.frame.byteLength > journalQueueBytesMax) {
      return Promise.reject(
        new Failure("overload", "more batches wait for the disk than memory allows; try again shortly"),
      );
    }
    this.#queueBytes += batch.frame.byteLength;
    return new Promise((resolve, reject) => {
      this.#queue.push({ ...batch, resolve, reject });
      this.#kick();
    });
  }

  /** Removes segments whose every row, up to that arrival number, is sealed; the newest segment stays, for it carries the numbers on. */
  async retire(arrivalSealed: number): Promise<void> {
    const now = this.#options.now();
    const spent = this.#segments.slice(0, -1).filter((segment) => segment.arrivalMax <= arrivalSealed);
    for (const segment of spent) await this.keys.keep(segment.name, segment.keyHashes, now);
    const expired = this.keys.expire(now);
    if (spent.length > 0 || expired.length > 0) {
      this.#segments = this.#segments.filter((segment) => !spent.includes(segment));
      // Named no more before they go: what is named and not there counts as lost.
      await this.#writeList();
      for (const { name } of spent) await rm(this.#pathOf(name), { force: true });
      for (const name of expired) await rm(join(this.#options.dir, name), { force: true });
    }
    const active = this.#segments.at(-1);
    const isSpent = active !== undefined && this.#end > 0 && active.arrivalMax <= arrivalSealed;
    if (isSpent && this.#writing === undefined) {
      await this.#exclusively(this.#openSegment(journalSegmentBytes));
    }
  }

  /** What is acknowledged at this moment. The files are open: close them. */
  snapshot(): { seqNext: number; arrivalNext: number; segments: JournalFile[]; keys: JournalFile[] } {
    const opened = (name: string): JournalFile => {
      const fd = openSync(this.#pathOf(name), "r");
      // Behind its end there may be a group that is being written.
      return { name, fd, bytes: name === this.#fileName ? this.#end : fstatSync(fd).size };
    };
    return {
      seqNext: this.#seqNext,
      arrivalNext: this.#arrivalNext,
      segments: this.#segments.map(({ name }) => opened(name)),
      keys: this.keys.files.map(opened),
    };
  }

  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#file?.close();
    // On a full disk the next start takes this stop for a crash, which loses nothing.
    await unlessFull(
      writeShutdownRecord(this.#options.dir, { seqNext: this.#seqNext, arrivalNext: this.#arrivalNext }),
    );
  }

  #kick(): void {
    if (this.#writing === undefined && this.#queue.length > 0) void this.#exclusively(this.#flush());
  }

  #exclusively(work: Promise<void>): Promise<void> {
    const writing = work.finally(() => {
      this.#writing = undefined;
      // What came in after the work had looked at the queue for the last time.
      this.#kick();
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
      this.#note(segment, record);
      publish(record);
    });
    for (const { where, problem } of scan.damage) reportDamage(where, problem);
    this.#segments = scan.segments.map((name) => segments.get(name) ?? emptySegment(name));
    this.#seqNext = Math.max(this.#seqNext, scan.seqNext);
    this.#arrivalNext = Math.max(this.#arrivalNext, scan.arrivalNext);
    this.#list = new SegmentList(dir, scan.listVersion);
    // On a full disk searches go on; the first append that finds room opens the segment.
    await unlessFull(this.#openSegment(journalSegmentBytes));
    await removeShutdownRecord(dir);
  }

  async #flush(): Promise<void> {
    // One turn's delay gathers what arrives together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const group = this.#takeGroup();
      const headers = this.#numberGroup(group);
      try {
        await this.#write(group, headers);
      } catch (error) {
        await this.#rollBack();
        const failure = writeFailure(error);
        this.#refused = { message: failure.message, atMs: this.#options.now() };
        for (const waiting of group) waiting.reject(failure);
        continue;
      } finally {
        for (const waiting of group) this.#queueBytes -= waiting.frame.byteLength;
      }
      this.#refused = undefined;
      this.#publishGroup(group, headers);
    }
  }

  /** As many batches as fit one segment, at least one. */
  #takeGroup(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      bytes += recordLength(waiting.frame.byteLength);
      if (count > 0 && bytes > journalSegmentBytes) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  #numberGroup(group: Waiting[]): RecordHeader[] {
    let seq = this.#seqNext;
    let arrivalBase = this.#arrivalNext;
    return group.map((waiting) => {
      const header = {
        signal: waiting.signal,
        seq: seq++,
        arrivalBase,
        appendedMs: this.#options.now(),
        keyUntilMs: waiting.keyUntilMs,
        rows: waiting.rows,
        frameBytes: waiting.frame.byteLength,
        keyHash: waiting.keyHash,
      };
      arrivalBase += waiting.rows;
      return header;
    });
  }

  async #write(group: Waiting[], headers: RecordHeader[]): Promise<void> {
    const parts: Uint8Array[] = [];
    let byteLength = 0;
    for (const [i, { frame }] of group.entries()) {
      parts.push(writeRecordHeader(headers[i]!), frame);
      const padding = align8(frame.byteLength) - frame.byteLength;
      if (padding > 0) parts.push(Buffer.alloc(padding));
      byteLength += recordHeaderBytes + frame.byteLength + padding;
    }
    if (this.#file === undefined || this.#end + byteLength > this.#fileBytes) {
      await this.#openSegment(Math.max(journalSegmentBytes, byteLength));
    }
    const file = this.#file!;
    const { bytesWritten } = await file.writev(parts, this.#end);
    if (bytesWritten !== byteLength) throw new Failure("disk-full", diskFullMessage);
    await file.datasync();
    this.#end += byteLength;
  }

  #publishGroup(group: Waiting[], headers: RecordHeader[]): void {
    const segment = this.#segments.at(-1)!;
    for (const [i, waiting] of group.entries()) {
      const header = headers[i]!;
      this.#seqNext = header.seq + 1;
      this.#arrivalNext = header.arrivalBase + header.rows;
      const record = { ...header, frame: waiting.frame };
      this.#note(segment, record);
      this.#options.publish(record);
      waiting.resolve(record);
    }
  }

  #note(segment: Segment, record: JournalRecord): void {
    segment.seqMax = record.seq;
    segment.arrivalMax = record.arrivalBase + record.rows - 1;
    segment.bytes += recordLength(record.frameBytes);
    if (record.keyHash === undefined) return;
    segment.keyHashes.push(record.keyHash);
    this.keys.add(record.keyHash, { rows: record.rows, untilMs: record.keyUntilMs });
  }

  #pathOf(name: string): string {
    return join(this.#options.dir, name);
  }

  #writeList(): Promise<void> {
    return this.#list.write({ segments: this.#segments.map(({ name }) => name), keys: this.keys.files });
  }

  /** Makes what a failed write left behind zeros again; where even that fails, the segment is given up. */
  async #rollBack(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    try {
      await file.truncate(this.#end);
      await file.truncate(this.#fileBytes);
      await file.datasync();
    } catch {
      this.#file = undefined;
      await file.close();
    }
  }

  async #openSegment(fileBytes: number): Promise<void> {
    const { dir } = this.#options;
    const previous = this.#file;
    const name = `${String(this.#seqNext).padStart(12, "0")}.log`;
    const path = this.#pathOf(name);
    const others = this.#segments.filter((segment) => segment.name !== name);
    if (others.length < this.#segments.length || !this.#list.isWritten) {
      // One of that name got no batch yet. It is made anew, and must not count as cut short if that is interrupted.
      // The first list comes before the first segment: where segments stand without one, it was lost.
      this.#segments = others;
      await this.#writeList();
    }
    const file = await open(path, "w+");
    try {
      await file.truncate(fileBytes);
      await file.sync();
      await syncFolder(dir);
      this.#segments = [...others, emptySegment(name)];
      await this.#writeList();
    } catch (error) {
      this.#segments = others;
      await file.close();
      await rm(path, { force: true });
      throw error;
    }
    this.#file = file;
    this.#fileName = name;
    this.#fileBytes = fileBytes;
    this.#end = 0;
    await previous?.close();
  }
}

function emptySegment(name: string): Segment {
  return { name, seqMax: 0, arrivalMax: 0, keyHashes: [], bytes: 0 };
}

function writeFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isDiskFull(error)) return new Failure("disk-full", diskFullMessage, { cause: error });
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  return new Failure("overload", `the journal could not be written (${code}); try again`, { cause: error });
}
