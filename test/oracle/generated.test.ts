import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { openStore, type Store } from "../../engine/index.ts";
import { generateBatches, type LogOptions } from "../../fixtures/logs.ts";
import { readCases, runCases } from "./cases.ts";

/**
 * The answers were made with, for each profile, `node fixtures/main.ts --profile P --seed 7 --rows N | python3
 * test/oracle/logs.py - test/oracle/generated-P.json --write`.
 */
const workloads: readonly LogOptions[] = [
  { profile: "company", seed: 7, rows: 40_000 },
  { profile: "system", seed: 7, rows: 60_000 },
];

describe.each(workloads)("generated logs of a $profile", (options) => {
  let dir = "";
  let store: Store;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "svc-oracle-"));
    store = await openStore({ dir });
    let rows = 0;
    for (const batch of generateBatches(options, 5000)) {
      await store.append("logs", batch);
      rows += batch.length;
      // Half of the rows are in chunks, half in memory, and queries read both.
      if (rows === options.rows / 2) await store.seal();
    }
  }, 120_000);
  afterAll(async () => {
    await store.close();
    await rm(dir, { recursive: true });
  });

  runCases(readCases(`generated-${options.profile}.json`), () => store);
});
