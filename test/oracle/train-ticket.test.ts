import { createReadStream, existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LogRow, openStore, type Store } from "../../engine/index.ts";
import { readCases, runCases } from "./cases.ts";

/**
 * One day of the Train Ticket benchmark (Nezha dataset), as gzipped JSON lines. The answers were made with
 * `python3 test/oracle/logs.py logs.jsonl.gz test/oracle/train-ticket.json --write`.
 */
const places = [
  process.env.SVC_TRAIN_TICKET,
  new URL("../../../shared/data/train-ticket/logs.jsonl.gz", import.meta.url).pathname,
];
const file = places.find((place) => place !== undefined && existsSync(place));
const dayRows = 172_722;
const batchRows = 10_000;

async function* readBatches(path: string): AsyncGenerator<LogRow[]> {
  let batch: LogRow[] = [];
  for await (const line of createInterface({ input: createReadStream(path).pipe(createGunzip()) })) {
    const { timeUnixNano, log_level, message, attributes } = JSON.parse(line);
    batch.push({ timeNs: BigInt(timeUnixNano), level: log_level, message, attributes });
    if (batch.length < batchRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

describe.skipIf(file === undefined)(
  "a day of Train Ticket logs (skipped where SVC_TRAIN_TICKET names no logs.jsonl.gz)",
  () => {
    let dir = "";
    let store: Store;
    let taken = 0;
    let refused = 0;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "svc-oracle-"));
      store = await openStore({ dir });
      for await (const batch of readBatches(file!)) {
        const result = await store.append("logs", batch);
        taken += result.rows;
        refused += result.refused.length;
      }
      await store.seal();
    }, 300_000);
    afterAll(async () => {
      await store.close();
      await rm(dir, { recursive: true });
    });

    test("is appended without a refused row", () => {
      expect([taken, refused]).toEqual([dayRows, 0]);
    });

    runCases(readCases("train-ticket.json"), () => store);
  },
);
