/** Plans of random searches select the same rows as an evaluation of their trees row by row. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LogRow } from "../../../engine/index.ts";
import { type Expression, planLogs, printQuery, type SearchTerms } from "../../../query/index.ts";
import { arbitraryRow, arbitrarySelector, arbitraryTerms } from "../arbitrary-search.ts";
import { runSteps } from "../naive.ts";
import { evaluateSearch } from "../naive-search.ts";

type Selector = Extract<Expression, { kind: "selector" }>;

const plain = (rows: readonly LogRow[]) =>
  rows.map((each) => ({ ...each, attributes: { ...each.attributes } }));

test.each([
  ["structured queries", arbitrarySelector],
  ["search terms", arbitraryTerms],
] as const)(
  "%s",
  (_name, trees: fc.Arbitrary<Selector | SearchTerms>) => {
    fc.assert(
      fc.property(trees, fc.array(arbitraryRow, { minLength: 1, maxLength: 6 }), (tree, rows) => {
        const { steps } = planLogs(printQuery(tree));
        const meant = rows.flatMap((each) => evaluateSearch(tree, each) ?? []);
        expect(plain(runSteps(steps, rows))).toEqual(plain(meant));
        expect(structuredClone(steps)).toEqual(steps);
      }),
      { numRuns: 3_000 },
    );
  },
  60_000,
);
