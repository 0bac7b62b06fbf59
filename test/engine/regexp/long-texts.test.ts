/** Patterns over long texts, which are searched for the beginning of a match, against JavaScript's own matcher. */
import { expect, test } from "vitest";
import { buildAutomaton } from "../../../engine/regexp/pattern-automaton.ts";
import { literalPrefixOf } from "../../../engine/regexp/required-texts.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const options = { whole: false };

test.each([
  ["abc[0-9]+", "abc"],
  ["S-1-5-21-[0-9]{9,}-[0-9]+", "S-1-5-21-"],
  ["a(b(c)d)e?", "abcd"],
  ["ab+c", "ab"],
  ["(abab)+c", "ababc"],
  ["aab|aac", "aa"],
  ["aab|bac", ""],
  ["[a]é🦊.", "aé🦊"],
  ["a\\.b", "a.b"],
  ["x{3}y", "xxxy"],
  ["a*b", "b"],
  ["ab\\x{FFFD}c", "ab"],
  ["(?i)abc", ""],
  ["\\babc", ""],
  ["^abc", ""],
  ["abc$", ""],
  ["", ""],
])("where %j matches a part of a text, a match begins with %j", (pattern, prefix) => {
  expect(literalPrefixOf(pattern, options)).toBe(prefix);
  expect(literalPrefixOf(pattern, { whole: true })).toBe("");
});

const patterns = [
  "ab[0-9]+c",
  "aab",
  "(abab)+c",
  "ab+a",
  "ababc[ab]*\\.",
  "aé[^b]é",
  "🦊a|🦊b",
  "ab.{3}ba",
  "ab[^c]{0,4}cc",
  "ab1[0-9]{12}",
];
/** Pieces that texts are made of, so that prefixes begin, break off and overlap. */
const pieces = ["a", "b", "ab", "abab", "c", "1", "9", "é", "🦊", ".", "\n", " ", "aab", "cc", "aé"];

test(`texts are read from where a match may begin (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  let matching = 0;
  for (let i = 0; i < 20_000; i++) {
    const pattern = random.pick(patterns);
    const prefix = Buffer.from(literalPrefixOf(pattern, options));
    const automaton = buildAutomaton(pattern, options)!;
    const text = Array.from({ length: random.below(60) }, () => random.pick(pieces)).join("");
    const around = Buffer.from(`ab1${text}ab7c`);
    const found = automaton.resultAfterPrefix(prefix, around, 3, around.length - 4);
    const wanted = new RegExp(pattern, "u").test(text);
    // An automaton that has reached its limits says so.
    if (found !== "some") expect([pattern, text, found]).toEqual([pattern, text, wanted ? "all" : "none"]);
    if (wanted) matching++;
  }
  expect(matching).toBeGreaterThan(1_000);
});
