/** Checks the naive evaluator against examples that were computed by hand, and examples from Prometheus' own tests. */
import { describe, expect, test } from "vitest";
import { readCases } from "./cases.ts";
import { describeDifference } from "./difference.ts";
import { evaluate } from "./naive/evaluator.ts";

describe.each(["worked", "prometheus"])("%s examples", (prefix) => {
  test.each(readCases(prefix))("$query", ({ query, data, range, expect: expected, isOrdered }) => {
    const found = evaluate(query, data, range);
    if (typeof expected === "string" || "error" in found) return expect(found).toEqual({ error: expected });
    expect(describeDifference(found.series, expected, isOrdered)).toBe("");
  });
});
