/**
 * What queries keep beside decoded columns (groups, points, values), counted over all queries and threads, so that many
 * of them together hold no more than there is for queries.
 */
import { Failure } from "../failure.ts";

const bytesPerUnit = 1024;
/** Places in `counts`. */
const Count = { units: 0, queries: 1 } as const;

/** The memory of all queries of a store. */
export interface QueryMemory {
  /** Int32 in shared memory: kibibytes that are kept, and queries that run. */
  counts: Int32Array;
  bytesMax: number;
}

/** The part of one query. */
export interface QueryCharge {
  memory: QueryMemory;
  /** Int32 in shared memory: kibibytes that the query keeps on all threads. */
  own: Int32Array;
  /** Kibibytes that the task keeps whose control this is. */
  taskUnits: number;
}

export function makeQueryMemory(bytesMax: number): QueryMemory {
  return { counts: new Int32Array(new SharedArrayBuffer(8)), bytesMax };
}

/** Begins the account of a query. */
export function openCharge(memory: QueryMemory): QueryCharge {
  Atomics.add(memory.counts, Count.queries, 1);
  return { memory, own: new Int32Array(new SharedArrayBuffer(4)), taskUnits: 0 };
}

/** Ends the account of a query, with what a thread still had that did not end its task. */
export function closeCharge({ memory, own }: QueryCharge): void {
  Atomics.sub(memory.counts, Count.units, Atomics.exchange(own, 0, 0));
  Atomics.sub(memory.counts, Count.queries, 1);
}

/** The account of one task of the query. */
export function openTaskCharge(charge: QueryCharge): QueryCharge {
  return { ...charge, taskUnits: 0 };
}

export function closeTaskCharge(charge: QueryCharge): void {
  addUnits(charge, -charge.taskUnits);
}

/**
 * Notes what a task keeps now. Throws Failure "limit" where all queries together keep too much, and this one more than
 * an equal part of what there is.
 */
export function chargeState(charge: QueryCharge, stateBytes: number): void {
  const { counts, bytesMax } = charge.memory;
  const total = addUnits(charge, Math.ceil(stateBytes / bytesPerUnit) - charge.taskUnits);
  if (total * bytesPerUnit <= bytesMax) return;
  const queries = Math.max(1, Atomics.load(counts, Count.queries));
  if (Atomics.load(charge.own, 0) * bytesPerUnit <= bytesMax / queries) return;
  const problem =
    queries === 1
      ? `the query keeps more than the ${Math.floor(bytesMax)} bytes of groups and values that there are for queries`
      : `the ${queries} queries that run keep more than ${Math.floor(bytesMax)} bytes of groups and values together, this one more than its part`;
  throw new Failure("limit", `${problem}; ask for fewer groups or a shorter time range`);
}

/** Bytes of one answer: a quarter of what there is for queries, and less where many run. */
export function capAnswer({ memory: { counts, bytesMax } }: QueryCharge): number {
  return Math.min(bytesMax / 4, (2 * bytesMax) / Math.max(1, Atomics.load(counts, Count.queries)));
}

/** Returns the kibibytes of all queries. */
function addUnits(charge: QueryCharge, units: number): number {
  charge.taskUnits += units;
  Atomics.add(charge.own, 0, units);
  return Atomics.add(charge.memory.counts, Count.units, units) + units;
}
