/** Finds the rows that stages over several rows select, so that the store can read them like any others. */

import type {
  Field,
  QueryLimits,
  RowOrder,
  RowPosition,
  RowSignal,
  ScanStatistics,
  Step,
} from "../../engine/index.ts";
import { isOrderedStep, type PlanStep, reachOf } from "../plan/ordered/ordered-step.ts";
import { fillInTurns, filterInTurns } from "../time/in-turns.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { attachLabels, type FoundOrdered } from "./attached-labels.ts";
import { OrderedCompilation } from "./compilation.ts";
import type { OrderedRows } from "./label-source.ts";
import type { RowTable, TableRequest } from "./row-table.ts";
import { type OrderedStore, TableReader } from "./table-reader.ts";

/** Rows of a signal in a range of time. */
export interface RowsToResolve {
  signal: RowSignal;
  /** Nanoseconds since the epoch, inclusive. */
  fromNs: bigint;
  /** Exclusive. */
  toNs: bigint;
  steps: readonly PlanStep[];
}

/** Which of the rows are needed, and what of them. */
export interface ResolveOptions {
  /** Absent: all rows. */
  page?: { order: RowOrder; after?: RowPosition; limit: number };
  /** The fields that are read of the rows. Absent: all. */
  fields?: readonly Field[];
}

/** Steps that look at one row at a time and select the same rows. */
export interface ResolvedSteps {
  steps: Step[];
  /** Whether there were stages over several rows. */
  isOrdered: boolean;
  /** What was read to find the rows. */
  scanned: ScanStatistics;
}

/**
 * Steps without stages over several rows that select the same rows, with the labels that those stages give them. What a
 * plan without such stages has is returned as it is. Throws Failure "limit" where such a stage has too many rows to look
 * at, and what the store throws.
 */
export async function resolveSteps(
  store: OrderedStore,
  rows: RowsToResolve,
  limits: QueryLimits | undefined,
  options: ResolveOptions = {},
): Promise<ResolvedSteps> {
  const reader = new TableReader(store, limits);
  const steps = await resolveWith(reader, rows, options);
  return { steps, isOrdered: rows.steps.some(isOrderedStep), scanned: reader.scanned };
}

/** The times of rows that stages over several rows select, in order. */
export interface FoundTimes {
  /** Nanoseconds since the start of the range. */
  timeNs: Float64Array;
  /** What was read to find the rows. */
  scanned: ScanStatistics;
}

/**
 * The times of the rows that are selected, where nothing else of them is needed; undefined where no stage looks at
 * several rows, or their messages and labels are made anew. Throws as `resolveSteps`.
 */
export async function findRowTimes(
  store: OrderedStore,
  rows: RowsToResolve,
  limits: QueryLimits | undefined,
): Promise<FoundTimes | undefined> {
  const { own, formats, ordered } = splitSteps(rows.steps);
  if (ordered.length === 0 || formats.length > 0) return undefined;
  const reader = new TableReader(store, limits);
  const { found, range } = await findRows(reader, rows, own, ordered);
  const shiftNs = Number(range.fromNs - rows.fromNs);
  const { timeNs: all } = found.table;
  const times = new Float64Array(found.rows.length);
  const timeNs = await fillInTurns(times, (i) => all[found.rows[i]!]! + shiftNs, reader.work);
  return { timeNs, scanned: reader.scanned };
}

/** Steps before the first that looks at several rows, those from there on, and at the end those that make texts. */
function splitSteps(steps: readonly PlanStep[]): { own: Step[]; ordered: PlanStep[]; formats: Step[] } {
  const first = steps.findIndex(isOrderedStep);
  // There is no other kind of step where none looks at several rows.
  if (first < 0) return { own: [...steps] as Step[], ordered: [], formats: [] };
  const last = steps.findLastIndex(({ kind }) => kind !== "format") + 1;
  const [own, formats] = [steps.slice(0, first), steps.slice(last)] as [Step[], Step[]];
  return { own, ordered: steps.slice(first, last), formats };
}

async function resolveWith(
  reader: TableReader,
  rows: RowsToResolve,
  options: ResolveOptions,
): Promise<Step[]> {
  const { own, ordered, formats } = splitSteps(rows.steps);
  if (ordered.length === 0) return own;
  const found = await findRows(reader, rows, own, ordered);
  if (options.page !== undefined) found.found.rows = cutPage(found.found, options.page);
  const formatted = formats.flatMap(fieldsOfFormat);
  found.compiled.sources.name([...(options.fields ?? []), ...formatted]);
  const fields = options.fields && [...options.fields, ...formatted];
  return [...(await makeSteps(reader, own, found, fields)), ...formats];
}

