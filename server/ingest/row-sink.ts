/** Where the rows of one body go, and those that cannot be stored. */

import {
  BatchDraft,
  type EncodedBatch,
  type LogRow,
  type RowRanges,
  type RowSignal,
} from "../../engine/index.ts";
import { ingestKeysMax, ingestRowsMax, refusedRowsListed } from "../limits.ts";
import { Refusal } from "../route.ts";
import { RowProblem } from "./json-row.ts";
import type { RefusedKind, RefusedLine } from "./protocol.ts";

export class RowSink {
  readonly draft: BatchDraft;
  readonly arrivalMs: number;
  /** Rows without a time of their own. */
  untimed = 0;
  /** Rows that were read, be they taken or not. */
  rows = 0;
  /** The first ones, in the order of the body. */
  readonly refused: RefusedLine[] = [];
  readonly refusedByKind = new Map<RefusedKind, number>();

  constructor(signal: RowSignal, arrivalMs: number) {
    this.draft = new BatchDraft(signal, { nowMs: arrivalMs });
    this.arrivalMs = arrivalMs;
  }

  /** Takes a row whose parts lie in the bytes that the draft reads. */
  add(row: RowRanges): void {
    this.#count();
    const reason = this.draft.add(row);
    if (reason !== undefined) this.#refuse("row", reason);
  }

  /** Takes a row in text. Throws RowProblem where the body has too many keys. */
  addText(row: LogRow): void {
    this.#checkKeys(row.attributes);
    this.#count();
    const reason = this.draft.addLogRow(row);
    if (reason !== undefined) this.#refuse("row", reason);
  }

  /** Counts a row that could not be read. */
  refuse({ kind, message }: RowProblem): void {
    this.#count();
    this.#refuse(kind, message);
  }

  /** The time of a row that came without one. */
  arrivalNs(): bigint {
    this.untimed++;
    return BigInt(this.arrivalMs) * 1_000_000n;
  }

  finish(): EncodedBatch {
    return this.draft.finish();
  }

  #count(): void {
    if (++this.rows > ingestRowsMax) throw tooManyRows;
  }

  #refuse(kind: RefusedKind, reason: string): void {
    this.refusedByKind.set(kind, (this.refusedByKind.get(kind) ?? 0) + 1);
    if (this.refused.length < refusedRowsListed) this.refused.push({ line: this.rows, reason });
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

export const tooManyRows = new Refusal(
  413,
  `the body has more than ${ingestRowsMax} rows: send it in smaller parts`,
);
