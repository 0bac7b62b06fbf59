/** Filters over blocks of a chunk's rows: each clears the bits of rows that fail. */
import { type Bitmap, clearBit, emptyBitmap, hasBit, isEmptyBitmap, subtract, unite } from "./bitmap.ts";
import { type Column, columnText, dictionaryTexts } from "./column.ts";
import { timeMs } from "./day.ts";
import type { Filter } from "./filter.ts";
import { compileTemplateFilter } from "./messagesearch.ts";
import { compareNumbers, type LeafFilter, type ValueTest, valueTest } from "./predicate.ts";
import { compileTextFilter } from "./textsearch.ts";
import type { ChunkView } from "./view.ts";

/** Rows [from, from + rows) of a chunk; bit i of the selection is row from + i. */
interface Block {
  from: number;
  rows: number;
  selection: Bitmap;
}

export type BlockFilter = (block: Block) => void;

/** Looks at the clock and at the cancel flag; throws Failure "deadline" or "cancelled". */
export type Checkpoint = () => void;

/** Compiles a filter for one chunk: tests of dictionary values run here once, not per row. */
export function compileFilter(filter: Filter, view: ChunkView, checkpoint: Checkpoint): BlockFilter {
  switch (filter.kind) {
    case "always":
      return () => undefined;
    case "never":
      return (block) => void block.selection.fill(0);
    case "and":
      return allOf(filter.of.map((part) => compileFilter(part, view, checkpoint)));
    case "or":
      return anyOf(filter.of.map((part) => compileFilter(part, view, checkpoint)));
    case "not":
      return negationOf(compileFilter(filter.of, view, checkpoint));
    default:
      return compileLeaf(filter, view, checkpoint);
  }
}

function allOf(filters: BlockFilter[]): BlockFilter {
  return (block) => {
    for (const filter of filters) {
      if (isEmptyBitmap(block.selection)) return;
      filter(block);
    }
  };
}

function anyOf(filters: BlockFilter[]): BlockFilter {
  return (block) => {
    const result = emptyBitmap(block.rows);
    for (const filter of filters) {
      const selection = block.selection.slice();
      // Rows that an earlier branch took need no second test.
      subtract(selection, result);
      filter({ ...block, selection });
      unite(result, selection);
    }
    block.selection.set(result);
  };
}

function negationOf(filter: BlockFilter): BlockFilter {
  return (block) => {
    const selection = block.selection.slice();
    filter({ ...block, selection });
    subtract(block.selection, selection);
  };
}

function compileLeaf(filter: LeafFilter, view: ChunkView, checkpoint: Checkpoint): BlockFilter {
  const { field } = filter;
  if (field.kind === "time") return timeFilter(filter, view);
  let column = view.column(field);
  if (column.kind === "message") {
    const decided = compileTemplateFilter(filter, column.messages, checkpoint);
    if (decided !== undefined) return decided;
    column = { kind: "text", rows: column.rows, text: column.messages.text, valid: null };
  }
  if (column.kind === "text") {
    const textFilter = compileTextFilter(filter, column, checkpoint);
    if (textFilter !== undefined) return textFilter;
  }
  if (column.kind === "number" && filter.kind === "compares") {
    const { values, valid } = column;
    return eachRow(
      (row) =>
        (valid === null || hasBit(valid, row)) && compareNumbers(values[row]!, filter.op, filter.number),
    );
  }
  if (column.kind === "hex" && filter.kind === "equals" && filter.value !== "") {
    return idFilter(column, filter.value);
  }
  return columnFilter(column, valueTest(filter), checkpoint);
}

/** Ids are compared as bytes: making their text costs a hundred times as much. */
function idFilter({ bytes, width, valid }: Extract<Column, { kind: "hex" }>, value: string): BlockFilter {
  if (value.length !== width * 2 || !/^[0-9a-f]+$/.test(value))
    return (block) => void block.selection.fill(0);
  const wanted = Buffer.from(value, "hex");
  return eachRow((row) => {
    const from = row * width;
    let i = 0;
    while (i < width && bytes[from + i] === wanted[i]) i++;
    return i === width && (valid === null || hasBit(valid, row));
  });
}

function columnFilter(column: Column, test: ValueTest, checkpoint: Checkpoint): BlockFilter {
  if (column.kind === "absent")
    return test(undefined) ? () => undefined : (block) => void block.selection.fill(0);
  if (column.kind === "dictionary") {
    const passes = Uint8Array.from([...dictionaryTexts(column).map(test), test(undefined)], Number);
    const { codes } = column;
    if (!passes.includes(0)) return () => undefined;
    if (!passes.includes(1)) return (block) => void block.selection.fill(0);
    return eachRow((row) => passes[codes[row]!] === 1);
  }
  if (column.kind === "constant") {
    const present = test(column.value);
    const absent = test(undefined);
    const { valid } = column;
    if (valid === null || present === absent) {
      return present ? () => undefined : (block) => void block.selection.fill(0);
    }
    return eachRow((row) => (hasBit(valid, row) ? present : absent));
  }
  return eachRow((row) => test(columnText(column, row)), checkpoint);
}

/** The text of a time is its whole milliseconds since the epoch. */
function timeFilter(filter: LeafFilter, view: ChunkView): BlockFilter {
  const test = valueTest(filter);
  const { timeNs, day } = view;
  return eachRow((row) => test(timeText(day, timeNs[row]!)));
}

export function timeText(day: number, timeNs: number): string {
  return String(timeMs(day, timeNs));
}

/** Rows tested between two looks at the clock. */
const checkEvery = 1024;

export function eachRow(passes: (row: number) => boolean, checkpoint?: Checkpoint): BlockFilter {
  return ({ from, rows, selection }) => {
    for (let i = 0; i < rows; i++) {
      if (checkpoint !== undefined && i % checkEvery === 0) checkpoint();
      if (hasBit(selection, i) && !passes(from + i)) clearBit(selection, i);
    }
  };
}
