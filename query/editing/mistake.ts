/** The first mistake of a query, while it is being typed. */

import type { RowSignal } from "../../engine/index.ts";
import { parseLogsQuery } from "../parse/logs-query.ts";
import { parseExpression } from "../parse/parser.ts";
import { detectQueryKind } from "../parse/query-kind.ts";
import { QueryError } from "../text/query-error.ts";
import { readSource } from "../text/source.ts";

/** What is wrong, and where: offsets in UTF-16 units, `end` exclusive. A mistake at the end has an empty span. */
export interface QueryMistake {
  readonly problem: string;
  readonly start: number;
  readonly end: number;
}

/** The first mistake of a query's syntax; undefined where it parses. Names and arguments are the planner's to judge. */
export function findMistake(text: string, signal: RowSignal = "logs"): QueryMistake | undefined {
  try {
    const source = readSource(text);
    if (signal === "logs" && detectQueryKind(text) === "logs") parseLogsQuery(source);
    else parseExpression(source, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const { problem, span } = error;
    return { problem, start: span?.start ?? 0, end: span?.end ?? text.length };
  }
}
