/** Reads bodies of JSON lines or of one JSON array: each line or element is one row, or the samples of one metric. */

import { isUtf8 } from "node:buffer";
import type { LogFieldNames } from "../loggers/field-names.ts";
import { RowSink, type SampleSink } from "../row-sink.ts";
import { canBeJson, toLogRow } from "./flat-message.ts";
import { JsonLines } from "./json-lines.ts";
import { RowProblem } from "./json-row.ts";
import { LogForm } from "./log-form.ts";
import { type ReadRow, readBodyRow, readLogRow } from "./log-row.ts";
import { readMetricRow } from "./metric-row.ts";
import { forEachRow } from "./row-splitter.ts";
import { SpanForm } from "./span-form.ts";
import { readSpanRow } from "./span-row.ts";

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
  const readLine = sink instanceof RowSink ? makeRowReader(body, sink, names) : makeSampleReader(body, sink);
  // Rows are checked one by one only where the body as a whole is not valid UTF-8.
  const isValidBody = isUtf8(body);
  forEachRow(body, (from, to, line) => {
    if (!isValidBody && !isUtf8(body.subarray(from, to))) {
      sink.refuseLine(line, "encoding", "not valid UTF-8");
      return;
    }
    try {
      sink.countLine(line, readLine(from, to));
    } catch (problem) {
      if (!(problem instanceof RowProblem)) throw problem;
      sink.refuseLine(line, problem.kind, problem.message);
    }
  });
}

/** Rows of the usual shape are read by the fast reader, the others by the general one. */
function makeRowReader(body: Buffer, sink: RowSink, names?: LogFieldNames): ReadLine {
  const { builder } = sink;
  builder.read(body);
  // Only the general reader looks fields up by names that the sender gives.
  const fastReader = names === undefined ? makeFastReader(body, sink) : undefined;
  const readGeneral = makeGeneralReader(sink, names);
  return (from, to) => {
    const ranges = fastReader?.read(from, to);
    if (ranges !== undefined && !(sink.flattensJson && canBeJson(ranges, body))) return builder.add(ranges);
    if (ranges !== undefined) return sink.addUncounted(toLogRow(ranges, body, builder));
    const { row, hasOwnTime } = readGeneral(body.toString("utf8", from, to));
    const reason = sink.addUncounted(row);
    if (!hasOwnTime) sink.untimedRows++;
    return reason;
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

function makeGeneralReader({ signal, arrivalMs }: RowSink, names?: LogFieldNames): (text: string) => ReadRow {
  const arrivalNs = BigInt(arrivalMs) * 1_000_000n;
  if (signal === "traces") return (text) => ({ row: readSpanRow(text), hasOwnTime: true });
  if (signal === "logs") return (text) => readLogRow(text, arrivalNs, names);
  return (text) => readBodyRow(text, arrivalNs);
}

/** A row may become several samples; after the first that cannot be stored the rest are skipped. */
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
    return undefined;
  };
}
