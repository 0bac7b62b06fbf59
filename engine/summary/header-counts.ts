/** Counts and bounds that a chunk's header gives exactly, without reading a column. */

import type { ChunkView } from "../chunk/chunk-view.ts";
import { isMessageTextFilter, type MessageTextFilter } from "../filter/message-search.ts";
import { compileRowTest, toFieldText } from "../filter/predicate.ts";
import type { Value } from "../plan/aggregation.ts";
import { type Field, type Filter, fieldKey } from "../plan/filter.ts";

/** The rows of a chunk with one text of a field; `undefined` stands for the rows that lack the field. */
type ValueCount = readonly [text: string | undefined, rows: number];

/** Least and greatest number of a column. */
export interface NumberBounds {
  min: number;
  max: number;
}

/**
 * The rows of a chunk that pass a filter on the message text; undefined where that is not known. Never 0: such a chunk
 * is skipped.
 */
export type CountTextRows = (filter: MessageTextFilter) => number | undefined;

export const unknownTextRows: CountTextRows = () => undefined;

/** The groups of a chunk: one for each text of the only field that differs between its rows. */
export interface ChunkCounts {
  /** The texts whose rows pass. */
  counts: readonly ValueCount[];
  /** Labels in the order of `groupBy`; undefined stands for the text of the count. */
  labels: (string | undefined)[];
}

/**
 * Groups and counts of the rows of a chunk that pass the residual filters; undefined where the header does not give
 * them. It does where at most one field of `groupBy` differs between the chunk's rows, and the residual filters read
 * that field alone. Where no field differs, they may read one other field, or be a single search for a text in
 * messages, which `textRows` counts.
 */
export function countFromHeader(
  residual: readonly Filter[],
  groupBy: readonly Field[],
  view: ChunkView,
  textRows: CountTextRows,
): ChunkCounts | undefined {
  if (residual.some(({ kind }) => kind === "arrived")) return undefined;
  const counts = groupBy.map((field) => listedValueCounts(field, view));
  const differing = groupBy.filter((_, i) => counts[i]?.length !== 1);
  const [field, ...more] = distinctFields([...differing, ...residual.flatMap(listFields)]);
  if (more.length > 0) return undefined;
  const [filter] = residual;
  if (residual.length === 1 && differing.length === 0 && isMessageTextFilter(filter!)) {
    const rows = textRows(filter);
    const labels = groupBy.map((each, i) => toLabel(each, counts[i]![0]![0]));
    return rows === undefined ? undefined : { counts: [[undefined, rows]], labels };
  }
  const split: ValueCount[] | undefined =
    field === undefined ? [[undefined, view.rows]] : listedValueCounts(field, view);
  if (split === undefined) return undefined;
  const passes = compileRowTest<string | undefined>({ kind: "and", of: [...residual] }, (text) => text);
  const labels = groupBy.map((each, i): string | undefined => {
    const isSplit = field !== undefined && fieldKey(each) === fieldKey(field);
    return isSplit ? undefined : toLabel(each, counts[i]![0]![0]);
  });
  return { counts: residual.length === 0 ? split : split.filter(([text]) => passes(text)), labels };
}

/** Bounds of a field over all rows; "none" where no row has a number; undefined where the header does not give them. */
export function boundsFromHeader({ field, path }: Value, view: ChunkView): NumberBounds | "none" | undefined {
  if (path !== undefined || field.kind !== "attribute") return undefined;
  const column = view.header.columns.get(view.header.columns.find("attribute", field.key));
  if (column === undefined) return view.header.columns.find("rest") >= 0 ? undefined : "none";
  const { min, max } = column;
  return min === undefined || max === undefined ? undefined : { min, max };
}

/** The text of a field as a label: empty where the row lacks the field. */
export function toLabel(field: Field, text: string | undefined): string {
  return text === undefined ? "" : toFieldText(field, text);
}

/** Every text of a field with its rows; undefined where the header does not list them. */
export function listedValueCounts(field: Field, view: ChunkView): ValueCount[] | undefined {
  if (field.kind === "time" || field.kind === "template") return undefined;
  const index = view.header.columns.find(field.kind, field.kind === "attribute" ? field.key : "");
  const column = view.header.columns.get(index);
  if (column === undefined) {
    return view.header.columns.find("rest") >= 0 ? undefined : [[undefined, view.rows]];
  }
  const listed = view.listedValues(index);
  if (listed === undefined) return undefined;
  const lacking = view.rows - column.present;
  return lacking === 0 ? listed : [...listed, [undefined, lacking]];
}

/** The fields that a filter reads. */
export function listFields(filter: Filter): Field[] {
  switch (filter.kind) {
    case "always":
    case "never":
      return [];
    case "and":
    case "or":
      return filter.of.flatMap(listFields);
    case "not":
      return listFields(filter.of);
    case "arrived":
      throw new Error("headers do not count arrival numbers");
    default:
      return [filter.field];
  }
}

function distinctFields(fields: readonly Field[]): Field[] {
  return [...new Map(fields.map((field) => [fieldKey(field), field])).values()];
}
