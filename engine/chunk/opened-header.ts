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

/** How the JSON of each column begins. In a text the quotes would be escaped. */
const columnStart = Buffer.from('{"role":');
/** What stands before a list of values, which ends with the last bracket of its column: only numbers follow. */
const listStart = Buffer.from('"values":');
const bracket = "]".charCodeAt(0);

/** Opens the JSON of a chunk header whose frame or batch was verified. Keeps nothing of `json`. */
export function openHeader(json: Uint8Array): OpenedHeader {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  return splitHeader(bytes) ?? openParsed(bytes);
}

/** Parses all but the lists. Undefined where the JSON is not laid out as encoders write it. */
function splitHeader(bytes: Buffer): OpenedHeader | undefined {
  const rest: string[] = [];
  const lists: (Buffer | undefined)[] = [];
  let from = 0;
  for (let start = bytes.indexOf(columnStart); start >= 0; ) {
    const next = bytes.indexOf(columnStart, start + columnStart.length);
    // Behind the last column the brackets of the columns and of the header close.
    const end = next < 0 ? bytes.length - 2 : next;
    const list = bytes.subarray(start, end).indexOf(listStart);
    if (list >= 0) {
      const listFrom = start + list + listStart.length;
      const listTo = bytes.lastIndexOf(bracket, end - 1) + 1;
      if (listTo <= listFrom) return undefined;
      rest.push(bytes.toString("utf8", from, listFrom), "0");
      lists.push(bytes.subarray(listFrom, listTo));
      from = listTo;
    } else lists.push(undefined);
    start = next;
  }
  rest.push(bytes.toString("utf8", from));
  const header = parseOutline(rest.join(""), lists);
  return header && { header, listedValues: makeLists(lists) };
}

function parseOutline(text: string, lists: readonly unknown[]): ChunkOutline | undefined {
  let header: ChunkOutline;
  try {
    header = JSON.parse(text) as ChunkOutline;
  } catch {
    return undefined;
  }
  const isWhole = header.columns.length === lists.length;
  return isWhole && header.columns.every((column, i) => "values" in column === (lists[i] !== undefined))
    ? header
    : undefined;
}

/** Returns what parses a list. What it returned last is used again while the garbage collector leaves it. */
function makeLists(lists: readonly (Buffer | undefined)[]): OpenedHeader["listedValues"] {
  const kept = Buffer.concat(lists.filter((list) => list !== undefined));
  const starts = new Uint32Array(lists.length + 1);
  for (const [i, list] of lists.entries()) starts[i + 1] = starts[i]! + (list?.length ?? 0);
  const parsed: WeakRef<ListedValue[]>[] = [];
  return (column) => {
    const [from, to] = [starts[column], starts[column + 1]];
    if (from === undefined || to === undefined || from === to) return undefined;
    const known = parsed[column]?.deref();
    if (known !== undefined) return known;
    const list = JSON.parse(kept.toString("utf8", from, to)) as ListedValue[];
    parsed[column] = new WeakRef(list);
    return list;
  };
}

function openParsed(bytes: Buffer): OpenedHeader {
  const header = parseHeader(bytes);
  return { header, listedValues: (column) => header.columns[column]?.values };
}
