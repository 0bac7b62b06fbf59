/** Reads every row that a search finds, page by page, at the pace of the reader. */

import { Failure, type QueryLimits } from "../../engine/index.ts";
import { fieldOf, queryFields, searchLogs, searchSpans } from "../../query/index.ts";
import type { SearchableStore } from "../access/searchable-store.ts";
import {
  type ExportedRow,
  type ExportedSignal,
  makeCsvWriter,
  ndjsonWriter,
  type RowWriter,
  toExportedLog,
  toExportedSpan,
} from "./export-format.ts";
import { exportColumnsMax, exportPageRowsMax } from "./limits.ts";

export interface ExportRequest {
  signal: ExportedSignal;
  query: string;
  startMs: number;
  endMs: number;
  format: "ndjson" | "csv";
  order: "newest" | "oldest";
  /** Attributes that have a column of their own in CSV; undefined: those that most rows have. */
  columns: readonly string[] | undefined;
}

/** Approximate characters of one piece. */
const pieceLength = 256 * 1024;

/** One page of rows, and where the next one begins. */
interface ExportPage {
  rows: ExportedRow[];
  cursor: string | undefined;
}

/** Returns the store that the caller may read now. Throws Refusal where the caller may no longer read. */
type ReadableStore = () => Promise<SearchableStore>;

/**
 * The bytes of an export. The first page is read before this resolves, so that a mistake in the query is an error of the
 * request. What fails later ends the bytes with an error.
 */
export async function exportRows(
  request: ExportRequest,
  storeOf: ReadableStore,
  limits: QueryLimits,
): Promise<{ contentType: string; pieces: AsyncIterable<Uint8Array> }> {
  const store = await storeOf();
  const first = await readPage(store, request, undefined, limits);
  const writer = await makeWriter(store, request, limits);
  return { contentType: writer.contentType, pieces: writePages(first, writer, request, storeOf, limits) };
}

async function* writePages(
  first: ExportPage,
  writer: RowWriter,
  request: ExportRequest,
  storeOf: ReadableStore,
  limits: QueryLimits,
): AsyncGenerator<Uint8Array> {
  let piece = writer.head;
  for (let page = first; ; ) {
    for (const row of page.rows) {
      piece += writer.write(row);
      if (piece.length < pieceLength) continue;
      yield Buffer.from(piece);
      piece = "";
    }
    if (page.cursor === undefined) return void (yield Buffer.from(piece));
    page = await readPage(await storeOf(), request, page.cursor, limits);
  }
}

/** Reads a page, with fewer rows where they are so large that a search may not hold as many. */
async function readPage(
  store: SearchableStore,
  { signal, query, startMs, endMs, order }: ExportRequest,
  cursor: string | undefined,
  limits: QueryLimits,
): Promise<ExportPage> {
  for (let limit = exportPageRowsMax; ; limit = Math.ceil(limit / 8)) {
    const search = { query, startMs, endMs, order, limit, ...(cursor === undefined ? {} : { cursor }) };
    try {
      if (signal === "logs") {
        const found = await searchLogs(store, search, limits);
        return { rows: found.rows.map(toExportedLog), cursor: found.cursor };
      }
      const found = await searchSpans(store, search, limits);
      return { rows: found.spans.map(toExportedSpan), cursor: found.cursor };
    } catch (error) {
      if (limit === 1 || !(error instanceof Failure) || error.kind !== "limit") throw error;
    }
  }
}

async function makeWriter(
  store: SearchableStore,
  { signal, query, startMs, endMs, format, columns }: ExportRequest,
  limits: QueryLimits,
): Promise<RowWriter> {
  if (format === "ndjson") return ndjsonWriter;
  if (columns !== undefined)
    return makeCsvWriter(
      signal,
      columns.flatMap((name) => keyOf(name, signal)),
    );
  const asked = { signal, query, startMs, endMs, prefix: "", limit: exportColumnsMax };
  const { fields } = await queryFields(store, asked, limits);
  return makeCsvWriter(
    signal,
    fields.flatMap(({ name }) => keyOf(name, signal)),
  );
}

/** Attributes of spans that are columns already. */
const spanColumns = new Set([
  ...["trace_id", "span_id", "parent_span_id", "name", "kind", "duration_ms", "status_code"],
]);

/** The key of the attribute that a field's name means; none for what is a column already. */
function keyOf(name: string, signal: ExportedSignal): string[] {
  const field = fieldOf(name, signal);
  if (field.kind !== "attribute" || (signal === "traces" && spanColumns.has(field.key))) return [];
  return [field.key];
}
