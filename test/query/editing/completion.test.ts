/** Completion and highlighting of queries that are being typed, against what the parser takes. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  completeQuery,
  findMistake,
  highlightQuery,
  parseLogsQuery,
  printQuery,
} from "../../../query/index.ts";
import { scaled } from "../../durability/campaign.ts";
import { arbitrarySelector, arbitraryTerms } from "../arbitrary-search.ts";

/** Completes at the caret. */
function at(text: string, what: "rows" | "series" = /^(?:sum|http|avg)/.test(text) ? "series" : "rows") {
  const offset = text.indexOf("‸");
  const { words, wanted, prefix, from, quote } = completeQuery(text.replace("‸", ""), offset, what);
  return { words, wanted, prefix, from, quote };
}

describe("names of the stored rows are wanted", () => {
  test.each([
    ["{‸", { kind: "field", signal: "logs" }, ""],
    ["logs{serv‸", { kind: "field", signal: "logs" }, "serv"],
    ['traces{service.name="x", k8s.‸', { kind: "field", signal: "traces" }, "k8s."],
    ['{service.name="‸', { kind: "value", signal: "logs", field: "service.name" }, ""],
    ['{service.name="/k8s/sh‸', { kind: "value", signal: "logs", field: "service.name" }, "/k8s/sh"],
    ['{"a field"=~"v‸', { kind: "value", signal: "logs", field: "a field" }, "v"],
    [
      'http_requests_total{code="5‸',
      { kind: "value", signal: "metrics", metric: "http_requests_total", field: "code" },
      "5",
    ],
    [
      "sum(rate(http_requests_total{‸",
      { kind: "field", signal: "metrics", metric: "http_requests_total" },
      "",
    ],
    ["count(logs) by (‸", { kind: "field", signal: "logs" }, ""],
    ["sum(rate(x{a='1'})) by (a, po‸", { kind: "field", signal: "metrics", metric: "x" }, "po"],
    ["logs | json | sta‸", { kind: "field", signal: "logs" }, "sta"],
    ['logs | json | status="‸', { kind: "value", signal: "logs", field: "status" }, ""],
    ["sum(rate(http_‸", { kind: "metric" }, "http_"],
    ["service‸", { kind: "field", signal: "logs" }, "service"],
    ["refused service.name=/k8s‸", { kind: "value", signal: "logs", field: "service.name" }, "/k8s"],
    ['refused -service.name:"/k8s x‸', { kind: "value", signal: "logs", field: "service.name" }, "/k8s x"],
    ['{a="1"} ‸', undefined, ""],
  ])("in %s", (text, wanted, prefix) => {
    const { wanted: got, prefix: typed } = at(text);
    expect([got, typed]).toEqual([wanted, prefix]);
  });
});

describe("words of the language", () => {
  test.each([
    ['{a="1"} ‸', ["|", "|=", "|~"], ["by", "sum"]],
    ["logs | ‸", ["json", "logfmt", "pattern", "regexp"], ["sum", "traces"]],
    ["{a‸", [], ["and", "avg"]],
    ["{a ‸", ["=", "!=", "=~"], ["and", "}"]],
    ["sum(ra‸", ["rate"], ["or"]],
    ["sum(rate(x)) ‸", ["by", "without", "/"], ["json"]],
    ["co‸", ["count", "count_distinct"], ["sum"]],
    ["refused A‸", ["AND"], ["OR", "avg"]],
    ["{a=‸", [], ["by", "-"]],
    ["sum(rate(x)) b‸", ["by"], []],
  ])("in %s", (text, present, absent) => {
    const { words } = at(text);
    for (const word of present) expect(words).toContain(word);
    for (const word of absent) expect(words).not.toContain(word);
  });
});

test.each([
  ['{service.name="‸', 'it\'s "5"', '`it\'s "5"`'],
  ["{‸", "service.name", "service.name"],
  ["{‸", "a field", '"a field"'],
  ["{‸", "json", '"json"'],
  ["avg(‸", "a-b", '"a-b"'],
  ["ser‸", "service.name", "service.name:"],
  ["service.name=‸", "two words", '"two words"'],
])("in %s the name %s is inserted as %s", (text, name, inserted) => {
  expect(at(text).quote(name)).toBe(inserted);
});

const texts = fc.oneof(
  fc.oneof(arbitrarySelector, arbitraryTerms).map((tree) => printQuery(tree as never)),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        "{",
        "}",
        "(",
        ")",
        '"',
        "|",
        "=",
        "#",
        "-",
        "by",
        "logs",
        "sum",
        "a.b",
        " ",
        "\n",
        "5",
      ),
    )
    .map((all) => all.join("")),
);

test("pieces stand in order, overlap nowhere and leave out nothing but white space", () => {
  fc.assert(
    fc.property(texts, (text) => {
      let behind = 0;
      for (const { start, end } of highlightQuery(text)) {
        expect(start).toBeGreaterThanOrEqual(behind);
        expect(text.slice(behind, start).trim()).toBe("");
        expect(end).toBeGreaterThan(start);
        behind = end;
      }
      expect(text.slice(behind).trim()).toBe("");
    }),
    { numRuns: scaled(1_000, 50_000) },
  );
});

test("completion never throws, at any place of any text, and each word may stand where it is offered", () => {
  fc.assert(
    fc.property(texts, fc.nat(60), (text, offset) => {
      const { from, words } = completeQuery(text, Math.min(offset, text.length), "series");
      for (const word of words.slice(0, 5)) {
        const next = `${text.slice(0, from)} ${word}`;
        if (/^[A-Z]/.test(word)) continue;
        const mistake = findMistake(next);
        expect([next, mistake === undefined || mistake.start >= next.length]).toEqual([next, true]);
      }
    }),
    { numRuns: 500 },
  );
});

test.each([
  ["{a=}", { problem: expect.stringContaining("expected"), start: 3, end: 4 }],
  ["sum(rate(x)", { problem: expect.any(String), start: 11, end: 11 }],
  ['a "b', { problem: expect.stringContaining("no closing"), start: 2, end: 3 }],
])("the mistake of %s", (text, mistake) => {
  expect(findMistake(text)).toEqual(mistake);
});

test("long words, as pasted rows have them, are read in time that grows with their length", () => {
  const words = ["a".repeat(20_000), "a-".repeat(10_000), "40f3eb0b1843eee0fd3b1f01bd4f4211".repeat(600)];
  for (const word of words)
    for (const text of [`{ "id": ${word} `, `{${word}`, `${word}"`, `{a="${word}" `, `[${word}][${word}] `]) {
      for (const what of ["rows", "series"] as const) completeQuery(text, text.length, what);
      highlightQuery(text);
      findMistake(text);
    }
});

test("no mistake is found in what the search takes", () => {
  fc.assert(
    fc.property(fc.oneof(arbitrarySelector, arbitraryTerms), (tree) => {
      const text = printQuery(tree as never);
      parseLogsQuery(text);
      expect(findMistake(text)).toBeUndefined();
    }),
  );
});

test.each([
  [
    'sum(rate(x{a="1"})) by (b) # why',
    "function bracket function bracket name bracket name operator string bracket bracket bracket keyword bracket name bracket comment",
  ],
  ["count(logs[5m] offset 1d)", "function bracket signal bracket number bracket keyword number bracket"],
  ["logs | json | a > 5", "signal operator keyword operator name operator number"],
  ['refused -debug "two words" a=5 AND b', "word operator excluded string name operator string keyword word"],
])("the pieces of %s", (text, kinds) => {
  expect(
    highlightQuery(text)
      .map(({ kind }) => kind)
      .join(" "),
  ).toBe(kinds);
});
