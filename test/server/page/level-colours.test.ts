/** The levels of a severity range have one colour. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { styleOfLevel } from "../../../server/page/client/rows/level-colour.ts";

const reference = readFileSync(new URL("../../../query/README.md", import.meta.url), "utf8");
const ranges = ["fatal", "error", "warn", "info", "debug", "trace"];

test.each(ranges)("%s", (range) => {
  const [, cell = ""] = new RegExp(`^\\| \`${range}\` \\| (.*) \\|$`, "m").exec(reference) ?? [];
  const levels = [...cell.matchAll(/`([^`]+)`/g)].map(([, level]) => level!);
  expect(levels.length).toBeGreaterThan(6);
  for (const level of levels.flatMap((each) => [each, each.toUpperCase()])) {
    const { colour, rank } = styleOfLevel(level);
    expect([level, colour, rank]).toEqual([level, `--level-${range}`, ranges.indexOf(range)]);
  }
});

test("other levels have none", () => {
  for (const level of ["", "unknown", "11", "x"]) expect(styleOfLevel(level).colour).toBe("--level-none");
});
