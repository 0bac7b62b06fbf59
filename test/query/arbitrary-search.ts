/** Random searches for logs and random rows, of few names and values, so that searches often match. */
import fc from "fast-check";
import type { LogRow } from "../../engine/index.ts";
import type { Expression, SearchTerms } from "../../query/index.ts";
import { templateId } from "./templates.ts";

type SearchTerm = SearchTerms["alternatives"][number][number];
type Selector = Extract<Expression, { kind: "selector" }>;
type Stage = Selector["stages"][number];
type Matcher = Selector["matchers"][number];
type Condition = Extract<Stage, { kind: "labelFilter" }>["condition"];
type Text = Matcher["label"]["name"];

const text = (content: string): Text => ({
  kind: "string",
  parts: content === "" ? [] : [{ kind: "characters", text: content }],
});

const names = [
  "a",
  "b.c",
  "status",
  "message",
  "log_level",
  "timestamp",
  "template",
  "attributes.message",
  "status_extracted",
  "__error__",
];
const values = [
  "",
  "*",
  "x",
  "y",
  "X",
  "5",
  "05",
  "5.0",
  "-1",
  "error",
  "ERROR",
  "info",
  "Kelvin",
  "k\u212a",
  "Ä",
  "x y",
  "7",
  templateId("x"),
  templateId("5 - x [y]"),
];
const patterns = [
  "",
  "x",
  "x|y",
  "(?i)x",
  ".*",
  "[0-9]+",
  "k",
  "(?i)k",
  "x y",
  "\\.",
  "(?i)error|info",
  "^x",
  "a|",
  "\\d|Ä",
  "(?i)ä",
];
const messages = [
  "",
  "x",
  "x y X 5",
  "error: Kelvin \u212a",
  '{"status":5,"a":"x","b":{"c":"y"},"message":"in"}',
  '{"status":"07","b.c":null} trailing',
  "status=5 a=x b.c=y",
  'status="5" message="x y" a',
  "level=ERROR ä Ä",
  "5 - x [y]",
];

const label = fc.constantFrom(...names).map((name) => ({ kind: "label" as const, name: text(name) }));
const matcher: fc.Arbitrary<Matcher> = fc.oneof(
  fc.record({
    kind: fc.constant("matcher" as const),
    label,
    operator: fc.constantFrom("=" as const, "!=" as const),
    value: fc.constantFrom(...values).map(text),
  }),
  fc.record({
    kind: fc.constant("matcher" as const),
    label,
    operator: fc.constantFrom("=~" as const, "!~" as const),
    value: fc.constantFrom(...patterns).map(text),
  }),
  fc.record({
    kind: fc.constant("matcher" as const),
    label,
    operator: fc.constantFrom(">" as const, ">=" as const, "<" as const, "<=" as const),
    value: fc
      .constantFrom("5", "-1", "0.5", "7e0", "1000")
      .map((digits) => ({ kind: "number" as const, text: digits })),
  }),
);

const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    matcher,
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      of: fc.array(tie("condition"), { minLength: 2, maxLength: 3 }),
    }),
  ),
}));

const lineFilter = (operators: readonly ("|=" | "!=" | "|~" | "!~")[], texts: readonly string[]) =>
  fc.record({
    kind: fc.constant("lineFilter" as const),
    operator: fc.constantFrom(...operators),
    texts: fc.array(
      fc.record({
        kind: fc.constant("lineFilterText" as const),
        text: fc.constantFrom(...texts).map(text),
        ignoreCase: fc.boolean(),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  });

const stage: fc.Arbitrary<Stage> = fc.oneof(
  lineFilter(["|=", "!="], values),
  lineFilter(["|~", "!~"], patterns),
  fc.constantFrom({ kind: "json" as const }, { kind: "logfmt" as const }),
  fc
    .constantFrom("<a> <_>", "<status> - <b.c> [<a>]", "x <a>")
    .map((each) => ({ kind: "pattern" as const, pattern: text(each) })),
  fc
    .constantFrom("(?P<a>[a-z])(?P<status>[0-9])?", "(?P<message>x)|(?P<a>y)")
    .map((each) => ({ kind: "regexp" as const, pattern: text(each) })),
  condition.map((each) => ({ kind: "labelFilter" as const, condition: each })),
);

export const arbitrarySelector: fc.Arbitrary<Selector> = fc.record({
  kind: fc.constant("selector"),
  of: fc.constant({ kind: "signal", name: "logs" }),
  matchers: fc.array(matcher, { maxLength: 2 }),
  stages: fc.array(stage, { maxLength: 4 }),
});

export const { terms: arbitraryTerms } = fc.letrec<{ terms: SearchTerms; term: SearchTerm }>((tie) => ({
  terms: fc.record({
    kind: fc.constant("terms" as const),
    alternatives: fc.array(fc.array(tie("term"), { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  term: fc.record({
    kind: fc.constant("term" as const),
    excluded: fc.boolean(),
    of: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      matcher,
      fc.record({ kind: fc.constant("phrase" as const), text: fc.constantFrom(...values) }),
      fc.record({
        kind: fc.constant("prefix" as const),
        text: fc.constantFrom("x", "Err", "5", "y", "ror", "b.c", "stat"),
      }),
      tie("terms"),
    ),
  }),
}));

export const arbitraryRow: fc.Arbitrary<LogRow> = fc.record({
  timeNs: fc.constantFrom(0n, 4_999_999n, 5_000_000n, 7_000_000_000n),
  level: fc.constantFrom("", "error", "ERROR", "Err", "Info", "k", "5", "40"),
  message: fc.constantFrom(...messages),
  attributes: fc.dictionary(
    fc.constantFrom("a", "b.c", "status", "message", "status_extracted"),
    fc.constantFrom(...values),
    {
      maxKeys: 3,
    },
  ),
});
