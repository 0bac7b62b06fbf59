/** Reads the texts of the labels that stages over several rows give the rows found. */

import type { AttachedAttribute, ColumnRead, Field } from "../../engine/index.ts";
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
  const rows = found.rows.slice().sort((a, b) => arrivals[a]! - arrivals[b]!);
  const attributes: AttachedAttribute[] = [];
  const stored = Map.groupBy(given.filter(isStored), ([, { table }]) => table);
  for (const [label, source] of given) {
    if (!isStored([label, source])) attributes.push(attachNumbers(label, source, rows, ordered));
  }
  for (const [table, labels] of stored) {
    attributes.push(...(await attachTexts(reader, table, labels, rows, ordered)));
  }
  return { arrivals: Float64Array.from(rows, (row) => arrivals[row]!), attributes };
}

function isStored(label: [string, LabelSource]): label is StoredLabel {
  const [, source] = label;
  return source.kind === "field" && isColumnField(source.field);
}

function attachNumbers(
  key: string,
  source: LabelSource,
  rows: Uint32Array,
  { found }: FoundOrdered,
): AttachedAttribute {
  const numberOf = numbersOf(source, found);
  const codeOf = new Map<number, number>([[Number.NaN, 0]]);
  const values = [""];
  const codes = Uint32Array.from(rows, (row) => {
    const number = numberOf(row);
    let code = codeOf.get(number);
    if (code === undefined) {
      code = values.push(String(number)) - 1;
      codeOf.set(number, code);
    }
    return code;
  });
  return { key, codes, values };
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
  const wanted = new Set<number>();
  for (const label of labels.keys()) for (const row of rows) wanted.add(numberOf(label, row));
  wanted.delete(-1);
  const numbers = Float64Array.from(wanted).sort();
  const read = await reader.read({
    ...{ signal: request.signal, ...range, withArrivals: true, rowsMax: numbers.length },
    steps: [{ kind: "filter", filter: { kind: "arrived", numbers } }, ...request.steps],
    columns: labels.map(([, { field }]): ColumnRead => ({ field, as: "text" })),
  });
  const placeOf = new Map(Array.from(read.arrivals, (arrival, i) => [arrival, i]));
  return labels.map(([key], label) => {
    const column = read.columns[label]!;
    if (column.as !== "text") throw new Error("not a column of texts");
    const codes = Uint32Array.from(rows, (row) => {
      const place = placeOf.get(numberOf(label, row));
      return place === undefined ? 0 : column.codes[place]!;
    });
    return { key, codes, values: column.values };
  });
}
