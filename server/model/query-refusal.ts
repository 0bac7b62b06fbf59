/** Mistakes in queries as refusals. */

import { QueryError } from "../../query/index.ts";
import { Refusal, type RefusalDetails } from "../throttle/refusal.ts";

/** Runs `read`; a QueryError becomes Refusal 400 that names the path of the query's field. */
export function refuseQuery<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw refusalAt(path, error);
  }
}

/** Waits for an answer; a QueryError becomes Refusal 400 that names the path of the query's field. */
export async function refuseFailedQuery<T>(path: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw refusalAt(path, error);
  }
}

/** The refusal of a request whose one query has a mistake. */
export function refusalOfQuery(error: QueryError): Refusal {
  return new Refusal(400, error.message, { details: { field: "query", ...placeOf(error) } });
}

function refusalAt(path: string, error: unknown): unknown {
  if (!(error instanceof QueryError)) return error;
  return new Refusal(400, `${path}: ${error.message}`, { details: { field: path, ...placeOf(error) } });
}

function placeOf({ line, column, span }: QueryError): Pick<RefusalDetails, "place"> {
  if (line === undefined || column === undefined || span === undefined) return {};
  return { place: { line, column, start: span.start, end: span.end } };
}
