/** Checks the generators: random queries over random data use the whole language, and most of them return series. */
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { arbitraryData } from "./arbitrary-data.ts";
import { arbitraryQuery, arbitraryRange } from "./arbitrary-queries.ts";
import { evaluate } from "./naive/evaluator.ts";

// A fixed seed, as these tests check frequencies.
const seed = 20250303;
const queries = fc.sample(fc.tuple(arbitraryQuery, arbitraryRange), { seed, numRuns: 1_500 });
let answeredQueries: string[];
const reasons = new Map<string, number>();

beforeAll(() => {
  const data = fc.sample(arbitraryData, { seed, numRuns: 1 })[0]!;
  answeredQueries = [];
  for (const [query, range] of queries) {
    const found = evaluate(query, data, range);
    const reason = "error" in found ? found.error : found.isFragile ? "fragile" : "";
    if (reason !== "") reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    else if ("series" in found && found.series.length > 0) answeredQueries.push(query);
  }
});

test("most queries have an answer, and rounding decides on few", () => {
  expect(answeredQueries.length).toBeGreaterThan(queries.length * 0.6);
  expect(reasons.get("fragile")).toBeLessThan(queries.length * 0.12);
});

test("queries are refused for many reasons", () => {
  expect(reasons.size).toBeGreaterThan(9);
});

const aggregations =
  "count sum avg min max stddev quantile count_distinct topk bottomk histogram_quantile trace_duration_quantile rate increase json_path offset " +
  "count_over_time avg_over_time min_over_time max_over_time " +
  "sum_over_time stddev_over_time quantile_over_time last_over_time changes delta deriv predict_linear " +
  "abs ceil floor round clamp clamp_min clamp_max label_replace sort sort_desc absent";
const words = "by without on ignoring bool and or unless default";
const signs = "+ - * / % ^ == != > >= < <=";
test.each([...aggregations.split(" "), ...words.split(" ")])(
  "%s is in queries that have an answer",
  (word) => {
    expect(answeredQueries.filter((query) => new RegExp(`\\b${word}\\b`).test(query)).length).toBeGreaterThan(
      5,
    );
  },
);

test.each(signs.split(" "))("%s is in queries that have an answer", (sign) => {
  expect(answeredQueries.filter((query) => query.includes(` ${sign} `)).length).toBeGreaterThan(1);
});
