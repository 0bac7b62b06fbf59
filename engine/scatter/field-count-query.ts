/** Counts the rows that have each field over all scan threads. */

import type { FieldCounts, FieldsQuery } from "../plan/row-query.ts";
import type { FieldCountAnswer } from "../scan/field-count-scan.ts";
import { type QueryContext, scatterGather, sumScanStatistics } from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryFieldCounts(context: QueryContext, query: FieldsQuery): Promise<FieldCounts> {
  const { control } = context;
  const { fromNs, toNs, steps } = query;
  const answers = await scatterGather<FieldCountAnswer>(context, query, (chunks) => {
    return { kind: "fields", chunks, fromNs, toNs, steps, control };
  });
  const attributes = new Map<string, number>();
  for (const { keys, counts } of answers) {
    for (const [i, key] of keys.entries()) {
      if (i % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      attributes.set(key, (attributes.get(key) ?? 0) + counts[i]!);
    }
  }
  return {
    rows: answers.reduce((sum, { rows }) => sum + rows, 0),
    levels: answers.reduce((sum, { levels }) => sum + levels, 0),
    attributes,
    isWhole: answers.every(({ isWhole }) => isWhole),
    scanned: sumScanStatistics(answers),
  };
}
