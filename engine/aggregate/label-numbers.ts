/**
 * Numbers for the labels of a field, the same in all chunks that a thread reads: an aggregation finds the group of a label
 * once, and not again in each chunk.
 */
import type { DictionaryColumn, NumberedLabels } from "../column/column.ts";
import { TextTable, toByteSource } from "../vector/text-table.ts";

/** Columns with fewer values are not numbered: their groups are soon found by their texts. */
const valuesMin = 64;
/** Where a field has so many labels, or so many bytes of them, the next chunk begins with new numbers. */
const labelsMax = 16_384;
const labelBytesMax = 2 ** 20;
/** Fields whose labels are numbered at the same time. */
const fieldsMax = 8;

/** The numbered labels of this thread by field, in the order of their last use. */
const tables = new Map<string, TextTable>();

/**
 * Numbers the values of a column, and keeps the numbers with the column. `field` identifies the field. Returns undefined
 * where the column has too few or too many values, and at the first call for a column: numbering takes longer than finding
 * the groups of one chunk by their texts.
 */
export function numberLabels(field: string, column: DictionaryColumn): NumberedLabels | undefined {
  const { values, valueCount, labels } = column;
  if (valueCount < valuesMin || valueCount > labelsMax) return undefined;
  if (labels === undefined) {
    column.labels = "asked";
    return undefined;
  }
  const known = labels === "asked" ? undefined : labels;
  const table = useTable(field, known?.table);
  if (known?.table === table) return known;
  const numbers = new Uint32Array(valueCount);
  const source = toByteSource(values.bytes);
  for (let value = 0; value < valueCount; value++) {
    numbers[value] = table.intern(source, values.offsets[value]!, values.offsets[value + 1]!);
  }
  const found = { table, numbers };
  column.labels = found;
  return found;
}

/** The table of a field. Unless it is `known`, and needs no more room, a full one is replaced. */
function useTable(field: string, known: TextTable | undefined): TextTable {
  let table = tables.get(field);
  if (table === undefined || (table !== known && isFull(table))) table = new TextTable();
  tables.delete(field);
  tables.set(field, table);
  const [oldest] = tables.size > fieldsMax ? tables.keys() : [];
  if (oldest !== undefined) tables.delete(oldest);
  return table;
}

function isFull({ size, byteLength }: TextTable): boolean {
  return size >= labelsMax || byteLength >= labelBytesMax;
}
