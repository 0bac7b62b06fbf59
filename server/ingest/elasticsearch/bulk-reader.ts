/**
 * Reads the pairs of actions and documents of a bulk body. Documents of the usual shape are read straight into the batch;
 * the others are parsed, as are actions that are not like the one before.
 */

import type { DocumentRows, DocumentStop } from "../../../engine/index.ts";
import type { BodyTask } from "../decode-task.ts";
import { idKey, indexKey } from "../documents/document-list.ts";
import {
  documentIdBytesMax,
  flatKeysMax,
  ingestKeysMax,
  ingestRowsMax,
  jsonRowLengthMax,
} from "../limits.ts";
import type { RowSink } from "../row-sink.ts";
import { type BulkAction, readAction } from "./action.ts";
import { BulkAnswer } from "./bulk-answer.ts";
import { BulkLines } from "./bulk-lines.ts";
import { documentNames } from "./document.ts";
import { DocumentSink } from "./document-sink.ts";

export class BulkReader {
  readonly answer = new BulkAnswer();
  readonly #body: Buffer;
  readonly #lines: BulkLines;
  readonly #sink: RowSink;
  readonly #documents: DocumentSink;
  readonly #index: string;
  /** The action whose documents are read straight into the batch, as long as it is repeated. */
  #known: BulkAction | undefined;

  constructor(body: Buffer, sink: RowSink, task: BodyTask) {
    this.#body = body;
    this.#lines = new BulkLines(body);
    this.#sink = sink;
    this.#documents = new DocumentSink(sink, task);
    this.#index = task.index;
  }

  /** Reads all pairs into the sink. Throws Refusal. */
  read(): void {
    const { arrivalMs, flattensJson, builder } = this.#sink;
    const rows = builder.readDocuments(this.#body, {
      ...({ signal: "logs", areDocuments: true } as const),
      ...{ start: 0, arrivalMs, flattensJson, keysMax: ingestKeysMax, membersMax: flatKeysMax },
      ...{ lengthMax: jsonRowLengthMax, names: documentNames, indexKey, idKey },
    });
    if (rows === undefined) this.#parsePairs();
    else this.#readPairs(rows);
    this.#documents.finish();
  }

  #parsePairs(): void {
    for (let action = this.#nextAction(); action !== undefined; action = this.#nextAction())
      this.#parseDocument(action);
  }

  #readPairs(rows: DocumentRows): void {
    for (;;) {
      const stop = rows.readDocuments(ingestRowsMax - this.#sink.rows);
      const isAtDocument = stop === "staged row" || stop === "unusual row";
      const stored = isAtDocument ? rows.rowsRead - 1 : rows.rowsRead;
      this.#sink.rows += stored;
      if (stored > 0) this.answer.addStored(this.#known!, stored);
      if (stop === "end" || !this.#finishPair(stop, rows)) break;
    }
    this.#sink.untimedRows += rows.finish();
  }

  /** Reads or adds what reading stopped at. Returns false where the body has no more. Throws Refusal. */
  #finishPair(stop: DocumentStop, rows: DocumentRows): boolean {
    const lines = this.#lines;
    if (stop === "staged row") {
      this.answer.add(this.#known!, this.#documents.addStaged(this.#known!, rows));
      return true;
    }
    if (stop === "unusual row") {
      const { from, line } = rows.lastRow;
      lines.continueAt(from, line - 1);
      this.#parseDocument(this.#known!);
    } else {
      const { from, linesBefore } = rows.lastPair;
      lines.continueAt(from, linesBefore);
      const action = this.#nextAction();
      if (action === undefined) return false;
      if (stop === "action" && this.#makeKnown(action, rows)) return true;
      this.#parseDocument(action);
    }
    rows.continueAt(lines.nextFrom, lines.number);
    return true;
  }

  /** Makes the action that was read last known. Returns false where its document has to be parsed. */
  #makeKnown(action: BulkAction, rows: DocumentRows): boolean {
    const { name, index, id } = action;
    const { from, to, number } = this.#lines;
    if (name === "update" || name === "delete" || Buffer.byteLength(id) > documentIdBytesMax) return false;
    if (!index.isWellFormed() || !id.isWellFormed() || !rows.setAction(from, to, index, id)) return false;
    this.#known = action;
    rows.continueAt(from, number - 1);
    return true;
  }

  /** Undefined at the end of the body. Throws Refusal. */
  #nextAction(): BulkAction | undefined {
    const line = this.#lines.next();
    return line === undefined ? undefined : readAction(line, this.#lines.number, this.#index);
  }

  /** Reads the document of an action, which is the next line, if there has to be one. Throws Refusal. */
  #parseDocument(action: BulkAction): void {
    const document = action.name === "delete" ? undefined : this.#lines.next();
    this.answer.add(action, this.#documents.add(action, document));
  }
}
