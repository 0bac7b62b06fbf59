/** Reads bodies of JSON lines or of one JSON array: each line or element is one row, or the samples of one metric. */

import { isUtf8 } from "node:buffer";
import type { RowStop } from "../../../engine/index.ts";
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
 * Reads every row of a body into the sink. Strings are decoded in place, so the body must not be read again. Throws
 * Refusal.
 */
export function readJsonLines(body: Buffer, sink: RowSink | SampleSink, names?: LogFieldNames): void {
  // Rows are checked one by one only where the body as a whole is not valid UTF-8.
  const isValidBody = isUtf8(body);
  if (sink instanceof SampleSink && isValidBody) {
    readSamples(body, sink);
    return;
  }
  if (sink instanceof RowSink && names === undefined && isValidBody && readFast(body, sink)) return;
  const readLine = sink instanceof RowSink ? makeRowReader(body, sink, names) : makeSampleReader(body, sink);
  forEachRow(body, (from, to, line) => {
    if (!isValidBody && !isUtf8(body.subarray(from, to))) {
      sink.refuseLine(line, "encoding", "not valid UTF-8");
      return;
    }
    sink.refuseLineOnProblem(line, () => readLine(from, to));
  });
}

/**
 * Reads logs or spans straight into the batch, but for those of unusual shapes. Returns false, with nothing read, where
 * the batch cannot do that, and for other signals. Throws Refusal.
 */
function readFast(body: Buffer, sink: RowSink): boolean {
  const { signal, builder, flattensJson, arrivalMs } = sink;
  if (signal !== "logs" && signal !== "traces") return false;
  const names =
    signal === "logs"
      ? { loggerNames, otherSignalNames }
      : { loggerNames: noNames, otherSignalNames: noNames };
  if (signal === "traces") for (const key of spanKeys) builder.addKeyText(key);
  const form = { signal, start: findStart(body), arrivalMs, flattensJson, ...names };
  const rows = builder.readJson(body, { ...form, keysMax: ingestKeysMax, membersMax: flatKeysMax });
  if (rows === undefined) return false;
  const addParsed = makeGeneralReader(sink);
  /** Reads or adds the row at which reading stopped. */
  const finishRow = (stop: RowStop): string | undefined => {
    if (stop === "staged row") return sink.addUncountedRanges(rows.stagedRow, rows.bytes);
    const { from, to } = rows.lastRow;
    return addParsed(body.toString("utf8", from, to));
  };
  forEachStop(body, rows, sink, (stop, line) => sink.refuseLineOnProblem(line, () => finishRow(stop)));
  sink.untimedRows += rows.finish();
  return true;
}

const noNames: ReadonlySet<string> = new Set();

/** Reads samples, and parses only rows that name their series in a way that this thread has not met. Throws Refusal. */
function readSamples(body: Buffer, sink: SampleSink): void {
  const { builder } = sink;
  const rows = builder.readJson(body, findStart(body));
  const read = makeSampleReader(body, sink);
  const finishRow = (stop: RowStop): string | undefined => {
    if (stop === "staged row") return rows.addStaged();
    const { from, to } = rows.lastRow;
    return read(from, to);
  };
  forEachStop(body, rows, sink, (stop, line) => sink.refuseLineOnProblem(line, () => finishRow(stop)));
}

/** Rows that are read straight into the batch, until one that the caller has to read or to add. */
interface StoppingRows {
  readLines(rowsMax: number): RowStop;
  readRow(from: number, to: number): RowStop;
  readonly rowsRead: number;
  readonly lastRow: { line: number };
}

/** Calls `onStop` with each row that is not in the batch yet, and counts the others. Throws Refusal. */
function forEachStop(
  body: Buffer,
  rows: StoppingRows,
  sink: Sink,
  onStop: (stop: RowStop, line: number) => void,
): void {
  if (isArray(body)) {
    forEachRow(body, (from, to, line) => {
      const stop = rows.readRow(from, to);
      if (stop === "end" || stop === "rows") sink.countLine(line, undefined);
      else onStop(stop, line);
    });
    return;
  }
  for (;;) {
    const stop = rows.readLines(ingestRowsMax - sink.rows);
    const isWhole = stop === "end" || stop === "rows";
    sink.rows += isWhole ? rows.rowsRead : rows.rowsRead - 1;
    if (stop === "end") return;
    // One row more is one too many.
    if (stop === "rows") sink.checkRoom();
    else onStop(stop, rows.lastRow.line);
  }
}

/** Rows of the usual shape are read by the fast reader, the others by the general one. */
function makeRowReader(sent: Buffer, sink: RowSink, names?: LogFieldNames): ReadLine {
  const body = sink.builder.read(sent);
  // Only the general reader looks fields up by names that the sender gives.
  const fastReader = names === undefined ? makeFastReader(body, sink) : undefined;
  const addParsed = makeGeneralReader(sink, names);
  return (from, to) => {
    const ranges = fastReader?.read(from, to);
    if (ranges !== undefined) return sink.addUncountedRanges(ranges, body);
    return addParsed(body.toString("utf8", from, to));
  };
}

function makeFastReader(body: Buffer, sink: RowSink): JsonLines | undefined {
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
