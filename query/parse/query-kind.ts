import { aggregations } from "../text/keywords.ts";
import { QueryError } from "../text/query-error.ts";
import { readSource } from "../text/source.ts";
import type { Expression } from "../tree/expression.ts";
import { parseExpression } from "./parser.ts";

/** What a query returns: log rows, spans, or timeseries. */
export type QueryKind = "logs" | "spans" | "series";

/** The start of a timeseries query: brackets and minus signs, then an aggregation before `(` or its grouping. */
const timeseriesStart = new RegExp(`^[\\s(-]*(?:${aggregations.join("|")})\\s*(?:\\(|(?:by|without)\\b)`);
/** The start of a search for spans: the word `traces`, alone or before what may follow a signal in a selector. */
const spanSearchStart = /^\s*traces\s*(?:$|[{|#]|!=|!~)/;

/**
 * What a query returns, judged by its beginning. A query that begins with an aggregation returns timeseries, with two
 * exceptions: `count(logs{…})` and `count(traces{…})` return the rows that they count.
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

/** The signal of `count(signal{…})`; undefined for any other expression. */
function countedSignalOf(tree: Expression): string | undefined {
  if (tree.kind !== "aggregate" || tree.op !== "count" || tree.grouping !== null) return undefined;
  return tree.of.kind === "selector" && tree.of.of.kind === "signal" ? tree.of.of.name : undefined;
}
