/** Ends a scan early: when it is cancelled, past its deadline or above a cap. */
import { Failure } from "../failure.ts";

/** Milliseconds of the machine's monotonic clock: the same on all threads, and never set. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Throws Failure "cancelled" or "deadline" where the query must end. */
export function checkControl(control: QueryControl): void {
  if (Atomics.load(control.cancel, 0) !== 0) throw new Failure("cancelled", "the query was cancelled");
  if (monotonicMs() > control.deadlineAtMs) {
    throw new Failure("deadline", "the query took longer than its deadline; a shorter time range is faster");
  }
}

/** Throws Failure "limit" where a scan uses more than the query may. */
export function checkCaps(control: QueryControl, used: { memoryBytes: number; scannedRows: number }): void {
  if (used.memoryBytes > control.memoryBytesMax) {
    const problem = `the query needs more than ${control.memoryBytesMax} bytes of memory on one thread`;
    throw new Failure("limit", problem);
  }
  if (used.scannedRows > control.scannedRowsMax) {
    throw new Failure("limit", `the query would scan more than ${control.scannedRowsMax} rows`);
  }
}

/** The limits of one query and its cancel flag. */
export interface QueryControl {
  /** Int32 in shared memory: not zero once the query is cancelled. */
  cancel: Int32Array;
  /** By `monotonicMs`. */
  deadlineAtMs: number;
  /** Memory that each thread may use. */
  memoryBytesMax: number;
  scannedRowsMax: number;
}

/** Lets other queries of the thread run once a scan has used its time slice. */
export type YieldThread = () => Promise<void>;
