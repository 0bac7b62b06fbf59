/** Counts of fields over the scan threads: their parts become one answer. */

import type { RowSignal } from "../model/signal.ts";
import type { Step } from "../plan/filter.ts";
import type { Scanned } from "../plan/scan-statistics.ts";
import type { Control, FieldsAnswer } from "../threads/protocol.ts";
import { askShards, type Dispatch, scannedBy } from "./scatter-gather.ts";

export interface FieldsQuery {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: Step[];
}

/** Rows that match, and those of them that bear a field. */
export interface FieldCounts {
  rows: number;
  /** With a level that is not empty. */
  levels: number;
  /** By attribute key; what stages extract is among them. */
  attributes: Map<string, number>;
  /** False where there are more keys than are counted. */
  isWhole: boolean;
  scanned: Scanned;
}

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
