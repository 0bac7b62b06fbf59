import type { Expression } from "./expression.ts";
import { parseExpression, readSource } from "./parse.ts";
import { QueryError } from "./query-error.ts";
import { aggregations } from "./words.ts";

/** How a text begins that calculates: brackets and signs, then an aggregation with its brackets or grouping. */
const beginsAsSeries = new RegExp(`^[\\s(-]*(?:${aggregations.join("|")})\\s*(?:\\(|(?:by|without)\\b)`);

/**
 * Whether a text asks for timeseries rather than for rows. Texts that begin with an aggregation do, but for `count(logs{…})`, which finds
 * the rows that it counts.
 */
export function asksForSeries(text: string): boolean {
  if (!beginsAsSeries.test(text)) return false;
  try {
    return !countsRows(parseExpression(readSource(text)));
  } catch (error) {
    if (error instanceof QueryError) return true;
    throw error;
  }
}

function countsRows(tree: Expression): boolean {
  return (
    tree.kind === "aggregate" &&
    tree.op === "count" &&
    tree.grouping === null &&
    tree.of.kind === "selector" &&
    tree.of.of.kind === "signal"
  );
}
