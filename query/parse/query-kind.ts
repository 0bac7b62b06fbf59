import { aggregations, type BodySignal, bodySignals } from "../text/keywords.ts";
import { QueryError } from "../text/query-error.ts";
import { readSource } from "../text/source.ts";
import type { Expression } from "../tree/expression.ts";
import { parseExpression } from "./parser.ts";

/** What a query returns: log rows, spans, rows of another signal, or timeseries. */
export type QueryKind = "logs" | "spans" | BodySignal | "series";

/** The start of a timeseries query: brackets and minus signs, then an aggregation before `(` or its grouping. */
const timeseriesStart = new RegExp(`^[\\s(-]*(?:${aggregations.join("|")})\\s*(?:\\(|(?:by|without)\\b)`);
/** The start of a search for other rows than logs: a signal, alone or before what may follow it in a selector. */
const signalStart = /^\s*(traces|profiles|kubernetes_resources)\s*(?:$|[{|#]|!=|!~)/;

/**
 * What a query returns, judged by its beginning. A query that begins with an aggregation returns timeseries, except
 * for `count(logs{…})`, `count(traces{…})` and so on, which return the rows that they count. With a window or an offset
 * these are timeseries, too.
 */
export function detectQueryKind(text: string): QueryKind {
  const selected = signalStart.exec(text)?.[1];
  if (selected !== undefined) return kindOfSignal(selected);
  if (!timeseriesStart.test(text)) return "logs";
  try {
    const signal = countedSignalOf(parseExpression(readSource(text)));
    return signal === undefined ? "series" : kindOfSignal(signal);
  } catch (error) {
    if (error instanceof QueryError) return "series";
    throw error;
  }
}

function kindOfSignal(signal: string): QueryKind {
  if (signal === "traces") return "spans";
  return bodySignals.find((each) => each === signal) ?? "logs";
}

/** The signal of `count(signal{…})`; undefined for any other expression. */
function countedSignalOf(tree: Expression): string | undefined {
  if (tree.kind !== "aggregate" || tree.op !== "count" || tree.grouping !== null) return undefined;
  if (tree.of.kind !== "selector" || tree.of.window !== undefined || tree.of.offset !== undefined)
    return undefined;
  return tree.of.of.kind === "signal" ? tree.of.of.name : undefined;
}
