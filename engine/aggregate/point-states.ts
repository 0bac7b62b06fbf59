/** What is known of the points of an aggregation: parts of it from chunks and threads become one, and then the answer. */
import type { Aggregation, Value } from "../plan/aggregation.ts";
import type { Field } from "../plan/filter.ts";
import type { NumberBounds } from "../summary/header-counts.ts";
import { type CellRows, selectedList } from "./cells.ts";
import { Distincts, type DistinctsPart, type RowFingerprints } from "./distinct-counts.ts";
import type { FieldNumbers } from "./field-numbers.ts";
import { type MomentOp, Moments, type MomentsPart, momentValues, type NumberRows } from "./moments.ts";
import { Quantiles, type QuantilesPart } from "./quantiles.ts";
import { type DayTimes, RowCounts, type RowCountsPart } from "./row-counts.ts";

/** Plain data of typed arrays, nothing a row but what quantiles keep. */
export interface StatesPart {
  tally: RowCountsPart;
  numbers: { moments: MomentsPart | undefined; quantiles: QuantilesPart | undefined }[];
  distincts: DistinctsPart[];
}

/** Reads fields of the rows that stand in cells; `list`: the selected ones of them, null for all. */
export interface RowFields {
  times(): DayTimes;
  /** Undefined where no row has a number. */
  numbers(value: Value, list: Uint32Array | null): Promise<FieldNumbers | undefined>;
  /** Undefined where no row has the field. */
  fingerprints(field: Field, list: Uint32Array | null): Promise<RowFingerprints | undefined>;
}

/** What is kept of the numbers of one value, whatever the number of aggregates over it. */
interface NumberStates {
  value: Value;
  moments: Moments | undefined;
  quantiles: Quantiles | undefined;
}

/** What the aggregates of a query read, each once. */
export interface ReadFields {
  values: Value[];
  fields: Field[];
}

export function fieldsReadBy(aggregates: readonly Aggregation[]): ReadFields {
  const values = new Map<string, Value>();
  const fields = new Map<string, Field>();
  for (const aggregate of aggregates) {
    if (!("of" in aggregate)) continue;
    if (aggregate.op === "distinct") fields.set(fieldReadKey(aggregate.of), aggregate.of);
    else values.set(fieldReadKey(aggregate.of), aggregate.of);
  }
  return { values: [...values.values()], fields: [...fields.values()] };
}

export class PointStates {
  readonly #aggregates: readonly Aggregation[];
  readonly #tally: RowCounts;
  readonly #numbers: NumberStates[];
  readonly #distincts: { field: Field; texts: Distincts }[];

  constructor(aggregates: readonly Aggregation[]) {
    this.#aggregates = aggregates;
    this.#tally = new RowCounts(aggregates);
    const { values, fields } = fieldsReadBy(aggregates);
    this.#numbers = values.map((value) => numberStates(value, aggregates));
    this.#distincts = fields.map((field) => ({ field, texts: new Distincts() }));
  }

