/** Adds documents to the rows of a body, unless one with the same id is stored. */

import type { DocumentRows } from "../../../engine/index.ts";
import type { BodyTask } from "../decode-task.ts";
import { DocumentList, digestOfDocument, documentKeys, idKey } from "../documents/document-list.ts";
import { RowProblem } from "../json/json-row.ts";
import { documentIdBytesMax } from "../limits.ts";
import type { RowSink } from "../row-sink.ts";
import type { BulkAction } from "./action.ts";
import type { ItemError } from "./bulk-answer.ts";
import { readDocument } from "./document.ts";

export class DocumentSink {
  readonly #sink: RowSink;
  readonly #documents: DocumentList;

  constructor(sink: RowSink, task: BodyTask) {
    this.#sink = sink;
    this.#documents = new DocumentList(task, digestOfDocument);
  }

  /** Adds the document of an action; returns why that is not possible, or undefined. */
  add(action: BulkAction, document: string | undefined): ItemError | undefined {
    const { name, index, id } = action;
    return this.#refuseOnProblem(() => {
      if (name === "delete" || name === "update") {
        throw new RowProblem("field", `rows are only added: ${name} is not possible`);
      }
      if (Buffer.byteLength(id) > documentIdBytesMax)
        throw new RowProblem("field", `_id is longer than ${documentIdBytesMax} bytes`);
      if (document === undefined) throw new RowProblem("json", "the document is missing");
      const row = readDocument(document, { index, id }, this.#sink);
      return this.#addUnlessTaken(action, row.attributes, () => this.#sink.addUncounted(row));
    });
  }

  /** As `add`, for a document that was read from its bytes. */
  addStaged(action: BulkAction, { stagedRow, bytes }: DocumentRows): ItemError | undefined {
    const attributes: Record<string, string> = { [idKey]: action.id };
    for (let i = 0; action.id !== "" && i < stagedRow.attributes; i++) {
      const key = this.#sink.builder.keyText(stagedRow.keys[i]!);
      if (documentKeys.has(key)) attributes[key] = bytes.toString("utf8", stagedRow.from[i], stagedRow.to[i]);
    }
    return this.#refuseOnProblem(() =>
      this.#addUnlessTaken(action, attributes, () => this.#sink.addUncountedRanges(stagedRow, bytes)),
    );
  }

  /** Says which documents with ids are among the rows. */
  finish(): void {
    this.#sink.documents = this.#documents.finish();
  }

  /** `attributes`: at least those that identify the document. `add` returns why the row cannot be stored. */
  #addUnlessTaken(
    { name, id }: BulkAction,
    attributes: Readonly<Record<string, string>>,
    add: () => string | undefined,
  ): ItemError | undefined {
    if (id !== "" && this.#documents.isTaken(attributes)) return makeConflict(name, id);
    const reason = this.#sink.countRow(add());
    if (reason !== undefined) return makeItemError(reason);
    if (id !== "") this.#documents.add();
    return undefined;
  }

  #refuseOnProblem(add: () => ItemError | undefined): ItemError | undefined {
    try {
      return add();
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      this.#sink.refuseRow(problem);
      return makeItemError(problem.message);
    }
  }
}

function makeItemError(reason: string): ItemError {
  return { status: 400, type: "document_parsing_exception", reason };
}

/** Elasticsearch would replace the document where the action is `index`. */
function makeConflict(name: BulkAction["name"], id: string): ItemError {
  const problem =
    name === "create"
      ? "document already exists (current version [1])"
      : "the document is stored already, and stored rows are not replaced";
  return {
    status: 409,
    type: "version_conflict_engine_exception",
    reason: `[${id}]: version conflict, ${problem}`,
  };
}