/** Finds the rows of a range that all steps select. */
async function findRows(
  reader: TableReader,
  { signal, fromNs, toNs, steps }: RowsToResolve,
  own: readonly Step[],
  ordered: readonly PlanStep[],
): Promise<FoundOrdered> {
  const { work } = reader;
  const compiled = new OrderedCompilation(signal, withSequenceFilter(own, steps), ordered);
  const { back, ahead } = finiteReach(steps);
  const range = { fromNs: maxOf(fromNs - BigInt(back), 0n), toNs: toNs + BigInt(ahead) };
  const tables = await readTables(reader, compiled, range);
  const table = tables.get(compiled.table)!;
  const rows = await fillInTurns(new Uint32Array(table.rows), (i) => i, work);
  const found: OrderedRows = { table, tables, rows, refs: [], numbers: [] };
  for (const operate of compiled.operations) await operate(found, work);
  const [firstNs, endNs] = [Number(fromNs - range.fromNs), Number(toNs - range.fromNs)];
  const { timeNs } = table;
  found.rows = await filterInTurns(
    found.rows,
    (row) => timeNs[row]! >= firstNs && timeNs[row]! < endNs,
    work,
  );
  return { compiled, found, range };
}

async function readTables(
  reader: TableReader,
  compiled: OrderedCompilation,
  range: { fromNs: bigint; toNs: bigint },
): Promise<ReadonlyMap<TableRequest, RowTable>> {
  const tables = new Map<TableRequest, RowTable>();
  for (const { step, request } of compiled.joined) {
    request.steps.push(
      ...(await resolveWith(reader, { ...range, signal: step.signal, steps: step.steps }, {})),
    );
  }
  const requests = [compiled.table, ...compiled.joined.map(({ request }) => request)];
  const read = await Promise.all(requests.map((request) => reader.readTable(request, range)));
  for (const [i, request] of requests.entries()) tables.set(request, read[i]!);
  return tables;
}

/** Where the first stage is a sequence, only rows that pass one of its filters matter: indexes find these. */
function withSequenceFilter(own: readonly Step[], steps: readonly PlanStep[]): Step[] {
  const first = steps[own.length]!;
  if (first.kind !== "sequence") return [...own];
  const any = { kind: "or", of: first.of.map(({ filter }) => filter) } as const;
  return [...own, { kind: "filter", filter: any }];
}

/** How far rows look at others; not beyond the range where nothing bounds it. */
function finiteReach(steps: readonly PlanStep[]): { back: number; ahead: number } {
  const { back, ahead } = reachOf(steps);
  return { back: Number.isFinite(back) ? back : 0, ahead: Number.isFinite(ahead) ? ahead : 0 };
}

function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The first rows of an order, and one more, by which it is known that there are more. */
function cutPage(
  { rows, table }: OrderedRows,
  { order, after, limit }: NonNullable<ResolveOptions["page"]>,
): Uint32Array {
  const { timeNs, arrivals, fromNs } = table;
  const isNewestFirst = order === "newest";
  const afterNs = after === undefined ? undefined : Number(after.timeNs - fromNs);
  const isBehind = (row: number) => {
    if (afterNs === undefined) return true;
    const [time, arrival] = [timeNs[row]! - afterNs, arrivals[row]! - after!.arrival];
    return isNewestFirst ? time < 0 || (time === 0 && arrival > 0) : time > 0 || (time === 0 && arrival < 0);
  };
  const page: number[] = [];
  // Rows of equal time are listed by arrival: with the newest first from the first to the last of them.
  for (const row of isNewestFirst ? backwardByTime(rows, timeNs) : forwardByTime(rows, timeNs)) {
    if (!isBehind(row)) continue;
    page.push(row);
    if (page.length > limit) break;
  }
  return Uint32Array.from(page).sort();
}

/** The newest first; rows of equal time in the order of their arrival. */
function* backwardByTime(rows: Uint32Array, timeNs: Float64Array): Generator<number> {
  for (let end = rows.length; end > 0; ) {
    let start = end - 1;
    while (start > 0 && timeNs[rows[start - 1]!] === timeNs[rows[end - 1]!]) start--;
    yield* rows.subarray(start, end);
    end = start;
  }
}

/** The opposite order. */
function* forwardByTime(rows: Uint32Array, timeNs: Float64Array): Generator<number> {
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    while (end < rows.length && timeNs[rows[end]!] === timeNs[rows[start]!]) end++;
    for (let i = end - 1; i >= start; i--) yield rows[i]!;
    start = end;
  }
}

/** The fields that a step of formats reads. */
function fieldsOfFormat(step: Step): Field[] {
  if (step.kind !== "format") return [];
  const parts = step.formats.flatMap((format) => format.parts);
  return parts.flatMap((part) => (part.kind === "field" ? [part.field] : []));
}

/** Steps that select the rows found, extract what their own steps extract, and give them their labels. */
async function makeSteps(
  reader: TableReader,
  own: readonly Step[],
  ordered: FoundOrdered,
  fields: readonly Field[] | undefined,
): Promise<Step[]> {
  const { found } = ordered;
  const { arrivals: all } = found.table;
  const { work } = reader;
  const arrived = await fillInTurns(new Float64Array(found.rows.length), (i) => all[found.rows[i]!]!, work);
  const numbers = await sortInTurns(arrived, (a, b) => a - b, work);
  const extraction = own.filter(({ kind }) => kind !== "filter");
  const attached = await attachLabels(reader, ordered, fields);
  return [
    { kind: "filter", filter: { kind: "arrived", numbers } },
    ...extraction,
    ...(attached.attributes.length === 0 ? [] : [{ kind: "attach", ...attached } as const]),
  ];
}
