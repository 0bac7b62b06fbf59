/** Reads bodies of JSON lines or of one JSON array: each line or element is one row, or the samples of one metric. */

import { isUtf8 } from "node:buffer";
import type { JsonRows, RowStop } from "../../../engine/index.ts";
import { countLines } from "../../text/newlines.ts";
import { flatKeysMax, ingestKeysMax, ingestRowsMax } from "../limits.ts";
import { type LogFieldNames, loggerNames, otherSignalNames } from "../loggers/field-names.ts";
import { RowSink, SampleSink, type Sink } from "../row-sink.ts";
import { JsonLines } from "./json-lines.ts";
import { LogForm } from "./log-form.ts";
import { type ReadRow, readBodyRow, readLogRow } from "./log-row.ts";
import { readMetricRow } from "./metric-row.ts";
import { findStart, forEachRow, isArray } from "./row-splitter.ts";
import { SpanForm } from "./span-form.ts";
import { readSpanRow, spanKeys } from "./span-row.ts";

/**
 * Reads the row at [from, to); returns why it cannot be stored, or undefined. Throws RowProblem where it cannot be
 * read.
 */
type ReadLine = (from: number, to: number) => string | undefined;

/**
 * Returns a function that reads every row of a body, or of a piece of it, into the sink, and returns the number of lines. It
 * throws Refusal.
 */
export function makeJsonReader(sink: RowSink | SampleSink, names?: LogFieldNames): (piece: Buffer) => number {
  const readFast: ReadFast =
    sink instanceof RowSink && names === undefined ? makeFastReader(sink) : () => undefined;
  return (piece) => {
    // Rows are checked one by one only where the bytes as a whole are not valid UTF-8.
    const isValid = isUtf8(piece);
    if (sink instanceof SampleSink && isValid) return readSamples(piece, sink);
    const lines = isValid ? readFast(piece) : undefined;
    return lines ?? readGenerally(piece, isValid, sink, names);
  };
}

/** Returns the number of lines. */
function readGenerally(
  piece: Buffer,
  isValid: boolean,
  sink: RowSink | SampleSink,
  names: LogFieldNames | undefined,
): number {
  const readLine =
    sink instanceof RowSink ? makeLineReader(piece, sink, names) : makeSampleReader(piece, sink);
  forEachRow(piece, (from, to, line) => {
    if (!isValid && !isUtf8(piece.subarray(from, to))) {
      sink.countLine(line, "not valid UTF-8", "encoding");
      return;
    }
    sink.refuseLineOnProblem(line, () => readLine(from, to));
  });
  return countLines(piece);
}

/** Reads a piece and returns its lines; undefined, with nothing read, where that is not possible. Throws Refusal. */
type ReadFast = (piece: Buffer) => number | undefined;

/**
 * Returns a function that reads logs or spans straight into the batch, but for those of unusual shapes. It can do so
 * where the batch can, and for no other signals.
 */
function makeFastReader(sink: RowSink): ReadFast {
  const { signal, builder, flattensJson, arrivalMs } = sink;
  if (signal !== "logs" && signal !== "traces") return () => undefined;
  const names =
    signal === "logs"
      ? { loggerNames, otherSignalNames }
      : { loggerNames: noNames, otherSignalNames: noNames };
  const form = { signal, arrivalMs, flattensJson, ...names, keysMax: ingestKeysMax, membersMax: flatKeysMax };
  const addParsed = makeGeneralReader(sink);
  let rows: JsonRows | undefined;
  const begin = (piece: Buffer): JsonRows | undefined => {
    const start = findStart(piece);
    if (rows !== undefined) return builder.readMoreJson(rows, piece, start);
    if (signal === "traces") for (const key of spanKeys) builder.addKeyText(key);
    rows = builder.readJson(piece, { ...form, start });
    return rows;
  };
  return (piece) => {
    const begun = begin(piece);
    if (begun === undefined) return undefined;
    /** Reads or adds the row at which reading stopped. */
    const finishRow = (stop: RowStop): string | undefined => {
      if (stop === "staged row") return sink.addUncountedRanges(begun.stagedRow, begun.bytes);
      const { from, to } = begun.lastRow;
      return addParsed(piece.toString("utf8", from, to));
    };
    const onStop: OnStop = (stop, line) => sink.refuseLineOnProblem(line, () => finishRow(stop));
    const lines = forEachStop(piece, begun, sink, onStop);
    sink.untimedRows += begun.finish();
    return lines;
  };
}

const noNames: ReadonlySet<string> = new Set();

