/** Random trees survive printing and parsing. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseLogsQuery, parseQuery, printQuery } from "../../../query/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { anyExpression, anyTerms } from "./arbitrary-tree.ts";

test("a printed expression parses to the same tree and prints the same", () => {
  fc.assert(
    fc.property(anyExpression, (tree) => {
      const printed = printQuery(tree);
      const read = parseQuery(printed);
      expect(read).toEqual(tree);
      expect(printQuery(read)).toBe(printed);
    }),
    { numRuns: scaled(800, 50_000) },
  );
}, 60_000);

test("printed terms parse to the same terms and print the same", () => {
  fc.assert(
    fc.property(anyTerms, (tree) => {
      const printed = printQuery(tree);
      const read = parseLogsQuery(printed);
      expect(read).toEqual(tree);
      expect(printQuery(read)).toBe(printed);
    }),
    { numRuns: scaled(800, 50_000) },
  );
}, 60_000);
