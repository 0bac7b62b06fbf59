/** Collects the rows or samples of one body into a batch, and counts those that cannot be stored. */

import {
  ActiveSeries,
  type ActiveSeriesTables,
  type AdmissionCounts,
  BatchBuilder,
  type BatchColumns,
  type ChunkCaps,
  type EncodedBatch,
  type LogRow,
  type PieceKey,
  type RowRanges,
  type RowSignal,
  type Sample,
  SampleBatchBuilder,
} from "../../engine/index.ts";
import { Refusal } from "../throttle/refusal.ts";
import { makeAdmissionPolicy } from "./admission.ts";
import type { BodyDocuments, BodyPiece, BodyTask, RefusedKind, RefusedLine } from "./decode-task.ts";
import { canBeJson, flattenMessage, toLogRow } from "./json/flat-message.ts";
import { RowProblem } from "./json/json-row.ts";
import { ingestKeysMax, ingestRepeatedBytesMax, ingestRowsMax, refusedRowsListed } from "./limits.ts";
import type { Family } from "./prometheus/families.ts";

export abstract class Sink {
  readonly arrivalMs: number;
  /** Metric families that the body describes; they are not stored with the samples. */
  families: Family[] | undefined;
  /** The answer to the sender once the rows are on disk, where the protocol reports on each row. */
  answer: string | undefined;
  /** Documents with ids of the sender's own (Elasticsearch, journald). */
  documents: BodyDocuments | undefined;
  /** False where equal bodies may well be different rows, as of streams whose senders send nothing again. */
  isSentOnce = true;
  /** Bytes that packed parts of the body unpacked to. */
  innerBytes = 0;
  /** Rows without a time of their own. */
  untimedRows = 0;
  /** Events and links of spans that did not fit into their row. */
  cutElements = 0;
  /** Rows that were read, whether admitted or not. */
  rows = 0;
  /** The first refused rows, in the order of the body. */
  readonly refused: RefusedLine[] = [];
  readonly refusedByKind = new Map<RefusedKind, number>();
  /** Added to the numbers of refused lines. */
  linesBefore = 0;
  /** Idempotency keys of the pieces that were read so far; undefined for a body that is not in pieces. */
  protected keys: PieceKey[] | undefined;
  #repeatedBytes = 0;

  constructor(arrivalMs: number) {
    this.arrivalMs = arrivalMs;
  }

  abstract readonly builder: BatchBuilder | SampleBatchBuilder;

  get admissionCounts(): AdmissionCounts {
    return this.builder.counts;
  }

  abstract finish(): EncodedBatch;

  /** False where several pieces do not go together: some of their rows may be refused for it. */
  protected get mayHavePieces(): boolean {
    return true;
  }

  /**
   * Calls `read`, which adds the rows of a piece of the body and returns how many lines the piece has. Throws Refusal 413
   * where the piece cannot be in one batch with the previous ones.
   */
  readPiece({ keyHash: hash, firstLine }: BodyPiece, read: () => number): void {
    const rowsBefore = this.builder.rows;
    if (firstLine !== undefined) this.linesBefore = firstLine - 1;
    this.linesBefore += read();
    if (this.keys !== undefined && !this.mayHavePieces) throw tooManyKeys;
    this.keys ??= [];
    this.keys.push({ hash, rows: this.builder.rows - rowsBefore });
  }

  /** Gives the memory of the rows to the next body; the sink must not be used any more. */
  release(): void {
    this.builder.release();
  }

  /** Calls `addRow`; where it throws RowProblem, the row is refused. */
  refuseOnProblem(addRow: () => void): void {
    try {
      addRow();
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      this.refuseRow(problem);
    }
  }

  /** Counts a row that could not be read. */
  refuseRow({ kind, message }: RowProblem): void {
    this.countRow(message, kind);
  }