  get byteLength(): number {
    let bytes = this.#tally.byteLength;
    for (const { moments, quantiles } of this.#numbers) {
      bytes += (moments?.byteLength ?? 0) + (quantiles?.byteLength ?? 0);
    }
    for (const { texts } of this.#distincts) bytes += texts.byteLength;
    return bytes;
  }

  /** Rows of a chunk. `points`: how many there are by now; `isWhole`: whether the rows of a point are all in this chunk. */
  async add(
    cells: CellRows,
    fields: RowFields,
    points: number,
    isWhole: (place: number) => boolean,
  ): Promise<void> {
    this.#tally.add(cells, () => fields.times(), points);
    if (this.#numbers.length === 0 && this.#distincts.length === 0) return;
    const list = selectedList(cells);
    for (const { value, moments, quantiles } of this.#numbers) {
      const numbers = await fields.numbers(value, list);
      if (numbers === undefined) continue;
      const rows = numberRows(cells, numbers);
      moments?.add(rows, points);
      quantiles?.add(rows, isWhole);
    }
    for (const { field, texts } of this.#distincts) {
      const fingerprints = await fields.fingerprints(field, list);
      if (fingerprints !== undefined) texts.add(cells, fingerprints, points);
    }
  }

  /** Rows of one point of which only the number counts. */
  addCount(place: number, rows: number): void {
    this.#tally.addCount(place, rows);
  }

  /** Least and greatest number of rows of one point; only where neither sums nor quantiles of the value are asked for. */
  addBounds(value: Value, place: number, bounds: NumberBounds): void {
    this.#numbers
      .find((each) => fieldReadKey(each.value) === fieldReadKey(value))!
      .moments!.addBounds(bounds, place);
  }

  /** `places`: of each of the part's points the place here. */
  join(part: StatesPart, places: Uint32Array, points: number): void {
    this.#tally.join(part.tally, places, points);
    for (const [i, { moments, quantiles }] of part.numbers.entries()) {
      const own = this.#numbers[i]!;
      if (moments !== undefined) own.moments!.join(moments, places, points);
      if (quantiles !== undefined) own.quantiles!.join(quantiles, places);
    }
    for (const [i, each] of part.distincts.entries()) this.#distincts[i]!.texts.join(each, places, points);
  }

  finish(points: number): StatesPart {
    return {
      tally: this.#tally.finish(points),
      numbers: this.#numbers.map(({ moments, quantiles }) => ({
        moments: moments?.finish(points),
        quantiles: quantiles?.finish(),
      })),
      distincts: this.#distincts.map(({ texts }) => texts.finish(points)),
    };
  }

  /** For each aggregate the value of every point. */
  values(points: number): Float64Array[] {
    const tally = this.#tally.finish(points);
    const numbers = new Map(
      this.#numbers.map(({ value, moments, quantiles }) => {
        const qs = ranksOf(value, this.#aggregates);
        const found = quantiles?.values(points) ?? [];
        const quantileOf = (q: number) => found[qs.indexOf(q)]!;
        return [fieldReadKey(value), { moments: moments?.finish(points), quantileOf }];
      }),
    );
    const distincts = new Map(this.#distincts.map(({ field, texts }) => [fieldReadKey(field), texts]));
    return this.#aggregates.map((aggregate) => {
      switch (aggregate.op) {
        case "count":
          return tally.counts;
        case "first":
          return tally.firstMs!;
        case "last":
          return tally.lastMs!;
        case "distinct":
          return distincts.get(fieldReadKey(aggregate.of))!.values(points);
        case "quantile":
          return numbers.get(fieldReadKey(aggregate.of))!.quantileOf(aggregate.q);
        default:
          return momentValues(aggregate.op, numbers.get(fieldReadKey(aggregate.of))!.moments!);
      }
    });
  }
}

function numberStates(value: Value, aggregates: readonly Aggregation[]): NumberStates {
  const ops = new Set<MomentOp>();
  for (const aggregate of aggregates) if (isMoment(aggregate, value)) ops.add(aggregate.op);
  const qs = ranksOf(value, aggregates);
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

/** The q of every quantile of a value. */
function ranksOf(value: Value, aggregates: readonly Aggregation[]): number[] {
  return aggregates.flatMap((each) =>
    each.op === "quantile" && fieldReadKey(each.of) === fieldReadKey(value) ? [each.q] : [],
  );
}

/** The rows of cells that have a number. */
function numberRows(cells: CellRows, { values, valid }: FieldNumbers): NumberRows {
  if (valid === null) return { ...cells, values };
  const { kernels, scratch } = cells.heap;
  const selection = scratch.uint8(valid.byteLength);
  // Bits behind the last row may be set in `valid`.
  kernels.not(selection, values.length);
  kernels.and(selection, valid);
  if (cells.selection !== null) kernels.and(selection, cells.selection);
  const counts = scratch.uint32(cells.counts.length);
  kernels.countGroups(cells.cellOf(), selection, counts);
  return { ...cells, values, selection, counts };
}

/** Equal for what is read alike. */
export function fieldReadKey(read: Value | Field): string {
  if ("kind" in read) return JSON.stringify(read.kind === "attribute" ? [read.kind, read.key] : [read.kind]);
  return JSON.stringify([fieldReadKey(read.field), read.path ?? null]);
}
