/** Reads some fields of the matching rows as columns, over all scan threads. */

import { Failure } from "../failure.ts";
import type { QueryControl } from "../plan/query-control.ts";
import type { ColumnData, RowColumns, RowColumnsQuery } from "../plan/row-query.ts";
import type { RowColumnsAnswer } from "../scan/row-columns-scan.ts";
import { joinBytes, joinFloats, joinInts } from "../vector/joined.ts";
import { type QueryContext, scatterGather, sumScanStatistics } from "./scatter-gather.ts";
import { letOthersRun, mergedATurn } from "./turn-taking.ts";

/** Throws Failure "input", "deadline", "cancelled", "limit". */
export async function queryRowColumns(context: QueryContext, query: RowColumnsQuery): Promise<RowColumns> {
  const { control } = context;
  const { fromNs, toNs, steps, columns: reads, conditions = [], withArrivals = false, rowsMax } = query;
  const answers = await scatterGather<RowColumnsAnswer>(context, query, (chunks) => {
    return {
      kind: "columns",
      chunks,
      fromNs,
      toNs,
      steps,
      reads,
      conditions,
      withArrivals,
      rowsMax,
      control,
    };
  });
  const rows = answers.reduce((sum, { timeNs }) => sum + timeNs.length, 0);
  if (rows > rowsMax) throw new Failure("limit", `the query finds more than ${rowsMax} rows`);
  const timeNs = joinFloats(answers.map((answer) => answer.timeNs));
  const arrivals = joinFloats(answers.map((answer) => answer.arrivals));
  const passed = conditions.map((_, i) => joinBytes(answers.map((answer) => answer.conditions[i]!)));
  const columns: ColumnData[] = [];
  for (const [i, { as }] of reads.entries()) {
    await letOthersRun(control);
    const parts = answers.map((answer) => answer.columns[i]!);
    columns.push(as === "text" ? await joinTexts(parts, rows, control) : joinNumbers(as, parts));
  }
  return { rows, timeNs, columns, arrivals, conditions: passed, scanned: sumScanStatistics(answers) };
}

function joinNumbers(as: "number" | "hash", parts: readonly ColumnData[]): ColumnData {
  if (as === "number") {
    return { as, values: joinFloats(parts.flatMap((part) => (part.as === "number" ? [part.values] : []))) };
  }
  const hashes = parts.flatMap((part) => (part.as === "hash" ? [part] : []));
  return { as, low: joinInts(hashes.map(({ low }) => low)), high: joinInts(hashes.map(({ high }) => high)) };
}

/** Each thread has numbered its texts by itself: the texts are numbered anew. */
async function joinTexts(
  parts: readonly ColumnData[],
  rows: number,
  control: QueryControl,
): Promise<ColumnData> {
  const codeOf = new Map([["", 0]]);
  const codes = new Uint32Array(rows);
  let at = 0;
  for (const part of parts) {
    if (part.as !== "text") continue;
    const renumbered = new Uint32Array(part.values.length);
    for (const [i, text] of part.values.entries()) {
      if (i % mergedATurn === mergedATurn - 1) await letOthersRun(control);
      const code = codeOf.get(text) ?? codeOf.size;
      codeOf.set(text, code);
      renumbered[i] = code;
    }
    await letOthersRun(control);
    for (const code of part.codes) codes[at++] = renumbered[code]!;
  }
  return { as: "text", codes, values: [...codeOf.keys()] };
}
