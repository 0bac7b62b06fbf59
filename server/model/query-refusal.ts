import { QueryError } from "../../query/index.ts";
import { Refusal } from "../limits/refusal.ts";

/** Runs what reads a query; a mistake in the query is refused under the path of the field that holds it. */
export function refuseQuery<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof QueryError) throw new Refusal(400, `${path}: ${error.message}`);
    throw error;
  }
}
