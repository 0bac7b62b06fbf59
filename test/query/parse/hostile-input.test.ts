/** Any text is planned or refused with a QueryError: no other error, no stack overflow, no endless work. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseLogsQuery, parseQuery, planLogs, printQuery, QueryError } from "../../../query/index.ts";

/** The message of the QueryError for a text; undefined where it can be planned. */
function messageOfRefusal(text: string): string | undefined {
  try {
    planLogs(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    expect(error.message).not.toMatch(/unexpected|token|redundant|undefined|\[object/i);
    expect(error.message.isWellFormed()).toBe(true);
    expect(error.message.length).toBeLessThan(1_000);
    return error.message;
  }
}

const firstLine = (text: string) => messageOfRefusal(text)?.split("\n")[0];

describe("queries above a limit are refused with the limit", () => {
  const many = (text: string, count: number, between = "") => Array(count).fill(text).join(between);

  test.each([
    [
      "tokens",
      `logs{${many('a="b"', 8_000, ",")}}`,
      /^a structured query has at most 10000 names, texts, numbers and signs/,
    ],
    ["1 MB", "x".repeat(2 ** 20), "a query has at most 65536 characters, this one has 1048576"],
    ["brackets", `count(logs) / ${many("(", 4_000)}1${many(")", 4_000)}`, /^brackets nest at most 100 deep/],
    [
      "brackets in a filter",
      `logs | ${many("(", 4_000)}a=1${many(")", 4_000)}`,
      /^brackets nest at most 100 deep/,
    ],
    ["braces", `logs${many("{", 10_000)}`, /^brackets nest at most 100 deep/],
    ["functions", `count(logs) + ${many("sum(", 10_000)}`, /^brackets nest at most 100 deep/],
    ["operators", `count(logs)${many(" + 1", 4_000)}`, /^a query has at most 500 operators between series/],
    ["powers", `count(logs)${many(" ^ 1", 4_000)}`, /^a query has at most 500 operators between series/],
    ["minuses", `count(logs) - ${many("-", 9_000)}1`, /^a query has at most 500 operators between series/],
    ["stages", `logs${many(" | json", 4_000)}`, /^a selector has at most 100 stages/],
    ["matchers", `logs{${many('a="b"', 2_000, ",")}}`, /^a query has at most 1000 conditions/],
    ["conditions", `logs | ${many('a="b"', 2_000, " or ")}`, /^a query has at most 1000 conditions/],
    ["terms", many("x", 20_000, " "), /^a query has at most 1000 conditions/],
    ["a pattern", `logs |~ "${many("a.", 5_000)}"`, /^a regular expression has at most 4096 characters/],
    [
      "patterns",
      `logs${many(` |~ "${many("a.", 2_000)}"`, 10)}`,
      /^the regular expressions of a query have at most 8192 characters together/,
    ],
    [
      "groups of a pattern",
      `logs |~ "${many("(", 1_500)}a${many(")", 1_500)}"`,
      /^this regular expression nests too deeply/,
    ],
    ["repetitions", 'logs |~ "(?:.{1000}){1000}"', /^this regular expression is too large/],
    [
      "repetitions beside each other",
      `logs |~ "${many(".{1000}", 100)}"`,
      /^this regular expression is too large/,
    ],
  ])("%s", (_name, text, message) => {
    expect(firstLine(text)).toMatch(message);
  });

  test("and queries at a limit are not", () => {
    const deep = `${many("(", 100)}1${many(")", 100)}`;
    expect(printQuery(parseQuery(deep))).toBe("1");
    const sums = `1${many(" + (1", 100)}${many(")", 100)}${many(" * 2", 400)}`;
    expect(parseQuery(printQuery(parseQuery(sums)))).toEqual(parseQuery(sums));
    const filters = `logs | ${many("(a=1 or (b=2 and ", 49)}c=3${many("))", 49)}`;
    expect(parseQuery(printQuery(parseQuery(filters)))).toEqual(parseQuery(filters));
    expect(messageOfRefusal(`logs${many(" | json", 100)}`)).toBeUndefined();
    expect(messageOfRefusal(many("x", 1_000, " "))).toBeUndefined();
    expect(messageOfRefusal(`logs |~ "${many("a.", 2_048)}"`)).toBeUndefined();
    expect(messageOfRefusal(`logs |~ "${many("(", 900)}a${many(")", 900)}"`)).toBeUndefined();
  });

  test("ten thousand brackets among terms are a text", () => {
    expect(messageOfRefusal(many("(", 10_000))).toBeUndefined();
  });
});

describe("NUL, half characters and unknown signs are refused", () => {
  test.each([
    ["error \0", "the query holds a NUL character; in a text in quotes write \\x00 (line 1, column 7)"],
    [
      'logs{a="\ud83d"}',
      "the query holds half a character (a surrogate without its partner) (line 1, column 9)",
    ],
    ["\udc00", "the query holds half a character (a surrogate without its partner) (line 1, column 1)"],
    [
      "logs{a\u0001=1}",
      "expected `=`, `!=`, `=~`, `!~`, `>`, `>=`, `<` or `<=`, found `\ufffd` (line 1, column 7)",
    ],
    [
      "logs{\ufffd\ufffd}",
      'expected a label such as `service.name="cart"`, or `}`, found `\ufffd` (line 1, column 6)',
    ],
    ["logs{💥}", 'expected a label such as `service.name="cart"`, or `}`, found `💥` (line 1, column 6)'],
  ])("%j", (text, message) => {
    expect(firstLine(text)).toBe(message);
  });

  test("an excerpt of a long line is short", () => {
    const text = `logs{${'a="b",'.repeat(500)} c=d${',a="b"'.repeat(500)}}`;
    expect(messageOfRefusal(text)).toMatchInlineSnapshot(`
      "expected a text in quotes, a number or a $variable, found \`d\`; put it in quotes: "d" (line 1, column 3009)
        …",a="b",a="b",a="b",a="b",a="b",a="b",a="b",a="b",a="b", c=d,a="b",a="b",a="b",a="b",a="b",a="b",a="b",a="b",a="b",a="b…
                                                                    ^"
    `);
  });
});

const fragments = [
  ..."{}()[]|=!~<>+-*/%^,.:;#$\"'`\\ \n\t\0&@?",
  ...[
    "logs",
    "count(logs",
    "{a=",
    "json",
    "logfmt",
    "pattern",
    "regexp",
    "by",
    "or",
    "and",
    "bool",
    "default",
    "on",
    'i"',
    "|=",
    "|~",
  ],
  ...[
    "!=",
    "!~",
    "=~",
    ">=",
    '"text"',
    "`raw`",
    "$name",
    "5",
    "-1e5",
    "5m",
    "0x",
    "service.name",
    "💥",
    "\ud83d",
    "\ufeff",
    "é",
    "<a>",
    "(?P<n>",
  ],
  ...[
    "(?=",
    "\\1",
    "[a-",
    "a{9}",
    "OR",
    "AND",
    "-x",
    "k:v",
    "k=v",
    'a="b"',
    "sum(",
    "rate(",
    "topk(5,",
    "__proto__",
    "constructor",
  ],
];
const text = fc.oneof(
  fc.array(fc.constantFrom(...fragments), { maxLength: 25 }).map((parts) => parts.join("")),
  fc.array(fc.constantFrom(...fragments), { maxLength: 25 }).map((parts) => `logs ${parts.join(" ")}`),
  fc
    .array(fc.constantFrom(...fragments), { maxLength: 15 })
    .map((parts) => `logs{a="b"} | ${parts.join(" ")}`),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString("utf8")),
  fc.uint16Array({ maxLength: 30 }).map((units) => String.fromCharCode(...units)),
);

test("random texts are planned or refused with a QueryError", () => {
  fc.assert(
    fc.property(text, (each) => {
      const problem = messageOfRefusal(each);
      if (problem !== undefined) return;
      const tree = parseLogsQuery(each);
      expect(parseLogsQuery(printQuery(tree))).toEqual(tree);
    }),
    { numRuns: 3_000 },
  );
}, 60_000);

test("random patterns are planned or refused with a QueryError", () => {
  const pattern = fc.array(fc.constantFrom(..."abk.*+?()[]{}|^$\\-0123456789,:<>=!PQEdpL\n💥é"), {
    maxLength: 20,
  });
  fc.assert(
    fc.property(pattern, (parts) => {
      messageOfRefusal(`logs |~ \`${parts.join("")}\``);
      messageOfRefusal(`logs | regexp ${JSON.stringify(parts.join(""))}`);
      messageOfRefusal(`logs | pattern ${JSON.stringify(parts.join(""))}`);
    }),
    { numRuns: 1_000 },
  );
}, 60_000);