  /** How many rows may be added that each copy so many bytes from a part of the body that many rows share. */
  roomFor(repeatedBytes: number): number {
    const byBytes =
      repeatedBytes === 0
        ? ingestRowsMax
        : Math.floor((ingestRepeatedBytesMax - this.#repeatedBytes) / repeatedBytes);
    return Math.min(ingestRowsMax - this.rows, byBytes);
  }

  /**
   * Counts bytes that a row copies from a part of the body that many rows share. Throws Refusal 413 where they are too
   * many.
   */
  countRepeatedBytes(bytes: number): void {
    this.#repeatedBytes += bytes;
    if (this.#repeatedBytes <= ingestRepeatedBytesMax) return;
    throw new Refusal(413, "the rows of the body share too much with each other: send it in smaller parts");
  }

  /** The time of a row that came without one; counts the row. */
  arrivalNs(): bigint {
    this.untimedRows++;
    return BigInt(this.arrivalMs) * 1_000_000n;
  }

  /** Counts a row that was read; `reason` says why it cannot be stored. Throws Refusal 413 at one row too many. */
  countRow(reason: string | undefined, kind: RefusedKind = "row"): string | undefined {
    if (++this.rows > ingestRowsMax) throw tooManyRows;
    if (reason !== undefined) this.#refuseLine(this.rows, kind, reason);
    return reason;
  }

  /** Throws Refusal 413 where the body has as many rows as it may have, and one more comes. */
  checkRoom(): void {
    if (this.rows >= ingestRowsMax) throw tooManyRows;
  }

  /** Like `countRow`, for rows that are numbered by line or element. Throws Refusal 413 at one row too many. */
  countLine(line: number, reason?: string, kind: RefusedKind = "row"): void {
    if (++this.rows > ingestRowsMax) throw tooManyRows;
    if (reason !== undefined) this.#refuseLine(line, kind, reason);
  }

  /** Counts the row that `addRow` adds, which returns why the row cannot be stored; where it throws RowProblem, the row is refused. */
  refuseLineOnProblem(line: number, addRow: () => string | undefined): void {
    try {
      this.countLine(line, addRow());
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      this.countLine(line, problem.message, problem.kind);
    }
  }

  /** Records that a line or element holds no row that can be stored. */
  #refuseLine(line: number, kind: RefusedKind, reason: string): void {
    this.refusedByKind.set(kind, (this.refusedByKind.get(kind) ?? 0) + 1);
    if (this.refused.length < refusedRowsListed) this.refused.push({ line: this.linesBefore + line, reason });
  }
}

export class RowSink extends Sink {
  readonly signal: RowSignal;
  readonly builder: BatchBuilder;
  /** Log messages that are JSON objects become attributes. */
  readonly flattensJson: boolean;
  readonly #packedCaps: ChunkCaps | undefined;

  /** `columns`: where the rows are collected; the fastest by default. */
  constructor(signal: RowSignal, task: BodyTask, columns?: BatchColumns) {
    super(task.arrivalMs);
    this.signal = signal;
    this.builder = new BatchBuilder(signal, makeAdmissionPolicy(task), columns);
    this.flattensJson = task.flattensJson && signal === "logs";
    this.#packedCaps = task.packedCaps;
  }

  finish(): EncodedBatch {
    return this.builder.finish({ packedCaps: this.#packedCaps, keys: this.keys });
  }

  protected override get mayHavePieces(): boolean {
    return this.builder.keyCount <= ingestKeysMax / 2;
  }

  /** Adds a row whose ranges lie in `bytes`, which the builder reads. */
  add(row: RowRanges, bytes: Buffer): void {
    this.countRow(this.addUncountedRanges(row, bytes));
  }

  /** Like `add`, but the caller counts the row. Returns why it cannot be stored, or undefined. */
  addUncountedRanges(row: RowRanges, bytes: Buffer): string | undefined {
    const flattens = this.flattensJson && canBeJson(row, bytes);
    return flattens ? this.addUncounted(toLogRow(row, bytes, this.builder)) : this.builder.add(row);
  }

  /** Adds a row of texts, or returns why it cannot be stored. Throws RowProblem where the body has too many keys. */
  addText(sent: LogRow): string | undefined {
    return this.countRow(this.addUncounted(sent));
  }

  /** Like `addText`, but the caller counts the row. */
  addUncounted(sent: LogRow): string | undefined {
    const row = this.flattensJson ? flattenMessage(sent) : sent;
    this.#checkKeys(row.attributes);
    return this.builder.addLogRow(row);
  }

  #checkKeys(attributes: Readonly<Record<string, string>>): void {
    let keys = this.builder.keyCount;
    for (const key in attributes) {
      if (this.builder.findKeyText(key) < 0 && ++keys > ingestKeysMax) {
        throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
      }
    }
  }
}

export class SampleSink extends Sink {
  readonly builder: SampleBatchBuilder;

  constructor(task: BodyTask, census: ActiveSeriesTables) {
    super(task.arrivalMs);
    this.builder = new SampleBatchBuilder({ ...makeAdmissionPolicy(task), census: new ActiveSeries(census) });
  }

  finish(): EncodedBatch {
    return this.builder.finish({ keys: this.keys });
  }

  /** Adds the samples of one point, which counts as one row; returns why one of them cannot be stored. */
  addPoint(samples: readonly Sample[]): string | undefined {
    let reason: string | undefined;
    this.countLabelCopies(samples);
    for (const sample of samples) reason = this.builder.addSample(sample) ?? reason;
    return this.countRow(reason);
  }

  /** Counts the labels that all samples of one point share. Throws Refusal 413 where they are too many. */
  countLabelCopies(samples: readonly Sample[]): void {
    const [first] = samples;
    if (first !== undefined) this.countRepeatedBytes(labelBytes(first.labels) * samples.length);
  }
}

/** Bytes that each sample of a point is charged for its labels. */
function labelBytes(labels: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const key in labels) bytes += key.length + labels[key]!.length;
  return bytes;
}

const tooManyRows = new Refusal(
  413,
  `the body has more than ${ingestRowsMax} rows: send it in smaller parts`,
);
const tooManyKeys = new Refusal(413, "the pieces of the body have too many attribute keys together");