/**
 * Reads samples. Only a row that names its series in a way that is new to this thread is parsed. Returns the number of lines.
 * Throws Refusal.
 */
function readSamples(body: Buffer, sink: SampleSink): number {
  const { builder } = sink;
  const rows = builder.readJson(body, findStart(body));
  const read = makeSampleReader(body, sink);
  const finishRow = (stop: RowStop): string | undefined => {
    if (stop === "staged row") return rows.addStaged();
    const { from, to } = rows.lastRow;
    return read(from, to);
  };
  return forEachStop(body, rows, sink, (stop, line) => sink.refuseLineOnProblem(line, () => finishRow(stop)));
}

/** Rows that are read straight into the batch, until one that the caller has to read or to add. */
interface StoppingRows {
  readLines(rowsMax: number): RowStop;
  readRow(from: number, to: number): RowStop;
  readonly rowsRead: number;
  readonly lastRow: { line: number };
}

type OnStop = (stop: RowStop, line: number) => void;

/**
 * Calls `onStop` with each row that is not in the batch yet, and counts the others. Returns the number of lines. Throws
 * Refusal.
 */
function forEachStop(body: Buffer, rows: StoppingRows, sink: Sink, onStop: OnStop): number {
  if (isArray(body)) {
    const lines = countLines(body);
    forEachRow(body, (from, to, line) => {
      const stop = rows.readRow(from, to);
      if (stop === "end" || stop === "rows") sink.countLine(line);
      else onStop(stop, line);
    });
    return lines;
  }
  for (;;) {
    const stop = rows.readLines(ingestRowsMax - sink.rows);
    const isWhole = stop === "end" || stop === "rows";
    sink.rows += isWhole ? rows.rowsRead : rows.rowsRead - 1;
    if (stop === "end") return rows.lastRow.line;
    // One row more is one too many.
    if (stop === "rows") sink.checkRoom();
    else onStop(stop, rows.lastRow.line);
  }
}

/** Rows of the usual shape are read by the fast reader, the others by the general one. */
function makeLineReader(sent: Buffer, sink: RowSink, names?: LogFieldNames): ReadLine {
  const body = sink.builder.read(sent);
  // Only the general reader looks fields up by names that the sender gives.
  const plainReader = names === undefined ? makePlainReader(body, sink) : undefined;
  const addParsed = makeGeneralReader(sink, names);
  return (from, to) => {
    const ranges = plainReader?.read(from, to);
    if (ranges !== undefined) return sink.addUncountedRanges(ranges, body);
    return addParsed(body.toString("utf8", from, to));
  };
}

function makePlainReader(body: Buffer, sink: RowSink): JsonLines | undefined {
  switch (sink.signal) {
    case "logs":
      return new JsonLines(body, sink.builder, (scanner) => new LogForm(scanner, sink));
    case "traces":
      return new JsonLines(body, sink.builder, (scanner) => new SpanForm(scanner, sink.builder));
    default:
      return undefined;
  }
}

/** Adds the row of a JSON text that is parsed as a whole. Returns why it cannot be stored, or undefined. Throws RowProblem. */
function makeGeneralReader(sink: RowSink, names?: LogFieldNames): (text: string) => string | undefined {
  const { signal, arrivalMs } = sink;
  const arrivalNs = BigInt(arrivalMs) * 1_000_000n;
  const read = (text: string): ReadRow => {
    if (signal === "traces") return { row: readSpanRow(text), hasOwnTime: true };
    return signal === "logs" ? readLogRow(text, arrivalNs, names) : readBodyRow(text, arrivalNs);
  };
  return (text) => {
    const { row, hasOwnTime } = read(text);
    const reason = sink.addUncounted(row);
    if (!hasOwnTime) sink.untimedRows++;
    return reason;
  };
}

/** Parses rows. A row may become several samples; after the first that cannot be stored the rest are skipped. */
function makeSampleReader(body: Buffer, sink: SampleSink): ReadLine {
  const arrivalNs = BigInt(sink.arrivalMs) * 1_000_000n;
  return (from, to) => {
    const { samples, hasOwnTime } = readMetricRow(body.toString("utf8", from, to), arrivalNs);
    if (!hasOwnTime) sink.untimedRows++;
    sink.countLabelCopies(samples);
    for (const sample of samples) {
      const reason = sink.builder.addSample(sample);
      if (reason !== undefined) return reason;
    }
    // The row names a single series.
    if (samples.length === 1) sink.builder.noteAlias();
    return undefined;
  };
}
