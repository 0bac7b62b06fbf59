/** Reads whole chunks, one after the other, for `scan`. */

import type { Control } from "../plan/query-control.ts";
import type { ScanQuery } from "../plan/row-query.ts";
import type { ReadAnswer } from "../scan/chunk-read.ts";
import { type RecordBatch, recordBatch } from "./arrow.ts";
import { type Dispatch, runWithin, shardOf } from "./scatter-gather.ts";

export async function* dispatchRead(
  { catalog, shards }: Dispatch,
  { signal, fromNs, toNs, steps }: ScanQuery,
  control: Control,
): AsyncGenerator<RecordBatch, void, undefined> {
  for (const chunk of catalog.chunksIn(signal, fromNs, toNs).reverse()) {
    const shard = shards[shardOf(chunk, shards.length)]!;
    const task = { kind: "read", chunk, fromNs, toNs, steps, control } as const;
    const answer = await runWithin<ReadAnswer>(shard, task, control);
    if (answer.rows > 0) yield recordBatch(answer);
  }
}
