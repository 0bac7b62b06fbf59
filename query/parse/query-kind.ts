import { aggregations } from "../text/keywords.ts";
import { QueryError } from "../text/query-error.ts";
import { readSource } from "../text/source.ts";
import type { Expression } from "../tree/expression.ts";
import { parseExpression } from "./parser.ts";

/** What a query gives: lines of logs, spans, or timeseries. */
export type QueryKind = "logs" | "spans" | "series";

/** How a text begins that calculates: brackets and signs, then an aggregation with its brackets or grouping. */
const timeseriesStart = new RegExp(`^[\\s(-]*(?:${aggregations.join("|")})\\s*(?:\\(|(?:by|without)\\b)`);
/** As the search for logs tells its own structured queries from terms: the word alone, or before what may follow a signal. */
const spanSearchStart = /^\s*traces\s*(?:$|[{|#]|!=|!~)/;

/**
 * What a text asks for. One that begins with an aggregation asks for timeseries, but for `count(logs{…})` and `count(traces{…})`, which find
 * the rows that they count.
 */
export function detectQueryKind(text: string): QueryKind {
  if (spanSearchStart.test(text)) return "spans";
  if (!timeseriesStart.test(text)) return "logs";
  try {
    const signal = countedSignalOf(parseExpression(readSource(text)));
    if (signal === "traces") return "spans";
    return signal === "logs" ? "logs" : "series";
  } catch (error) {
    if (error instanceof QueryError) return "series";
    throw error;
  }
}

/** The signal whose rows an expression counts, and nothing else. */
function countedSignalOf(tree: Expression): string | undefined {
  if (tree.kind !== "aggregate" || tree.op !== "count" || tree.grouping !== null) return undefined;
  return tree.of.kind === "selector" && tree.of.of.kind === "signal" ? tree.of.of.name : undefined;
}
