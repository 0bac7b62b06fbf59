/** Decodes chunks of metrics back into samples. */

import { ChunkColumns } from "../chunk/chunk-columns.ts";
import type { ArrivalRange } from "../chunk/chunk-entry.ts";
import type { ChunkSource } from "../chunk/chunk-header.ts";
import { ChunkView } from "../chunk/chunk-view.ts";
import { type Column, columnBytes, hasValue } from "../column/column.ts";
import { plainColumns } from "../kernels/heap.ts";
import type { MetricType } from "../model/sample.ts";
import type { SampleChunkBuilder } from "./sample-chunk-encoder.ts";
import { SampleColumns } from "./sample-columns.ts";
import { IdentityWriter } from "./series-identity.ts";
import { SeriesTable } from "./series-table.ts";
import { SeriesView } from "./series-view.ts";

/**
 * Orders chunks of metrics by arrival (negative: `a` first). Of samples of one series at the same time, the one in the
 * later chunk is kept.
 */
export function compareArrivals(a: ArrivalRange, b: ArrivalRange): number {
  return a.arrivalMax - b.arrivalMax || a.arrivalMin - b.arrivalMin;
}

/** All samples of some chunks of one day. The chunks must be in order of arrival. */
export function decodeSampleChunks(sources: readonly ChunkSource[]): SampleChunkBuilder {
  const table = new SeriesTable();
  const builder: SampleChunkBuilder = {
    table,
    samples: new SampleColumns(),
    arrivalMin: Number.POSITIVE_INFINITY,
    arrivalMax: 0,
  };
  const samples = sources.reduce((sum, { header }) => sum + header.rows, 0);
  builder.samples.reserve(samples);
  for (const source of sources) appendChunk(builder, table, source);
  return builder;
}

function appendChunk(builder: SampleChunkBuilder, table: SeriesTable, source: ChunkSource): void {
  const { header, arrivalBase } = source;
  builder.arrivalMin = Math.min(builder.arrivalMin, header.arrivalMin + arrivalBase);
  builder.arrivalMax = Math.max(builder.arrivalMax, header.arrivalMax + arrivalBase);
  const chunk = new SeriesView(new ChunkView(new ChunkColumns(source, 0), plainColumns));
  const identityOf = makeIdentityReader(chunk);
  for (let series = 0; series < chunk.series; series++) {
    const identity = identityOf(series);
    const number = table.addSeries(identity.source, 0, identity.length);
    table.declare(number, chunk.type(series) as MetricType, chunk.unit(series));
    builder.samples.append(number, chunk.timesOf(series), chunk.valuesOf(series));
  }
}

/** Returns a function that writes the identity of a series; its bytes are valid until the next call. */
function makeIdentityReader(chunk: SeriesView): (series: number) => IdentityWriter {
  const writer = new IdentityWriter();
  const { view } = chunk;
  const names = view.seriesColumn("name");
  const columns = sortLabelColumns(chunk);
  const hasOverflow = view.overflow.kind !== "absent";
  return (series) => {
    writer.clear();
    pushText(writer, names, series);
    if (hasOverflow) {
      const pairs = chunk
        .labels(series)
        .map(([key, value]) => [Buffer.from(key), Buffer.from(value)] as const);
      pairs.sort(([a], [b]) => Buffer.compare(a, b));
      for (const pair of pairs) for (const text of pair) pushBytes(writer, text);
      return writer;
    }
    for (const { key, column } of columns) {
      if (!hasValue(column, series)) continue;
      pushBytes(writer, key);
      pushText(writer, column, series);
    }
    return writer;
  };
}

/** The columns of labels in the order in which identities have them: by the bytes of their keys. */
function sortLabelColumns({ view }: SeriesView): { key: Buffer; column: Column }[] {
  return view.header.columns
    .all()
    .flatMap(({ role, key }) => (role === "attribute" ? [key] : []))
    .map((key) => ({ key: Buffer.from(key, "utf8"), column: view.column({ kind: "attribute", key }) }))
    .sort((a, b) => Buffer.compare(a.key, b.key));
}

function pushBytes(writer: IdentityWriter, bytes: Uint8Array): void {
  writer.push(bytes, 0, bytes.byteLength);
}

/** Writes the text of a series in a column that has one. */
function pushText(writer: IdentityWriter, column: Column, series: number): void {
  if (column.kind !== "dictionary" || !hasValue(column, series)) {
    pushBytes(writer, columnBytes(column, series));
    return;
  }
  // Most columns are dictionaries, and a view of each text would cost more than copying it.
  const { offsets, bytes } = column.values;
  const code = column.codes[series]!;
  writer.push(bytes, offsets[code]!, offsets[code + 1]!);
}
