/** Reads the texts of the labels that stages over several rows give the rows found. */

import { type AttachedAttribute, type ColumnRead, type Field, lowerBound } from "../../engine/index.ts";
import { fillInTurns } from "../time/in-turns.ts";
import { sortInTurns } from "../time/sort-in-turns.ts";
import { numbersOf, type OrderedCompilation } from "./compilation.ts";
import type { FieldSource, LabelSource, OrderedRows } from "./label-source.ts";
import { isColumnField, type TableRequest } from "./row-table.ts";
import type { TableReader } from "./table-reader.ts";

/** What a query has found. */
export interface FoundOrdered {
  compiled: OrderedCompilation;
  found: OrderedRows;
  /** What was read. */
  range: { fromNs: bigint; toNs: bigint };
}

/** Labels of some rows, which ascend by their arrival numbers. */
export interface AttachedLabels {
  arrivals: Float64Array;
  attributes: AttachedAttribute[];
}

/** A label whose texts are stored with rows of a table. */
type StoredLabel = [label: string, source: FieldSource & { field: ColumnRead["field"] }];

/** The labels of `fields` that stages have given the rows; all where `fields` is undefined. */
export async function attachLabels(
  reader: TableReader,
  ordered: FoundOrdered,
  fields: readonly Field[] | undefined,
): Promise<AttachedLabels> {
  const { compiled, found } = ordered;
  const isRead = (label: string) =>
    fields === undefined || fields.some((field) => field.kind === "attribute" && field.key === label);
  const given = [...compiled.sources.given].filter(([label]) => isRead(label));
  const { arrivals } = found.table;
  if (given.length === 0) return { arrivals: new Float64Array(0), attributes: [] };
  const { work } = reader;
  const rows = await sortInTurns(found.rows, (a, b) => arrivals[a]! - arrivals[b]!, work);
  const attributes: AttachedAttribute[] = [];
  const stored = Map.groupBy(given.filter(isStored), ([, { table }]) => table);
  for (const [label, source] of given) {
    if (!isStored([label, source]))
      attributes.push(await attachNumbers(reader, label, source, rows, ordered));
  }
  for (const [table, labels] of stored) {
    attributes.push(...(await attachTexts(reader, table, labels, rows, ordered)));
  }
  const own = await fillInTurns(new Float64Array(rows.length), (i) => arrivals[rows[i]!]!, work);
  return { arrivals: own, attributes };
}

function isStored(label: [string, LabelSource]): label is StoredLabel {
  const [, source] = label;
  return source.kind === "field" && isColumnField(source.field);
}

async function attachNumbers(
  { work }: TableReader,
  key: string,
  source: LabelSource,
  rows: Uint32Array,
  { found }: FoundOrdered,
): Promise<AttachedAttribute> {
  const numberOf = numbersOf(source, found);
  const codeOf = new Map<number, number>([[Number.NaN, 0]]);
  const values = [""];
  const codeAt = (i: number) => {
    const number = numberOf(rows[i]!);
    let code = codeOf.get(number);
    if (code === undefined) {
      code = values.push(String(number)) - 1;
      codeOf.set(number, code);
    }
    return code;
  };
  return { key, codes: await fillInTurns(new Uint32Array(rows.length), codeAt, work), values };
}

/** Reads the texts of labels that are stored with rows of one table: of those rows alone that rows found refer to. */
async function attachTexts(
  reader: TableReader,
  request: TableRequest,
  labels: readonly StoredLabel[],
  rows: Uint32Array,
  { found, range }: FoundOrdered,
): Promise<AttachedAttribute[]> {
  const { arrivals } = found.tables.get(request)!;
  const placesOf = labels.map(([, { ref }]) => (ref === undefined ? undefined : found.refs[ref]!));
  const numberOf = (label: number, row: number) => {
    const place = placesOf[label] === undefined ? row : placesOf[label][row]!;
    return place < 0 ? -1 : arrivals[place]!;
  };
  const { work } = reader;
  const wanted = new Float64Array(rows.length * labels.length);
  const wantedAt = (i: number) => numberOf(i % labels.length, rows[Math.floor(i / labels.length)]!);
  const sorted = await sortInTurns(await fillInTurns(wanted, wantedAt, work), (a, b) => a - b, work);
  const numbers = sorted.filter((number, i) => number >= 0 && number !== sorted[i - 1]);
  const read = await reader.read({
    ...{ signal: request.signal, ...range, withArrivals: true, rowsMax: numbers.length },
    steps: [{ kind: "filter", filter: { kind: "arrived", numbers } }, ...request.steps],
    columns: labels.map(([, { field }]): ColumnRead => ({ field, as: "text" })),
  });
  const places = await fillInTurns(new Uint32Array(read.rows), (i) => i, work);
  const byArrival = await sortInTurns(places, (a, b) => read.arrivals[a]! - read.arrivals[b]!, work);
  const placeOf = new Int32Array(numbers.length).fill(-1);
  let next = 0;
  await fillInTurns(
    placeOf,
    (i) => (read.arrivals[byArrival[next]!] === numbers[i] ? byArrival[next++]! : -1),
    work,
  );
  const attached: AttachedAttribute[] = [];
  for (const [label, [key]] of labels.entries()) {
    const column = read.columns[label]!;
    if (column.as !== "text") throw new Error("not a column of texts");
    const codeAt = (i: number) => {
      const number = numberOf(label, rows[i]!);
      const place = number < 0 ? -1 : placeOf[lowerBound(numbers, number)]!;
      return place < 0 ? 0 : column.codes[place]!;
    };
    attached.push({
      key,
      codes: await fillInTurns(new Uint32Array(rows.length), codeAt, work),
      values: column.values,
    });
  }
  return attached;
}
