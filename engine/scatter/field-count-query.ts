/** Counts of fields over the scan threads: their parts become one answer. */

import type { Control } from "../plan/query-control.ts";
import type { FieldCounts, FieldsQuery } from "../plan/row-query.ts";
import type { FieldsAnswer } from "../scan/field-count-scan.ts";
import { askShards, type Dispatch, scannedBy } from "./scatter-gather.ts";

export async function dispatchFields(
  dispatch: Dispatch,
  query: FieldsQuery,
  control: Control,
): Promise<FieldCounts> {
  const { fromNs, toNs, steps } = query;
  const answers = await askShards<FieldsAnswer>(dispatch, query, control, (chunks) => {
    return { kind: "fields", chunks, fromNs, toNs, steps, control };
  });
  const attributes = new Map<string, number>();
  for (const { keys, counts } of answers) {
    for (const [i, key] of keys.entries()) attributes.set(key, (attributes.get(key) ?? 0) + counts[i]!);
  }
  return {
    rows: answers.reduce((sum, { rows }) => sum + rows, 0),
    levels: answers.reduce((sum, { levels }) => sum + levels, 0),
    attributes,
    isWhole: answers.every(({ isWhole }) => isWhole),
    scanned: scannedBy(answers),
  };
}
