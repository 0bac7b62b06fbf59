/** What a pattern is said to require, against RE2 itself. */
import { describe, expect, test } from "vitest";
import { compilePattern } from "../../../engine/regexp/pattern.ts";
import { isLocal, type Requirement, requiredTexts } from "../../../engine/regexp/required-texts.ts";
import { Random } from "../../../fixtures/random.ts";
import { bytesOf, nearby, randomPattern } from "./regexp-cases.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const patterns = 3_000;
const textsEach = 12;

describe(`requirements of random patterns (SVC_SEED=${seed})`, () => {
  test.each([false, true])(
    "hold where the pattern matches, and say no more than is true; whole: %s",
    (whole) => {
      let settled = 0;
      eachPattern((pattern, texts, random) => {
        const { needs, proves, exact } = requiredTexts(pattern, { whole });
        const { test } = compilePattern(pattern, { whole });
        for (const text of texts) {
          const bytes = bytesOf(text, random);
          const matches = test(bytes);
          const needed = holds(needs, bytes);
          const proven = holds(proves, bytes);
          const agrees = matches ? needed && (proven || !exact) : !proven && !(exact && needed);
          if (!agrees) expect.fail(JSON.stringify({ pattern, text, matches, needs, proves, exact }));
          if (proven || !needed) settled++;
        }
      });
      expect(settled / (patterns * textsEach)).toBeGreaterThan(whole ? 0.1 : 0.3);
    },
  );

  test("a local pattern that matches a part of a text matches the text", () => {
    let proven = 0;
    eachPattern((pattern, texts, random) => {
      if (!isLocal(pattern)) return;
      const { test } = compilePattern(pattern, { whole: false });
      for (const text of texts) {
        const part = partOf(text, random);
        if (!test(Buffer.from(part))) continue;
        if (!test(Buffer.from(text))) expect.fail(JSON.stringify({ pattern, text, part }));
        proven++;
      }
    });
    expect(proven).toBeGreaterThan(patterns);
  });
});

describe("a requirement", () => {
  test.each([
    ["connection (refused|reset)", '"connection refused" or "connection reset"', true],
    ["(?i)timeout", 'i"timeout"', true],
    ["error.*timeout", '"timeout" and "error"', false],
    [".*error.*", '"error"', true],
    ["[a-z]*error[0-9]+", orDigits("error"), true],
    ["\\berror\\b", '"error"', false],
    ["^error$", '"error"', false],
    ["colou?r", '"colour" or "color"', true],
    ["https?://[a-z]+\\.example", '".example" and ("https://" or "http://")', false],
    ["foo(bar)+baz", '"foobar" and "barbaz"', false],
    ["(?i)disk", 'i"disk" or "ſ" or "\u212a"', false],
    ["[Ee]rror", '"error" or "Error"', true],
    ["(?i:get) /Index", 'i"get /index"', false],
    ["user [0-9]+ (failed|denied)", '(" failed" or " denied") and "user "', false],
    ["one|two.*three|four", '"one" or ("three" and "two") or "four"', false],
    ["[0-9]{3}", "always", false],
    ["x|", "always", true],
    ["", "always", true],
    ["^", "always", false],
    ["[^\\x00-\\x{10FFFF}]", "never", true],
    ["ab.{0,1000}bc", '"ab" and "bc"', false],
  ])("of %s", (pattern, wanted, exact) => {
    const found = requiredTexts(pattern, { whole: false });
    expect(written(found.needs)).toBe(wanted);
    expect(found.exact).toBe(exact);
  });

  test("of a long list of words or a deep pattern stays small", () => {
    const words = Array.from({ length: 40 }, (_, i) => `${i}word`);
    expect(requiredTexts(words.join("|"), { whole: false }).exact).toBe(true);
    // Without a common beginning that RE2 would take out.
    const many = Array.from({ length: 500 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}x.*y`);
    expect(requiredTexts(many.join("|"), { whole: false }).needs).toEqual({ kind: "always" });
    const deep = `${"(".repeat(300)}a${")*b".repeat(300)}`;
    expect(requiredTexts(deep, { whole: true }).needs).toEqual({
      kind: "text",
      text: "b",
      ignoreCase: false,
    });
  });

  test("is refused for what is not RE2", () => {
    expect(() => requiredTexts("a(", { whole: false })).toThrow(/not RE2 syntax/);
  });
});

function eachPattern(check: (pattern: string, texts: string[], random: Random) => void): void {
  for (let number = 0; number < patterns; number++) {
    const random = new Random(seed, number);
    const { pattern, draw } = randomPattern(random);
    const texts = Array.from({ length: textsEach }, () => nearby(random, draw()));
    check(pattern, texts, random);
  }
}

function partOf(text: string, random: Random): string {
  const all = [...text];
  const from = random.below(all.length + 1);
  return all.slice(from, from + random.below(all.length - from + 1)).join("");
}

/** Bytes are compared: where case is ignored, ASCII letters alone have two forms. */
function holds(requirement: Requirement, bytes: Buffer): boolean {
  switch (requirement.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "text":
      return requirement.ignoreCase
        ? lowered(bytes).includes(lowered(Buffer.from(requirement.text)))
        : bytes.includes(requirement.text);
    case "and":
      return requirement.of.every((part) => holds(part, bytes));
    case "or":
      return requirement.of.some((part) => holds(part, bytes));
  }
}

function lowered(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function written(requirement: Requirement): string {
  if (requirement.kind === "text") return `${requirement.ignoreCase ? "i" : ""}"${requirement.text}"`;
  if (requirement.kind === "always" || requirement.kind === "never") return requirement.kind;
  const parts = requirement.of.map((part) => ("of" in part ? `(${written(part)})` : written(part)));
  return parts.join(` ${requirement.kind} `);
}

function orDigits(head: string): string {
  return Array.from({ length: 10 }, (_, digit) => `"${head}${digit}"`).join(" or ");
}
