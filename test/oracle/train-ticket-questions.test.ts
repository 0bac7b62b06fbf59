/**
 * The questions of a person on call: the naive evaluator answers their queries as plain loops over the raw lines do.
 */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { describeDifference } from "../query/series/difference.ts";
import type { TelemetryData } from "../query/series/naive/data.ts";
import { evaluate } from "../query/series/naive/evaluator.ts";
import { dataOf, dayFolder, type RawDay, readDay } from "./train-ticket-day.ts";
import { questions } from "./train-ticket-questions.ts";

let day: RawDay;
let data: TelemetryData;

describe.skipIf(dayFolder === undefined)(
  "a day of Train Ticket telemetry (skipped where SVC_TRAIN_TICKET names no logs.jsonl.gz with spans and metrics beside it)",
  () => {
    beforeAll(async () => {
      day = await readDay(dayFolder!);
      data = dataOf(day);
    }, 300_000);

    test.each(questions)("$asks", (question) => {
      const answer = question.answer(day, question);
      expect(answer).not.toEqual([]);
      const found = evaluate(question.query, data, question);
      if ("error" in found) expect(found.error).toBeUndefined();
      else expect(describeDifference(found.series, answer, question.query.startsWith("topk"))).toBe("");
    });
  },
);

test("query/ON-CALL.md has every question and its query", () => {
  const page = readFileSync(new URL("../../query/ON-CALL.md", import.meta.url), "utf8");
  for (const { asks, query } of questions) {
    expect(page).toContain(asks);
    expect(page).toContain(`'${query}'`);
  }
});
