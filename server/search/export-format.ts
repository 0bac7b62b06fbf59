/** Rows of an export as text: JSON lines that ingestion takes again, or CSV for spreadsheets. */

import type { FoundRow } from "../../engine/index.ts";
import type { Span } from "../../query/index.ts";
import { formatLogEntry } from "./log-entry.ts";
import { formatSpan } from "./span-entry.ts";

export type ExportedSignal = "logs" | "traces";

/** A row as both formats read it. */
export interface ExportedRow {
  /** The values of `fixedColumns`. */
  cells: readonly string[];
  attributes: Readonly<Record<string, string>>;
  toJson(): string;
}

/** Columns of CSV that every row of a signal has. */
const fixedColumns: Readonly<Record<ExportedSignal, readonly string[]>> = {
  logs: ["timestamp", "log_level", "message"],
  traces: ["startTime", "durationMs", "traceId", "spanId", "parentSpanId", "name", "kind", "statusCode"],
};

export function toExportedLog(row: FoundRow): ExportedRow {
  const { timeNs, level, message, attributes } = row;
  return { cells: [toIso(timeNs), level, message], attributes, toJson: () => formatLogEntry(row) };
}

export function toExportedSpan(span: Span): ExportedRow {
  const { startNs, durationMs, traceId, spanId, parentSpanId, name, attributes } = span;
  const duration = durationMs === undefined ? "" : String(durationMs);
  const { kind = "", statusCode = "" } = span;
  return {
    cells: [toIso(startNs), duration, traceId, spanId, parentSpanId, name, kind, statusCode],
    attributes,
    toJson: () => formatSpan(span),
  };
}

function toIso(timeNs: bigint): string {
  return new Date(Number(timeNs / 1_000_000n)).toISOString();
}

/** Writes rows as text. */
export interface RowWriter {
  contentType: string;
  /** Stands before the first row. */
  head: string;
  write(row: ExportedRow): string;
}

export const ndjsonWriter: RowWriter = {
  contentType: "application/x-ndjson; charset=utf-8",
  head: "",
  write: (row) => `${row.toJson()}\n`,
};

/**
 * Writes CSV as RFC 4180 has it, with a column for each of the attributes `keys`. Other attributes of a row stand as
 * JSON in the last column.
 */
export function makeCsvWriter(signal: ExportedSignal, keys: readonly string[]): RowWriter {
  const shown = new Set(keys);
  return {
    contentType: "text/csv; charset=utf-8; header=present",
    head: formatCsvLine([...fixedColumns[signal], ...keys, "attributes"]),
    write: ({ cells, attributes }) => {
      const rest = Object.entries(attributes).filter(([key]) => !shown.has(key));
      const others = rest.length === 0 ? "" : JSON.stringify(Object.fromEntries(rest));
      return formatCsvLine([...cells, ...keys.map((key) => attributes[key] ?? ""), others]);
    },
  };
}

function formatCsvLine(cells: readonly string[]): string {
  return `${cells.map(formatCell).join(",")}\r\n`;
}

/** What a spreadsheet would take for a formula, numbers apart, gets an apostrophe before it. */
function formatCell(text: string): string {
  const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(?:\.\d+)?$/.test(text);
  const shown = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}
