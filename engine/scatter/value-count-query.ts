/** Counts the rows of each value of every field over all scan threads. */

import { fieldKey } from "../plan/filter.ts";
import type { QueryControl } from "../plan/query-control.ts";
import type { FieldValueCounts, ValueCounts, ValuesQuery } from "../plan/row-query.ts";
import type { ValueCountAnswer } from "../scan/value-count-scan.ts";
import { type QueryContext, scatterGather, sumScanStatistics } from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryValueCounts(context: QueryContext, query: ValuesQuery): Promise<ValueCounts> {
  const { control } = context;
  const { fromNs, toNs, steps, valuesMax } = query;
  const answers = await scatterGather<ValueCountAnswer>(context, query, (chunks) => {
    return { kind: "values", chunks, fromNs, toNs, steps, valuesMax, control };
  });
  return {
    rows: answers.reduce((sum, { rows }) => sum + rows, 0),
    fields: await mergeFields(answers, valuesMax, control),
    isWhole: answers.every(({ isWhole }) => isWhole),
    scanned: sumScanStatistics(answers),
  };
}

async function mergeFields(
  answers: readonly ValueCountAnswer[],
  valuesMax: number,
  control: QueryControl,
): Promise<FieldValueCounts[]> {
  const merged = new Map<string, FieldValueCounts>();
  let visited = 0;
  for (const { field, values, counts } of answers.flatMap(({ fields }) => fields)) {
    visited += 1 + (values?.length ?? 0);
    if (visited >= mergedATurn) {
      await letOthersRun(control);
      visited = 0;
    }
    const name = fieldKey(field);
    const own = merged.get(name) ?? { field, values: new Map<string, number>() };
    merged.set(name, own);
    if (values === undefined) own.values = undefined;
    for (const [i, value] of values?.entries() ?? [])
      own.values?.set(value, (own.values.get(value) ?? 0) + counts[i]!);
    if (field.kind !== "template" && (own.values?.size ?? 0) > valuesMax) own.values = undefined;
  }
  return [...merged.values()];
}
