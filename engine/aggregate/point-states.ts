/** The aggregation states of all points: filled from chunks, merged across threads, then turned into results. */
import type { Aggregation, Value } from "../plan/aggregation.ts";
import type { Field } from "../plan/filter.ts";
import type { NumberBounds } from "../summary/header-counts.ts";
import { type CellRows, listSelectedRows } from "./cell-assignment.ts";
import { DistinctCounts, type DistinctCountsPart, type RowFingerprints } from "./distinct-counts.ts";
import type { FieldNumbers } from "./field-numbers.ts";
import { computeMoment, type MomentOp, Moments, type MomentsPart, type NumberRows } from "./moments.ts";
import { Quantiles, type QuantilesPart } from "./quantiles.ts";
import { type DayTimes, RowCounts, type RowCountsPart } from "./row-counts.ts";

/** Mergeable state as it crosses threads: typed arrays whose size depends on points, not rows, except for quantiles. */
export interface StatesPart {
  rowCounts: RowCountsPart;
  /** One entry for each value that the aggregates read as a number. */
  numbers: { moments: MomentsPart | undefined; quantiles: QuantilesPart | undefined }[];
  /** One entry for each field whose distinct texts are counted. */
  distincts: DistinctCountsPart[];
}

/** Reads what aggregates need of the rows of a chunk. `list` holds the selected rows; null selects all. */
export interface RowFields {
  times(): DayTimes;
  /** Undefined where no row has a number. */
  numbers(value: Value, list: Uint32Array | null): Promise<FieldNumbers | undefined>;
  /** Undefined where no row has the field. */
  fingerprints(field: Field, list: Uint32Array | null): Promise<RowFingerprints | undefined>;
}

/** The states of one value, shared by all aggregates over it. */
interface NumberStates {
  value: Value;
  moments: Moments | undefined;
  quantiles: Quantiles | undefined;
}

/** What the aggregates of a query read, without duplicates. */
export interface ReadFields {
  /** Values read as numbers. */
  values: Value[];
  /** Fields whose distinct texts are counted. */
  fields: Field[];
}

/** The values and fields that some aggregates read. */
export function collectReadFields(aggregates: readonly Aggregation[]): ReadFields {
  const values = new Map<string, Value>();
  const fields = new Map<string, Field>();
  for (const aggregate of aggregates) {
    if (!("of" in aggregate)) continue;
    if (aggregate.op === "distinct") fields.set(fieldReadKey(aggregate.of), aggregate.of);
    else values.set(fieldReadKey(aggregate.of), aggregate.of);
  }
  return { values: [...values.values()], fields: [...fields.values()] };
}

/** The states of every point for all aggregates of a query. */
export class PointStates {
  readonly #aggregates: readonly Aggregation[];
  readonly #rowCounts: RowCounts;
  readonly #numbers: NumberStates[];
  readonly #distincts: { field: Field; texts: DistinctCounts }[];

  constructor(aggregates: readonly Aggregation[]) {
    this.#aggregates = aggregates;
    this.#rowCounts = new RowCounts(aggregates);
    const { values, fields } = collectReadFields(aggregates);
    this.#numbers = values.map((value) => makeNumberStates(value, aggregates));
    this.#distincts = fields.map((field) => ({ field, texts: new DistinctCounts() }));
  }

