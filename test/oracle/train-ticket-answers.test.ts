/** The questions of a person on call: a store with the whole day answers them as plain loops over the raw lines do. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore, type Store } from "../../engine/index.ts";
import { queryTimeseries } from "../../query/index.ts";
import { describeDifference } from "../query/series/difference.ts";
import { dataOf, dayFolder, type RawDay, readDay } from "./train-ticket-day.ts";
import { questions } from "./train-ticket-questions.ts";

const batch = 10_000;

describe.skipIf(dayFolder === undefined)(
  "a day of Train Ticket telemetry in a store (skipped where SVC_TRAIN_TICKET names no logs.jsonl.gz with spans and metrics beside it)",
  () => {
    let dir = "";
    let day: RawDay;
    let store: Store;
    beforeAll(async () => {
      day = await readDay(dayFolder!);
      dir = await mkdtemp(join(tmpdir(), "svc-questions-"));
      store = await openStore({ dir });
      const { rows, samples } = dataOf(day);
      for (const signal of ["logs", "traces"] as const) {
        const all = rows[signal]!;
        for (let at = 0; at < all.length; at += batch) await store.append(signal, all.slice(at, at + batch));
      }
      const whole = samples.map(({ arrival: _, ...sample }) => ({ ...sample, unit: "" }));
      for (let at = 0; at < whole.length; at += batch) await store.appendSamples(whole.slice(at, at + batch));
      await store.seal();
    }, 300_000);
    afterAll(async () => {
      await store.close();
      await rm(dir, { recursive: true });
    });

    test.each(questions)("$asks", async (question) => {
      const { query, startMs, endMs, bucketSeconds } = question;
      const { series } = await queryTimeseries(store, { query, startMs, endMs, bucketSeconds });
      expect(describeDifference(series, question.answer(day, question), query.startsWith("topk"))).toBe("");
    });
  },
);
