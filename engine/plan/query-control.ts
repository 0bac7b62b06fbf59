/** Ends a scan early: when it is cancelled, past its deadline or above a cap. */
import { Failure } from "../failure.ts";
import { capAnswer, chargeState, type QueryCharge } from "./query-memory.ts";

/** Milliseconds of the machine's monotonic clock: the same on all threads, and never set. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Throws Failure "cancelled" or "deadline" where the query must end. */
export function checkControl(control: QueryControl): void {
  if (isCancelled(control)) throw new Failure("cancelled", "the query was cancelled");
  if (isPastDeadline(control)) {
    throw new Failure("deadline", "the query took longer than its deadline; a shorter time range is faster");
  }
}

/** Returns whether the query was cancelled or is past its deadline: whether `checkControl` would throw. */
export function isOver(control: QueryControl): boolean {
  return isCancelled(control) || isPastDeadline(control);
}

function isCancelled({ cancel }: QueryControl): boolean {
  return Atomics.load(cancel, 0) !== 0;
}

function isPastDeadline({ deadlineAtMs }: QueryControl): boolean {
  return monotonicMs() > deadlineAtMs;
}

/** What a query uses on one thread. */
export interface QueryUse {
  /** Decoded columns of the chunk that is read. */
  columnBytes: number;
  /** What it keeps beside columns: groups, points, values. */
  stateBytes: number;
  scannedRows: number;
}

/** Throws Failure "limit" where a scan uses more than the query may. */
export function checkCaps(control: QueryControl, { columnBytes, stateBytes, scannedRows }: QueryUse): void {
  if (columnBytes + stateBytes > control.memoryBytesMax) {
    const problem = `the query needs more than ${control.memoryBytesMax} bytes of memory on one thread`;
    throw new Failure("limit", problem);
  }
  chargeState(control.charge, stateBytes);
  if (scannedRows > control.scannedRowsMax) {
    throw new Failure("limit", `the query would scan more than ${control.scannedRowsMax} rows`);
  }
}

/** Bytes of rows or labels that one answer may have: `bytesMax`, and no more than the query may keep. */
export function capAnswerBytes({ memoryBytesMax, charge }: QueryControl, bytesMax: number): number {
  return Math.floor(Math.min(bytesMax, memoryBytesMax, capAnswer(charge)));
}

/** The limits of one query and its cancel flag. */
export interface QueryControl {
  /** Int32 in shared memory: not zero once the query is cancelled. */
  cancel: Int32Array;
  /** By `monotonicMs`. */
  deadlineAtMs: number;
  /** Memory that each thread may use. */
  memoryBytesMax: number;
  /** What is kept beside decoded columns, of all queries and of this one. */
  charge: QueryCharge;
  scannedRowsMax: number;
  /** Columns that the query reads are kept only until its warm-up ends; see scatter/warm-up.ts. */
  isWarmUp: boolean;
}

/** Lets other queries of the thread run once a scan has used its time slice. */
export type YieldThread = () => Promise<void>;
