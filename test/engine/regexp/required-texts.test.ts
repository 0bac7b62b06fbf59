/** The texts that a pattern requires, against RE2 itself. */
import { describe, expect, test } from "vitest";
import { compilePattern } from "../../../engine/regexp/pattern.ts";
import { isLocal, type Requirement, requiredTextsOf } from "../../../engine/regexp/required-texts.ts";
import { Random } from "../../../fixtures/random.ts";
import { mutateText, randomPattern, toBytes } from "./regexp-cases.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const patterns = 3_000;
const textsEach = 12;

describe(`requirements of random patterns (SVC_SEED=${seed})`, () => {
  test.each([false, true])("are necessary and sufficient where they claim to be; whole: %s", (whole) => {
    let decided = 0;
    eachPattern((pattern, texts, random) => {
      const { necessary, sufficient, isExact } = requiredTextsOf(pattern, { whole });
      const { test } = compilePattern(pattern, { whole });
      for (const text of texts) {
        const bytes = toBytes(text, random);
        const matches = test(bytes);
        const needed = satisfies(necessary, bytes);
        const proven = satisfies(sufficient, bytes);
        const agrees = matches ? needed && (proven || !isExact) : !proven && !(isExact && needed);
        if (!agrees) expect.fail(JSON.stringify({ pattern, text, matches, necessary, sufficient, isExact }));
        if (proven || !needed) decided++;
      }
    });
    expect(decided / (patterns * textsEach)).toBeGreaterThan(whole ? 0.1 : 0.3);
  });

  test("a local pattern that matches a part of a text matches the text", () => {
    let proven = 0;
    eachPattern((pattern, texts, random) => {
      if (!isLocal(pattern)) return;
      const { test } = compilePattern(pattern, { whole: false });
      for (const text of texts) {
        const part = randomPart(text, random);
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
    ["[a-z]*error[0-9]+", anyDigitAfter("error"), true],
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
    const found = requiredTextsOf(pattern, { whole: false });
    expect(format(found.necessary)).toBe(wanted);
    expect(found.isExact).toBe(exact);
  });

  test("of a long list of words or a deep pattern stays small", () => {
    const words = Array.from({ length: 40 }, (_, i) => `${i}word`);
    expect(requiredTextsOf(words.join("|"), { whole: false }).isExact).toBe(true);
    // Without a common prefix, which RE2 would factor out.
    const many = Array.from({ length: 500 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}x.*y`);
    expect(requiredTextsOf(many.join("|"), { whole: false }).necessary).toEqual({ kind: "always" });
    const deep = `${"(".repeat(300)}a${")*b".repeat(300)}`;
    expect(requiredTextsOf(deep, { whole: true }).necessary).toEqual({
      kind: "text",
      text: "b",
      ignoreCase: false,
    });
  });

  test("is refused for what is not RE2", () => {
    expect(() => requiredTextsOf("a(", { whole: false })).toThrow(/not RE2 syntax/);
  });
});

function eachPattern(check: (pattern: string, texts: string[], random: Random) => void): void {
  for (let number = 0; number < patterns; number++) {
    const random = new Random(seed, number);
    const { pattern, draw } = randomPattern(random);
    const texts = Array.from({ length: textsEach }, () => mutateText(random, draw()));
    check(pattern, texts, random);
  }
}

function randomPart(text: string, random: Random): string {
  const all = [...text];
  const from = random.below(all.length + 1);
  return all.slice(from, from + random.below(all.length - from + 1)).join("");
}

/** Compares bytes: where case is ignored, only ASCII letters have two forms. */
function satisfies(requirement: Requirement, bytes: Buffer): boolean {
  switch (requirement.kind) {
    case "always":
      return true;
    case "never":
      return false;
    case "text":
      return requirement.ignoreCase
        ? lowerCase(bytes).includes(lowerCase(Buffer.from(requirement.text)))
        : bytes.includes(requirement.text);
    case "and":
      return requirement.of.every((part) => satisfies(part, bytes));
    case "or":
      return requirement.of.some((part) => satisfies(part, bytes));
  }
}

function lowerCase(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function format(requirement: Requirement): string {
  if (requirement.kind === "text") return `${requirement.ignoreCase ? "i" : ""}"${requirement.text}"`;
  if (requirement.kind === "always" || requirement.kind === "never") return requirement.kind;
  const parts = requirement.of.map((part) => ("of" in part ? `(${format(part)})` : format(part)));
  return parts.join(` ${requirement.kind} `);
}

function anyDigitAfter(head: string): string {
  return Array.from({ length: 10 }, (_, digit) => `"${head}${digit}"`).join(" or ");
}
