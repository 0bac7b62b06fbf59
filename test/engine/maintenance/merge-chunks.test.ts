/** Merging the chunks of a partition where that saves nothing. */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openBatch } from "../../../engine/batch/batch.ts";
import { encodeBatch } from "../../../engine/batch/batch-builder.ts";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import { encodeParts, mergeChunks, sealChunks } from "../../../engine/maintenance/maintenance-worker.ts";

const day = 20_000;
const dayNs = BigInt(day) * 86_400_000_000_000n;
/** With this a few rows fill a chunk by the bytes of its messages. */
const filler = "many words ".repeat(90_000);

test("chunks that are full by the bytes of their messages stay as they are, and nothing is written", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-merge-"));
  const task = { dir, day };
  try {
    let manifest = await sealChunks({ kind: "seal", ...task, chunks: [], arrivalSealed: 0 });
    for (let chunk = 0; chunk < 2; chunk++) {
      const rows = Array.from({ length: 40 }, (_, i) => {
        const row = chunk * 40 + i;
        return { timeNs: dayNs + BigInt(row), level: "", message: `${filler}${row}`, attributes: {} };
      });
      const [part] = openBatch(encodeBatch("logs", rows, { nowMs: Date.now() }).bytes);
      const parts = [{ bytes: part!.bytes, arrivalBase: chunk * 40 }];
      const chunks = encodeParts({ kind: "encode-parts", signal: "logs", parts, caps: fullChunkCaps });
      manifest = await sealChunks({ kind: "seal", ...task, chunks, arrivalSealed: chunk * 40 + 39 });
    }
    expect(manifest.chunks.map(({ rows }) => rows)).toEqual([40, 40]);
    const before = statSync(join(dir, "data.mdb"), { bigint: true });
    const answer = await mergeChunks({
      kind: "merge",
      ...task,
      signal: "logs",
      chunks: manifest.chunks,
      caps: fullChunkCaps,
    });
    expect(answer).toEqual({ manifest, merged: [], damaged: [] });
    const after = statSync(join(dir, "data.mdb"), { bigint: true });
    expect([after.size, after.mtimeNs]).toEqual([before.size, before.mtimeNs]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
