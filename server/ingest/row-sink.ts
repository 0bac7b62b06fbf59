/** Where the rows or samples of one body go, and those that cannot be stored. */

import {
  ActiveSeries,
  type ActiveSeriesTables,
  type AdmissionCounts,
  BatchBuilder,
  type EncodedBatch,
  type LogRow,
  type RowRanges,
  type RowSignal,
  type Sample,
  SampleBatchBuilder,
} from "../../engine/index.ts";
import { Refusal } from "../limits/refusal.ts";
import { termsOf } from "./admission.ts";
import type { BodyTask, RefusedKind, RefusedLine } from "./decode-task.ts";
import { flattenedRow, mayBeJson, rowOfRanges } from "./json/flat-message.ts";
import { RowProblem } from "./json/json-row.ts";
import { ingestKeysMax, ingestRepeatedBytesMax, ingestRowsMax, refusedRowsListed } from "./limits.ts";
import type { Family } from "./prometheus/families.ts";

export abstract class Sink {
  readonly arrivalMs: number;
  /** What the body tells of metric families, which is not kept with the samples. */
  families: Family[] | undefined;
  /** What the sender is to be answered once the rows are on disk, where the protocol tells of each row. */
  answer: string | undefined;
  /** Rows without a time of their own. */
  untimed = 0;
  /** Rows that were read, be they taken or not. */
  rows = 0;
  /** The first ones, in the order of the body. */
  readonly refused: RefusedLine[] = [];
  readonly refusedByKind = new Map<RefusedKind, number>();
  #repeatedBytes = 0;

  constructor(arrivalMs: number) {
    this.arrivalMs = arrivalMs;
  }

  abstract get tally(): AdmissionCounts;
  abstract finish(): EncodedBatch;

  /** Counts a row that could not be read. */
  refuse({ kind, message }: RowProblem): void {
    this.count(message, kind);
  }

  /** Counts bytes that a row has from what the body says for many rows. Throws Refusal 413 where they are too many. */
  repeat(bytes: number): void {
    this.#repeatedBytes += bytes;
    if (this.#repeatedBytes <= ingestRepeatedBytesMax) return;
    throw new Refusal(413, "the rows of the body share too much with each other: send it in smaller parts");
  }

  /** The time of a row that came without one. */
  arrivalNs(): bigint {
    this.untimed++;
    return BigInt(this.arrivalMs) * 1_000_000n;
  }

  /** Counts a row that was read, and why it cannot be stored, if so. Throws Refusal 413 at one too many. */
  count(reason: string | undefined, kind: RefusedKind = "row"): string | undefined {
    if (++this.rows > ingestRowsMax) throw tooManyRows;
    if (reason !== undefined) this.refuseLine(this.rows, kind, reason);
    return reason;
  }

  /** Counts a row that was read from a line, or an element, of its own number. Throws Refusal 413 at one too many. */
  countLine(line: number, reason: string | undefined): void {
    if (++this.rows > ingestRowsMax) throw tooManyRows;
    if (reason !== undefined) this.refuseLine(line, "row", reason);
  }

  /** Notes that a line, or an element, holds no row that can be stored. */
  refuseLine(line: number, kind: RefusedKind, reason: string): void {
    this.refusedByKind.set(kind, (this.refusedByKind.get(kind) ?? 0) + 1);
    if (this.refused.length < refusedRowsListed) this.refused.push({ line, reason });
  }
}

export class RowSink extends Sink {
  readonly signal: RowSignal;
  readonly draft: BatchBuilder;
  /** Messages that are JSON objects become attributes. */
  readonly flattensJson: boolean;

  constructor(signal: RowSignal, task: BodyTask) {
    super(task.arrivalMs);
    this.signal = signal;
    this.draft = new BatchBuilder(signal, termsOf(task));
    this.flattensJson = task.flattensJson && signal === "logs";
  }

  get tally(): AdmissionCounts {
    return this.draft.counts;
  }

  /** Takes a row whose parts lie in `bytes`, which the draft reads. */
  add(row: RowRanges, bytes: Buffer): void {
    if (this.flattensJson && mayBeJson(row, bytes)) this.addText(rowOfRanges(row, bytes, this.draft));
    else this.count(this.draft.add(row));
  }

  /** Takes a row in text, or returns why it cannot be stored. Throws RowProblem where the body has too many keys. */
  addText(given: LogRow): string | undefined {
    return this.count(this.addUncounted(given));
  }

  /** The same, but the caller counts the row. */
  addUncounted(given: LogRow): string | undefined {
    const row = this.flattensJson ? flattenedRow(given) : given;
    this.#checkKeys(row.attributes);
    return this.draft.addLogRow(row);
  }

  finish(): EncodedBatch {
    return this.draft.finish();
  }

  #checkKeys(attributes: Readonly<Record<string, string>>): void {
    let keys = this.draft.keyCount;
    for (const key in attributes) {
      if (this.draft.findKeyText(key) < 0 && ++keys > ingestKeysMax) {
        throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
      }
    }
  }
}

export class SampleSink extends Sink {
  readonly draft: SampleBatchBuilder;

  constructor(task: BodyTask, census: ActiveSeriesTables) {
    super(task.arrivalMs);
    this.draft = new SampleBatchBuilder({ ...termsOf(task), census: new ActiveSeries(census) });
  }

  get tally(): AdmissionCounts {
    return this.draft.counts;
  }

  /** Takes the samples of one point, which counts as one row; returns why one of them cannot be stored. */
  addPoint(samples: readonly Sample[]): string | undefined {
    let reason: string | undefined;
    for (const { labels } of samples.slice(0, 1)) this.repeat(labelBytes(labels) * samples.length);
    for (const sample of samples) reason = this.draft.addSample(sample) ?? reason;
    return this.count(reason);
  }

  finish(): EncodedBatch {
    return this.draft.finish();
  }
}

function labelBytes(labels: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const key in labels) bytes += key.length + labels[key]!.length;
  return bytes;
}

const tooManyRows = new Refusal(
  413,
  `the body has more than ${ingestRowsMax} rows: send it in smaller parts`,
);
