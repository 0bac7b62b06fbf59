/** Mistakes in queries as refusals of the field that holds the query. */

import { QueryError } from "../../query/index.ts";
import { Refusal } from "../throttle/refusal.ts";

/** Runs `read`; a QueryError becomes Refusal 400 that names the path of the query's field. */
export function refuseQuery<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, `${path}: ${error.message}`);
    throw error;
  }
}