  get byteLength(): number {
    let bytes = this.#rowCounts.byteLength;
    for (const { moments, quantiles } of this.#numbers) {
      bytes += (moments?.byteLength ?? 0) + (quantiles?.byteLength ?? 0);
    }
    for (const { texts } of this.#distincts) bytes += texts.byteLength;
    return bytes;
  }

  /**
   * Adds rows of a chunk. `pointCount` is the number of points so far; `isComplete` says whether all rows of a point
   * are in this chunk.
   */
  async add(
    cells: CellRows,
    fields: RowFields,
    pointCount: number,
    isComplete: (point: number) => boolean,
  ): Promise<void> {
    this.#rowCounts.add(cells, () => fields.times(), pointCount);
    if (this.#numbers.length === 0 && this.#distincts.length === 0) return;
    const list = listSelectedRows(cells);
    for (const { value, moments, quantiles } of this.#numbers) {
      const numbers = await fields.numbers(value, list);
      if (numbers === undefined) continue;
      const rows = selectNumberRows(cells, numbers);
      moments?.add(rows, pointCount);
      quantiles?.add(rows, isComplete);
    }
    for (const { field, texts } of this.#distincts) {
      const fingerprints = await fields.fingerprints(field, list);
      if (fingerprints !== undefined) texts.add(cells, fingerprints, pointCount);
    }
  }

  /** Adds to the number of rows of a point. */
  addCount(point: number, rows: number): void {
    this.#rowCounts.addCount(point, rows);
  }

  /** Adds rows of a point, with the whole milliseconds of the first and the last of them. */
  addRows(point: number, rows: number, firstMs: number, lastMs: number): void {
    this.#rowCounts.addRows(point, rows, firstMs, lastMs);
  }

  /**
   * Adds the minimum and maximum of a value in rows of a point; only where neither its sums nor quantiles are asked
   * for.
   */
  addBounds(value: Value, point: number, bounds: NumberBounds): void {
    const states = this.#numbers.find((each) => fieldReadKey(each.value) === fieldReadKey(value))!;
    states.moments!.addBounds(bounds, point);
  }

  /** Merges another state; `pointOf` maps its points to points here. */
  merge(part: StatesPart, pointOf: Uint32Array, pointCount: number): void {
    this.#rowCounts.merge(part.rowCounts, pointOf, pointCount);
    for (const [i, { moments, quantiles }] of part.numbers.entries()) {
      const own = this.#numbers[i]!;
      if (moments !== undefined) own.moments!.merge(moments, pointOf, pointCount);
      if (quantiles !== undefined) own.quantiles!.merge(quantiles, pointOf);
    }
    for (const [i, each] of part.distincts.entries())
      this.#distincts[i]!.texts.merge(each, pointOf, pointCount);
  }

  finish(pointCount: number): StatesPart {
    return {
      rowCounts: this.#rowCounts.finish(pointCount),
      numbers: this.#numbers.map(({ moments, quantiles }) => ({
        moments: moments?.finish(pointCount),
        quantiles: quantiles?.finish(),
      })),
      distincts: this.#distincts.map(({ texts }) => texts.finish(pointCount)),
    };
  }

  /** For each aggregate, the values of all points. */
  values(pointCount: number): Float64Array[] {
    const rowCounts = this.#rowCounts.finish(pointCount);
    const numbers = new Map(
      this.#numbers.map(({ value, moments, quantiles }) => {
        const qs = quantilesOf(value, this.#aggregates);
        const quantileValues = quantiles?.values(pointCount) ?? [];
        const quantileOf = (q: number) => quantileValues[qs.indexOf(q)]!;
        return [fieldReadKey(value), { moments: moments?.finish(pointCount), quantileOf }];
      }),
    );
    const distincts = new Map(this.#distincts.map(({ field, texts }) => [fieldReadKey(field), texts]));
    return this.#aggregates.map((aggregate) => {
      switch (aggregate.op) {
        case "count":
          return rowCounts.counts;
        case "first":
          return rowCounts.firstMs!;
        case "last":
          return rowCounts.lastMs!;
        case "distinct":
          return distincts.get(fieldReadKey(aggregate.of))!.values(pointCount);
        case "quantile":
          return numbers.get(fieldReadKey(aggregate.of))!.quantileOf(aggregate.q);
        default:
          return computeMoment(aggregate.op, numbers.get(fieldReadKey(aggregate.of))!.moments!);
      }
    });
  }
}

function makeNumberStates(value: Value, aggregates: readonly Aggregation[]): NumberStates {
  const ops = new Set<MomentOp>();
  for (const aggregate of aggregates) if (isMoment(aggregate, value)) ops.add(aggregate.op);
  const qs = quantilesOf(value, aggregates);
  return {
    value,
    moments: ops.size === 0 ? undefined : new Moments(ops),
    quantiles: qs.length === 0 ? undefined : new Quantiles(qs),
  };
}

function isMoment(aggregate: Aggregation, value: Value): aggregate is Extract<Aggregation, { op: MomentOp }> {
  if (!("of" in aggregate) || aggregate.op === "distinct" || aggregate.op === "quantile") return false;
  return fieldReadKey(aggregate.of) === fieldReadKey(value);
}

/** The q of every quantile over a value. */
function quantilesOf(value: Value, aggregates: readonly Aggregation[]): number[] {
  return aggregates.flatMap((each) =>
    each.op === "quantile" && fieldReadKey(each.of) === fieldReadKey(value) ? [each.q] : [],
  );
}

/** Narrows the rows of cells (group × bucket) to those that have a number. */
function selectNumberRows(cells: CellRows, { values, valid }: FieldNumbers): NumberRows {
  if (valid === null) return { ...cells, values };
  const { kernels, scratch } = cells.heap;
  const selection = scratch.uint8(valid.byteLength);
  // `valid` may have bits set after the last row.
  kernels.not(selection, values.length);
  kernels.and(selection, valid);
  if (cells.selection !== null) kernels.and(selection, cells.selection);
  const counts = scratch.uint32(cells.counts.length);
  kernels.countGroups(cells.cellOf(), selection, counts);
  return { ...cells, values, selection, counts };
}

/** A key that is equal for values or fields that are read the same way. */
export function fieldReadKey(read: Value | Field): string {
  if ("kind" in read) return JSON.stringify(read.kind === "attribute" ? [read.kind, read.key] : [read.kind]);
  return JSON.stringify([fieldReadKey(read.field), read.path ?? null]);
}
