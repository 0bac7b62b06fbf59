import { describe, expect, test } from "vitest";
import {
  formatAnswerDifference,
  hashAnswer,
  toRowAnswer,
  toTopAnswer,
  toValueAnswer,
} from "../../../bench/systems/answer.ts";

describe("answers", () => {
  const row = (timeNs: bigint, message: string, attributes: [string, string][] = []) => ({
    timeNs,
    level: "info",
    message,
    attributes,
  });

  test("are equal whatever the order of rows and attributes, and empty attributes are none", () => {
    const [a, b] = [row(2n, "a", [["x", "1"]]), row(1n, "b")];
    const other = row(2n, "a", [
      ["y", ""],
      ["x", "1"],
    ]);
    expect(hashAnswer(toRowAnswer([a, b], 100))).toBe(hashAnswer(toRowAnswer([b, other], 100)));
    expect(hashAnswer(toRowAnswer([a, b], 100))).not.toBe(hashAnswer(toRowAnswer([a, row(1n, "c")], 100)));
  });

  test("of a cut list leave out what could as well be another row", () => {
    const rows = [row(3n, "a"), row(2n, "b"), row(1n, "c")];
    expect(toRowAnswer(rows, 3)).toEqual(toRowAnswer([rows[0]!, rows[1]!, row(1n, "other")], 3));
    const groups = [[["a"], 0, 9] as const, [["b"], 0, 5] as const];
    expect(toTopAnswer(groups, 2)).toEqual(toTopAnswer([groups[0]!, [["c"], 0, 5]], 2));
    expect(toTopAnswer(groups, 3)).toHaveLength(2);
  });

  test("of calculated values agree whatever the order of their numbers, and tell others apart", () => {
    const answer = (value: number) => toValueAnswer([[["a"], 0, value]]);
    expect(answer(0.1 + 0.2 + 0.3)).toEqual(answer(0.3 + 0.2 + 0.1));
    // Halves of the last digit that is kept: each system may come out on another side.
    expect(answer(43.75042645)).toEqual(answer(43.75042645 + 7e-15));
    expect(answer(43.75042645)).toEqual(answer(43.75042645 - 7e-15));
    expect(answer(1.00000001)).not.toEqual(answer(1));
  });

  test("that differ are shown, each side's lines with its sign", () => {
    expect(formatAnswerDifference(["1", "2"], ["2", "3"], 10)).toBe("  - 1\n  + 3");
  });
});
