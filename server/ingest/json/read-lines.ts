/** Reads bodies of JSON lines, or of one JSON array: each line or element is one row, or the samples of one. */

import { isUtf8 } from "node:buffer";
import type { BatchBuilder } from "../../../engine/index.ts";
import { RowSink, type SampleSink } from "../row-sink.ts";
import { mayBeJson, rowOfRanges } from "./flat-message.ts";
import { JsonLines } from "./json-lines.ts";
import { RowProblem } from "./json-row.ts";
import { LogForm } from "./log-form.ts";
import { type ReadRow, readBodyRow, readLogRow } from "./log-row.ts";
import { readMetricRow } from "./metric-row.ts";
import { eachRow } from "./row-splitter.ts";
import { SpanForm } from "./span-form.ts";
import { readSpanRow } from "./span-row.ts";

/** Reads the row at [from, to); returns why it cannot be stored, if so. Throws RowProblem where it cannot be read. */
type ReadLine = (from: number, to: number) => string | undefined;

/** Escapes in strings are decoded in place: the body is not to be read again. Throws Refusal. */
export function readJsonLines(body: Buffer, sink: RowSink | SampleSink): void {
  const readLine = sink instanceof RowSink ? rowReader(body, sink) : sampleReader(body, sink);
  // Only a body that is bad as a whole is checked row by row.
  const isWhole = isUtf8(body);
  eachRow(body, (from, to, line) => {
    if (!isWhole && !isUtf8(body.subarray(from, to))) {
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

/** Rows of the usual shape are read from their bytes, the others from their text. */
function rowReader(body: Buffer, sink: RowSink): ReadLine {
  const { draft } = sink;
  draft.read(body);
  const usual = usualLines(body, sink);
  const readUnusual = unusualReader(sink);
  return (from, to) => {
    const ranges = usual?.read(from, to);
    if (ranges !== undefined && !(sink.flattensJson && mayBeJson(ranges, body))) return draft.add(ranges);
    if (ranges !== undefined) return sink.addUncounted(rowOfRanges(ranges, body, draft));
    const { row, timed } = readUnusual(body.toString("utf8", from, to));
    const reason = sink.addUncounted(row);
    if (!timed) sink.untimed++;
    return reason;
  };
}

function usualLines(body: Buffer, sink: RowSink): JsonLines | undefined {
  switch (sink.signal) {
    case "logs":
      return new JsonLines(body, sink.draft, (scanner) => new LogForm(scanner, sink));
    case "traces":
      return new JsonLines(body, sink.draft, (scanner, draft: BatchBuilder) => new SpanForm(scanner, draft));
    default:
      return undefined;
  }
}

function unusualReader({ signal, arrivalMs }: RowSink): (text: string) => ReadRow {
  const arrivalNs = BigInt(arrivalMs) * 1_000_000n;
  if (signal === "traces") return (text) => ({ row: readSpanRow(text), timed: true });
  return (text) => (signal === "logs" ? readLogRow : readBodyRow)(text, arrivalNs);
}

/** A row may become several samples; behind one that cannot be stored the others are left out. */
function sampleReader(body: Buffer, sink: SampleSink): ReadLine {
  const arrivalNs = BigInt(sink.arrivalMs) * 1_000_000n;
  return (from, to) => {
    const { samples, timed } = readMetricRow(body.toString("utf8", from, to), arrivalNs);
    if (!timed) sink.untimed++;
    for (const sample of samples) {
      const reason = sink.draft.addSample(sample);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}
