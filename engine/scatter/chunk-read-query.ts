/** Reads the matching rows chunk by chunk, oldest chunk first, as Arrow record batches. */

import type { QueryControl } from "../plan/query-control.ts";
import type { ScanQuery } from "../plan/row-query.ts";
import type { ReadAnswer } from "../scan/chunk-read.ts";
import { type RecordBatch, recordBatch } from "./arrow-batch.ts";
import { runWithin, type ScatterContext, threadOfChunk } from "./scatter-gather.ts";

export async function* readChunks(
  { catalog, threads }: ScatterContext,
  { signal, fromNs, toNs, steps }: ScanQuery,
  control: QueryControl,
): AsyncGenerator<RecordBatch, void, undefined> {
  for (const chunk of catalog.findChunks(signal, fromNs, toNs).reverse()) {
    const thread = threads[threadOfChunk(chunk, threads.length)]!;
    const task = { kind: "read", chunk, fromNs, toNs, steps, control } as const;
    const answer = await runWithin<ReadAnswer>(thread, task, control);
    if (answer.rows > 0) yield recordBatch(answer);
  }
}
