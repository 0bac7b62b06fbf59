/**
 * A chunk header as readers keep it: its lists of values stay JSON until somebody asks for one. They are most of a header,
 * and as objects they take ten times as much memory.
 */
import { type ChunkOutline, type ListedValue, parseHeader } from "./chunk-header.ts";

export interface OpenedHeader {
  header: ChunkOutline;
  /** See `ChunkSource`. */
  listedValues(column: number): ListedValue[] | undefined;
}

const listStart = '"values":';

/** Opens the JSON of a chunk header whose frame or batch was verified. Keeps nothing of `json`. */
export function openHeader(json: Uint8Array): OpenedHeader {
  const text = Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("utf8");
  return splitHeader(text) ?? openParsed(json);
}

/** Parses all but the lists. Undefined where a list does not end at its first two brackets, since a value has them. */
function splitHeader(text: string): OpenedHeader | undefined {
  const rest: string[] = [];
  const lists: string[] = [];
  let from = 0;
  for (let at = text.indexOf(listStart); at >= 0; at = text.indexOf(listStart, from)) {
    const listFrom = at + listStart.length;
    const listTo = text.startsWith("[]", listFrom) ? listFrom + 2 : text.indexOf("]]", listFrom) + 2;
    if (listTo < listFrom) return undefined;
    // A number stands for the list.
    rest.push(text.slice(from, listFrom), String(lists.length));
    lists.push(text.slice(listFrom, listTo));
    from = listTo;
  }
  rest.push(text.slice(from));
  const outline = parseOutline(rest.join(""), lists.length);
  return outline && { header: outline, listedValues: makeLists(outline, lists) };
}

/** An outline whose columns have the number of their list. */
type NumberedOutline = ChunkOutline & { columns: { values?: number }[] };

/**
 * Undefined where this is no outline, or not every list is a column's. Values have no quotes that are not escaped, so what
 * is left of a list that was cut is never a column with a role.
 */
function parseOutline(text: string, listCount: number): NumberedOutline | undefined {
  try {
    const outline = JSON.parse(text) as NumberedOutline;
    let listed = 0;
    for (const { role, values } of outline.columns) {
      if (typeof role !== "string") return undefined;
      if (values !== undefined && values !== listed++) return undefined;
    }
    return listed === listCount ? outline : undefined;
  } catch {
    return undefined;
  }
}

/** Returns what parses a list. What it returned last is used again while the garbage collector leaves it. */
function makeLists({ columns }: NumberedOutline, lists: readonly string[]): OpenedHeader["listedValues"] {
  const parsed: WeakRef<ListedValue[]>[] = [];
  return (column) => {
    const list = columns[column]?.values;
    if (list === undefined) return undefined;
    const known = parsed[list]?.deref();
    if (known !== undefined) return known;
    const values = JSON.parse(lists[list]!) as ListedValue[];
    parsed[list] = new WeakRef(values);
    return values;
  };
}

function openParsed(json: Uint8Array): OpenedHeader {
  const header = parseHeader(json);
  return { header, listedValues: (column) => header.columns[column]?.values };
}
