/** Reads bodies of JSON objects in the forms of other protocols: an array, lines, or one object after the other. */

import { isUtf8 } from "node:buffer";
import type { LogRow } from "../../../engine/index.ts";
import type { RowSink } from "../row-sink.ts";
import { type JsonFields, type OnNumber, readJsonRow } from "./json-row.ts";
import { forEachObject } from "./row-splitter.ts";

/**
 * Adds the row that `makeRow` makes of each object; undefined stands for an object that is none. It may throw
 * RowProblem. Throws Refusal.
 */
export function readJsonObjects(
  body: Buffer,
  sink: RowSink,
  makeRow: (json: JsonFields, onNumber: OnNumber) => LogRow | undefined,
): void {
  // Rows are checked one by one only where the body as a whole is not valid UTF-8.
  const isValidBody = isUtf8(body);
  forEachObject(body, (from, to, number) => {
    if (!isValidBody && !isUtf8(body.subarray(from, to))) {
      sink.countLine(number, "not valid UTF-8", "encoding");
      return;
    }
    sink.refuseLineOnProblem(number, () => {
      const row = readJsonRow(body.toString("utf8", from, to), makeRow);
      return row === undefined ? undefined : sink.addUncounted(row);
    });
  });
}
