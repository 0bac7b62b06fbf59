/** Reads the matching rows chunk by chunk, oldest chunk first, as Arrow record batches. */

import type { ScanQuery } from "../plan/row-query.ts";
import type { ReadAnswer } from "../scan/chunk-read.ts";
import { type RecordBatch, recordBatch } from "./arrow-batch.ts";
import { type QueryContext, runWithin, threadOfChunk } from "./scatter-gather.ts";

export async function* readChunks(
  { catalog, threads, control }: QueryContext,
  { signal, fromNs, toNs, steps }: ScanQuery,
): AsyncGenerator<RecordBatch, void, undefined> {
  for (const chunk of (await catalog.findChunks(signal, fromNs, toNs)).reverse()) {
    const thread = threads[threadOfChunk(chunk, threads.length)]!;
    const task = { kind: "read", chunk, fromNs, toNs, steps, control } as const;
    const answer = await runWithin<ReadAnswer>(thread, task);
    if (answer.rows > 0) yield recordBatch(answer);
  }
}
