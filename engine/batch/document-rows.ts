/** Reads documents of Elasticsearch into the columns of a batch in WebAssembly, but for those of unusual shapes. */

import type { ByteSource } from "../vector/text-table.ts";
import { type DocumentStop, documentStops } from "./batch-kernels.ts";
import { type JsonReading, JsonRows, type KeyKinds } from "./json-rows.ts";
import type { RowRules } from "./kernel-rows.ts";
import type { MemoryColumns } from "./memory-columns.ts";

/** The names of each field of a document, in the order of preference; at most 32 of each. */
export interface DocumentNames {
  time: readonly string[];
  message: readonly string[];
  level: readonly string[];
  levelNumber: readonly string[];
  /** A document that has such a field is left to the caller. */
  unusual: readonly string[];
  /** The first is the key under which each document gets the name of its service. */
  service: readonly string[];
  namespace: readonly string[];
  /** What a service is named after that has no name: a deployment, and so on. There are six. */
  workloads: readonly (readonly string[])[];
}

/** What the caller knows of documents. */
export interface DocumentForm extends JsonReading {
  areDocuments: true;
  names: DocumentNames;
  /** The keys under which each document has its index and its id. */
  indexKey: string;
  idKey: string;
}

/** Shifts of a field and of the number of its name in the kind of a key; see assembly/documents/documentfields.ts. */
const fieldShift = 9;
const nameShift = 4;

/** Bytes after a body for the texts that documents get: their index, their id, and the name of their service. */
export const documentRoomBytes = 8 * 1024;
/** Bytes of the index and the id of documents that are read here. */
const documentTextBytesMax = 2 * 1024;

/** The number of the field that each name stands for; assembly/documents/documentfields.ts has the numbers, from 1. */
function toFieldKinds(names: DocumentNames): KeyKinds {
  const { time, message, level, levelNumber, unusual, service, namespace, workloads } = names;
  const fields = [time, message, level, levelNumber, unusual, service, namespace, ...workloads];
  return fields.flatMap((list, field) =>
    list.map((name, i) => [name, ((field + 1) << fieldShift) | (i << nameShift)] as const),
  );
}

/** Documents that are read from one body of actions and documents, line by line. */
export class DocumentRows extends JsonRows {
  readonly #bodyEnd: number;

  /** The source are the bytes of the body, and `documentRoomBytes` after them. */
  constructor(columns: MemoryColumns, source: ByteSource, form: DocumentForm, rules: RowRules) {
    super(columns, source, form, toFieldKinds(form.names), rules);
    this.#bodyEnd = source.bytes.length - documentRoomBytes;
    this.columns.kernels.beginBulk();
    const [service, index, id] = [form.names.service[0]!, form.indexKey, form.idKey].map((key) => {
      const to = columns.scratch.write(key, 0);
      return columns.addKey(columns.scratch.source, 0, to);
    });
    this.columns.kernels.setDocumentKeys(service!, index!, id!);
  }

  /** Reads documents of the known action from where the last call stopped, at most `rowsMax`. */
  readDocuments(rowsMax: number): DocumentStop {
    return documentStops[this.columns.kernels.readDocuments(this.at(this.#bodyEnd), rowsMax)]!;
  }

  /** Where the pair of lines begins that was read last, and how many lines are before it. */
  get lastPair(): { from: number; linesBefore: number } {
    return { from: this.columns.kernels.pairFrom(), linesBefore: this.columns.kernels.linesBeforePair() };
  }

  /**
   * Makes the action at [from, to) the known one, and the index and id of its documents. Returns false where these are too
   * long.
   */
  setAction(from: number, to: number, index: string, id: string): boolean {
    // A UTF-16 unit takes at most three bytes of UTF-8.
    if ((index.length + id.length) * 3 > documentTextBytesMax) return false;
    const indexTo = this.#bodyEnd + this.bytes.write(index, this.#bodyEnd, "utf8");
    const idTo = indexTo + this.bytes.write(id, indexTo, "utf8");
    const { kernels } = this.columns;
    kernels.setAction(this.at(from), this.at(to));
    const roomTo = this.at(this.#bodyEnd + documentRoomBytes);
    kernels.setDocumentTexts(this.at(this.#bodyEnd), this.at(indexTo), this.at(idTo), roomTo);
    return true;
  }

  /** Goes on with the line at `from`, before which there are so many. */
  continueAt(from: number, linesBefore: number): void {
    this.columns.kernels.continueLines(this.at(from), linesBefore);
  }
}
