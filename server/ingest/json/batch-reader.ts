/** Rows of a body become a batch of their signal. */

import {
  BatchDraft,
  type CensusTables,
  type EncodedBatch,
  type EntryTally,
  type LogRow,
  type RowSignal,
  SampleDraft,
  SeriesCensus,
} from "../../../engine/index.ts";
import { termsOf } from "../admission.ts";
import type { BodyTask } from "../decode-task.ts";
import { ingestKeysMax } from "../limits.ts";
import { flattenedRow, mayBeJson, rowOfRanges } from "./flat-message.ts";
import { JsonLines } from "./json-lines.ts";
import { RowProblem } from "./json-row.ts";
import { LogForm } from "./log-form.ts";
import { type ReadRow, readBodyRow, readLogRow } from "./log-row.ts";
import { readMetricRow } from "./metric-row.ts";
import { SpanForm } from "./span-form.ts";
import { readSpanRow } from "./span-row.ts";

/** Takes the rows of one body, one after the other. */
export interface BatchReader {
  /** Rows without a time of their own. */
  readonly untimed: number;
  /** Takes the row at [from, to); returns why it cannot be stored, if so. Throws RowProblem where it cannot be read. */
  take(from: number, to: number): string | undefined;
  readonly tally: EntryTally;
  finish(): EncodedBatch;
}

/** Of signals that are stored as rows. Escapes in strings are decoded in place: the body is not to be read again. */
export class RowReader implements BatchReader {
  readonly #body: Buffer;
  readonly #draft: BatchDraft;
  /** Reads rows of the usual shape, where there are enough of them to be worth it. */
  readonly #lines: JsonLines | undefined;
  readonly #readUnusual: (text: string) => ReadRow;
  readonly #flattensJson: boolean;
  #logs: LogForm | undefined;
  #untimed = 0;

  constructor(signal: RowSignal, body: Buffer, task: BodyTask) {
    const { arrivalMs, flattensJson } = task;
    this.#flattensJson = flattensJson && signal === "logs";
    this.#body = body;
    this.#draft = new BatchDraft(signal, termsOf(task));
    this.#draft.read(body);
    this.#lines = this.#linesOf(signal, arrivalMs);
    const arrivalNs = BigInt(arrivalMs) * 1_000_000n;
    if (signal === "traces") this.#readUnusual = (text) => ({ row: readSpanRow(text), timed: true });
    else this.#readUnusual = (text) => (signal === "logs" ? readLogRow : readBodyRow)(text, arrivalNs);
  }

  get untimed(): number {
    return this.#untimed + (this.#logs?.untimed ?? 0);
  }

  get tally(): EntryTally {
    return this.#draft.tally;
  }

  take(from: number, to: number): string | undefined {
    const usual = this.#lines?.read(from, to);
    if (usual !== undefined && !(this.#flattensJson && mayBeJson(usual, this.#body))) {
      return this.#draft.add(usual);
    }
    if (usual !== undefined) return this.#addText(rowOfRanges(usual, this.#body, this.#draft));
    const { row, timed } = this.#readUnusual(this.#body.toString("utf8", from, to));
    const reason = this.#addText(row);
    if (!timed) this.#untimed++;
    return reason;
  }

  #addText(given: LogRow): string | undefined {
    const row = this.#flattensJson ? flattenedRow(given) : given;
    this.#checkKeys(row.attributes);
    return this.#draft.addLogRow(row);
  }

  finish(): EncodedBatch {
    return this.#draft.finish();
  }

  #linesOf(signal: RowSignal, arrivalMs: number): JsonLines | undefined {
    switch (signal) {
      case "logs":
        return new JsonLines(this.#body, this.#draft, (scanner) => {
          this.#logs = new LogForm(scanner, arrivalMs);
          return this.#logs;
        });
      case "traces":
        return new JsonLines(this.#body, this.#draft, (scanner, draft) => new SpanForm(scanner, draft));
      default:
        return undefined;
    }
  }

  /** Throws RowProblem where a row would bring more keys than a body may have. */
  #checkKeys(attributes: Readonly<Record<string, string>>): void {
    let keys = this.#draft.keyCount;
    for (const key in attributes) {
      if (this.#draft.findKeyText(key) < 0 && ++keys > ingestKeysMax) {
        throw new RowProblem("field", `the body has more than ${ingestKeysMax} distinct attribute keys`);
      }
    }
  }
}

/** Of metrics: a row may become several samples. */
export class SampleReader implements BatchReader {
  untimed = 0;
  readonly #body: Buffer;
  readonly #draft: SampleDraft;
  readonly #arrivalNs: bigint;

  constructor(body: Buffer, task: BodyTask, census: CensusTables) {
    this.#body = body;
    this.#draft = new SampleDraft({ ...termsOf(task), census: new SeriesCensus(census) });
    this.#arrivalNs = BigInt(task.arrivalMs) * 1_000_000n;
  }

  get tally(): EntryTally {
    return this.#draft.tally;
  }

  take(from: number, to: number): string | undefined {
    const { samples, timed } = readMetricRow(this.#body.toString("utf8", from, to), this.#arrivalNs);
    if (!timed) this.untimed++;
    for (const sample of samples) {
      const reason = this.#draft.addSample(sample);
      if (reason !== undefined) return reason;
    }
    return undefined;
  }

  finish(): EncodedBatch {
    return this.#draft.finish();
  }
}
