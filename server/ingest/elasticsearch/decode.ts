/**
 * Decodes bodies of Elasticsearch's bulk API, and single documents, into log rows, and writes the answer, which reports
 * on each action.
 */

import { isUtf8 } from "node:buffer";
import { Refusal } from "../../throttle/refusal.ts";
import type { BodyTask } from "../decode-task.ts";
import type { RowSink } from "../row-sink.ts";
import type { BulkAction } from "./action.ts";
import { writeItem } from "./bulk-answer.ts";
import { BulkReader } from "./bulk-reader.ts";
import { DocumentSink } from "./document-sink.ts";
import { filterPaths } from "./filter-path.ts";

/** The names of the parameters of a task that Elasticsearch's formats read. */
export const bulkParameters = { filterPath: "filter_path", action: "action", id: "id" } as const;

/** Reads a bulk body; the task's index is for actions that name none themselves. */
export function readBulk(body: Buffer, sink: RowSink, task: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const reader = new BulkReader(body, sink, task);
  reader.read();
  if (reader.answer.count === 0)
    throw new Refusal(400, "the body must hold actions and documents, line by line");
  const answer = reader.answer.toString();
  const paths = task.parameters?.[bulkParameters.filterPath];
  sink.answer = paths === undefined ? answer : JSON.stringify(filterPaths(JSON.parse(answer), paths));
}

/** Reads a body that is one document, whose action and id are the task's parameters. */
export function readSingleDocument(body: Buffer, sink: RowSink, task: BodyTask): void {
  if (!isUtf8(body)) throw new Refusal(400, "the body is not valid UTF-8");
  const { parameters = {}, index } = task;
  const action: BulkAction = {
    name: parameters[bulkParameters.action] === "create" ? "create" : "index",
    index,
    id: parameters[bulkParameters.id] ?? "",
  };
  const documents = new DocumentSink(sink, task);
  const text = body.toString("utf8");
  const error = documents.add(action, text.trim() === "" ? undefined : text);
  documents.finish();
  sink.answer = writeItem(action, 0, error);
}
