/**
 * Records of deletions: how many are kept. Without them an older value that is salvaged from a damaged file would bring
 * its entry back; so they are dropped only where the files are written anew.
 */
import { Turns } from "../threads/turns.ts";
import type { StoredRecord } from "./state-record.ts";

/**
 * Deletions are kept as records; see state-record.ts. Where there are more than this many of them, and more than other
 * records, all are dropped: at a start, and after a commit.
 */
const deletionsMax = 1_000;

/** Removes all records of deletions if there are more than `deletionsMax` permits. Returns whether it did. */
export function dropDeletions(records: Map<string, StoredRecord>): boolean {
  const deleted = [...records].filter(([, record]) => record.status === "deleted");
  if (!areTooMany(deleted.length, records.size)) return false;
  for (const [name] of deleted) records.delete(name);
  return true;
}

/** `records`: the number of all records, with those of deletions. */
export function areTooMany(deletions: number, records: number): boolean {
  return deletions > Math.max(deletionsMax, records - deletions);
}

/** Other work of the thread runs between values that take long together. */
export async function* inTurns<T>(values: Iterable<T>): AsyncGenerator<T> {
  const turns = new Turns();
  for (const value of values) {
    if (turns.isOver) await turns.next();
    yield value;
  }
}
