/** Appends batches to a store and reads their rows back. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EncodedBatch, FoundRow, RowSignal } from "../../../engine/index.ts";
import { openStore } from "../../../engine/index.ts";

/** All rows of the batches, the newest first. */
export async function readStoredRows(
  signal: RowSignal,
  batches: readonly EncodedBatch[],
): Promise<FoundRow[]> {
  const dir = mkdtempSync(join(tmpdir(), "svc-rows-"));
  const store = await openStore({ dir, threads: 1 });
  try {
    for (const batch of batches) if (batch.rows > 0) await store.appendEncoded(batch, {});
    const limit = batches.reduce((sum, { rows }) => sum + rows, 1);
    return (await store.search({ signal, fromNs: 0n, toNs: 2n ** 62n, steps: [], limit })).rows;
  } finally {
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}
