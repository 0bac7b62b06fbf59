/** Filters that a click adds: the edited query finds exactly the rows of the old one that have the value, or lack it. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editQuery, filtersOf, parseLogsQuery, printQuery } from "../../../query/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { arbitraryRow, arbitrarySelector, arbitraryTerms } from "../arbitrary-search.ts";
import { evaluateSearch, isSameText, labelValue } from "../naive-search.ts";

type Tree = Parameters<typeof evaluateSearch>[0];

const fields = ["a", "b.c", "status", "log_level", "a field", 'quoted"field'];
const values = [
  "",
  "x",
  "y",
  "5",
  "*",
  "error",
  "x y",
  'a"b\\c',
  "{}",
  "line\nline",
  "\u202egnp",
  "$name",
  "🙂",
];
const edits = fc.record({
  field: fc.constantFrom(...fields),
  value: fc.constantFrom(...values),
  action: fc.constantFrom("include" as const, "exclude" as const),
});
const searches = fc.oneof(arbitrarySelector, arbitraryTerms).map((tree) => printQuery(tree as never));
const read = (text: string) => parseLogsQuery(text) as Tree;

describe("a filter on a field", () => {
  test("finds the rows with the value, or those without it", () => {
    fc.assert(
      fc.property(searches, edits, fc.array(arbitraryRow, { maxLength: 8 }), (text, edit, rows) => {
        fc.pre(!filtersOf(text).some(({ field, value }) => field === edit.field && value === edit.value));
        const edited = read(editQuery(text, edit));
        for (const row of rows) {
          const before = evaluateSearch(read(text), row);
          const isThere =
            before !== undefined && isSameText(edit.field, labelValue(edit.field, before) ?? "", edit.value);
          const isWanted = before !== undefined && isThere === (edit.action === "include");
          // A term of one alternative may say the opposite: then nothing of it is found either way.
          if (read(text).kind === "terms" && hasTermOn(text, edit.field)) continue;
          expect([edit, evaluateSearch(edited, row) !== undefined]).toEqual([edit, isWanted]);
        }
      }),
      { numRuns: scaled(600, 20_000) },
    );
  });

  test("is taken away by the same click, and stands in the list of filters until then", () => {
    fc.assert(
      fc.property(searches, edits, (text, edit) => {
        fc.pre(read(text).kind !== "terms" || !hasTermOn(text, edit.field));
        fc.pre(!filtersOf(text).some(({ field, value }) => field === edit.field && value === edit.value));
        const once = editQuery(text, edit);
        expect(filtersOf(once)).toContainEqual({
          ...{ field: edit.field, value: edit.value },
          isExcluded: edit.action === "exclude",
        });
        expect(printQuery(read(editQuery(once, edit)) as never)).toBe(printQuery(read(text) as never));
      }),
      { numRuns: scaled(400, 10_000) },
    );
  });
});

function hasTermOn(text: string, field: string): boolean {
  const tree = read(text);
  return (
    tree.kind === "terms" &&
    tree.alternatives
      .flat()
      .some(({ of }) => of.kind === "matcher" && JSON.stringify(of.label).includes(JSON.stringify(field)))
  );
}

test.each([
  ["", { field: "service.name", value: "cart", action: "include" }, 'logs{service.name="cart"}'],
  ["refused", { field: "service.name", value: "cart", action: "include" }, "refused service.name=cart"],
  [
    "refused",
    { field: "service.name", value: "/k8s/shop", action: "exclude" },
    'refused -service.name="/k8s/shop"',
  ],
  ["a OR b", { field: "x", value: "1", action: "include" }, "a x=1 OR b x=1"],
  ["a x=1", { field: "x", value: "1", action: "exclude" }, "a -x=1"],
  ['{a="1", b="2"}', { field: "a", value: "3", action: "only" }, 'logs{b="2", a="3"}'],
  ['{a="1"}', { field: "a", value: "1", action: "exclude" }, 'logs{a!="1"}'],
  ["logs | json", { field: "code", value: "5", action: "include" }, 'logs | json | code="5"'],
  [
    'logs | json | code="5" and x="1"',
    { field: "code", value: "5", action: "include" },
    'logs | json | x="1"',
  ],
  [
    'count(logs{a="1"}) by (b)',
    { field: "b", value: "2", action: "include" },
    'count(logs{a="1", b="2"}) by (b)',
  ],
  [
    "count(logs[1h] offset 1d)",
    { field: "b", value: "2", action: "include" },
    'count(logs{b="2"} [1h] offset 1d)',
  ],
  ["logs", { text: "took 5 ms", action: "exclude" }, 'logs != "took 5 ms"'],
  ['logs != "x"', { text: "x", action: "include" }, 'logs |= "x"'],
  ["a", { text: "two words", action: "exclude" }, 'a -"two words"'],
] as const)("%s with %j", (text, edit, expected) => {
  expect(editQuery(text, edit)).toBe(expected);
});

test("spans are selected where the search is for spans", () => {
  const edit = { field: "name", value: "GET", action: "include" } as const;
  expect(editQuery("", edit, "traces")).toBe('traces{name="GET"}');
  expect(editQuery("{duration_ms>5}", edit, "traces")).toBe('traces{duration_ms>5, name="GET"}');
});
