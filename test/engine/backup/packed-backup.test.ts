/** A backup of batches whose days are chunks ready for disk: it has all rows and keys, sealed or not. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fullChunkCaps } from "../../../engine/chunk/chunk-caps.ts";
import {
  BatchBuilder,
  hashKey,
  openState,
  openStore,
  restoreBackup,
  type Store,
  verifyStore,
  writeBackup,
} from "../../../engine/index.ts";
import { packedRowsMin } from "../../../engine/limits.ts";

const startMs = Date.UTC(2026, 0, 10);
const rowsEach = packedRowsMin + 20;
const caps = { ...fullChunkCaps, rowsMax: 5_000 };

function encode(key: string, from: number) {
  const builder = new BatchBuilder("logs", { nowMs: startMs });
  for (let n = from; n < from + rowsEach; n++) {
    const timeNs = BigInt(startMs + ((n * 7_919) % 50_000)) * 1_000_000n;
    builder.addLogRow({ timeNs, level: "", message: `row ${n}`, attributes: {} });
  }
  const batch = builder.finish({ packedCaps: caps, keys: [{ hash: hashKey(key), rows: rowsEach }] });
  builder.release();
  return batch;
}

async function listArrived(store: Store): Promise<string[]> {
  const selections = [{ steps: [], fromNs: 0n, rowsMax: 100_000 }];
  const found: string[] = [];
  for (let after = 0; after < store.arrivalMax; ) {
    const [page] = await store.arrived({ signal: "logs", after, through: store.arrivalMax, selections });
    found.push(...Array.from(page!.rows, ({ arrival, message }) => `${arrival} ${message}`));
    after = page!.through;
  }
  return found;
}

test("has the rows with their arrival numbers, and the keys of pieces", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-packed-backup-"));
  try {
    const dir = join(folder, "data");
    // At such a time no work is done in the background.
    const options = { threads: 1, now: () => startMs, elapsed: () => -1 };
    const store = await openStore({ dir, ...options });
    const state = await openState(join(dir, "control"));
    await store.appendEncoded(encode("sealed", 0));
    await store.seal();
    await store.appendEncoded(encode("unsealed", rowsEach));
    expect(store.stats().unsealedRows).toBe(rowsEach);
    const opened = await store.openBackup(state);
    await writeBackup(opened.pieces([]), join(folder, "backup"), () => undefined);
    await opened.close();
    await state.close();
    await store.close();

    const to = join(folder, "restored");
    await restoreBackup(join(folder, "backup"), to, { nowMs: startMs, onProgress: () => undefined });
    expect((await verifyStore(to)).damage).toEqual([]);
    const restored = await openStore({ dir: to, ...options });
    const wanted = Array.from({ length: 2 * rowsEach }, (_, n) => `${n + 1} row ${n}`);
    const check = async () => {
      expect(restored.stats()).toMatchObject({ rows: 2 * rowsEach, damage: [] });
      expect((await listArrived(restored)).join("\n") === wanted.join("\n")).toBe(true);
      expect(restored.findKeyRows(["sealed", "unsealed", "new"].map(hashKey))).toEqual([
        rowsEach,
        rowsEach,
        undefined,
      ]);
    };
    await check();
    await restored.seal();
    await check();
    await restored.close();
    expect(await verifyStore(to)).toMatchObject({ rows: 2 * rowsEach, damage: [] });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
