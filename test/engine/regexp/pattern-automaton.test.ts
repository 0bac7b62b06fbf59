/** Automatons over templates and variables, against RE2 over the messages that these stand for. */
import { describe, expect, test } from "vitest";
import { compilePattern } from "../../../engine/regexp/pattern.ts";
import {
  buildAutomaton,
  matchTemplate,
  type PatternAutomaton,
} from "../../../engine/regexp/pattern-automaton.ts";
import { classesOf } from "../../../engine/template/variables/slot-encoding.ts";
import { Random } from "../../../fixtures/random.ts";
import { mutateText, oneOf, randomPattern, toBytes } from "./regexp-cases.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const patterns = 1_500;
const textsEach = 8;
const instancesEach = 6;

describe(`automatons of random patterns (SVC_SEED=${seed})`, () => {
  test.each([false, true])("read a text as RE2 does; whole: %s", (whole) => {
    let matching = 0;
    eachPattern(whole, (automaton, pattern, random, draw) => {
      const { test } = compilePattern(pattern, { whole });
      for (let i = 0; i < textsEach; i++) {
        const bytes = toBytes(mutateText(random, draw()), random);
        const matches = test(bytes);
        const found = automaton.resultAt(automaton.afterText(automaton.start, bytes, 0, bytes.length));
        const describeCase = () =>
          JSON.stringify({ pattern, text: bytes.toString("latin1"), matches, found });
        if (found !== (matches ? "all" : "none")) expect.fail(describeCase());
        if (matches) matching++;
      }
    });
    expect(matching).toBeGreaterThan((patterns * textsEach) / 10);
  });

  test.each([false, true])("match templates as RE2 does their messages; whole: %s", (whole) => {
    const results = { all: 0, none: 0, some: 0 };
    eachPattern(whole, (automaton, pattern, random, draw) => {
      const { test } = compilePattern(pattern, { whole });
      for (let i = 0; i < textsEach; i++) {
        const template = randomTemplate(toBytes(mutateText(random, draw()), random));
        const messages = Array.from({ length: instancesEach }, () => randomInstance(template, random));
        const classes = random.below(2) === 0 ? undefined : slotClasses(messages);
        const result = matchTemplate(automaton, template.bytes, classes);
        for (const { bytes } of messages) {
          const matches = test(bytes);
          if (result === "some" || (result === "all") === matches) continue;
          expect.fail(JSON.stringify({ pattern, text: bytes.toString("latin1"), result, classes }));
        }
        results[result]++;
      }
    });
    expect(Math.min(results.all, results.none)).toBeGreaterThan((patterns * textsEach) / 20);
  });

  test("take bytes that are not UTF-8 as RE2 does", () => {
    const odd = ["c080", "e08080", "eda080", "f0808080", "f4908080", "f5808080", "e282", "80", "ff", "c3"];
    const texts = [...odd, ...odd.map((hex) => `${hex}c3a9`), "c3a9", "efbfbd", "e282ac", "f09f9880", "dfbf"];
    for (const pattern of [
      "^.$",
      "^..$",
      "^.{3}$",
      "^[^\\x{fffd}]+$",
      "^[\\x{fffd}é]*$",
      "[\\x{d800}-\\x{dfff}]",
    ]) {
      const automaton = buildAutomaton(pattern, { whole: false })!;
      for (const hex of texts) {
        const bytes = Buffer.from(hex, "hex");
        const matches = compilePattern(pattern, { whole: false }).test(bytes);
        const result = automaton.resultAt(automaton.afterText(automaton.start, bytes, 0, bytes.length));
        expect(result, `${pattern} on ${hex}`).toBe(matches ? "all" : "none");
      }
    }
  });

  test("give up where a pattern has too many states, without a wrong result", () => {
    const pattern = "(a|b)*a(a|b){14}x";
    const automaton = buildAutomaton(pattern, { whole: false })!;
    const { test } = compilePattern(pattern, { whole: false });
    const random = new Random(seed);
    const found = Array.from({ length: 200 }, () => {
      const text = Array.from({ length: 100 }, () => oneOf(random, ["a", "b", "b", "a", "ax"])).join("");
      const bytes = Buffer.from(text);
      const result = automaton.resultAt(automaton.afterText(automaton.start, bytes, 0, bytes.length));
      if (result !== "some") expect(result, text).toBe(test(bytes) ? "all" : "none");
      return result;
    });
    expect(found).toContain("some");
    expect(buildAutomaton("x{1000}y{1000}z{500}", { whole: false })).toBeUndefined();
  });
});

describe("the result on a template", () => {
  const digits = 1;
  const digitsAndMarks = 1 + 16;
  test.each([
    ["refused", "connection refused by <*>", "all", undefined],
    ["refused", "connection accepted by <*>", "some", undefined],
    ["refused", "connection accepted by <*>", "none", digitsAndMarks],
    ["timed out", "connection accepted by <*>", "none", undefined],
    ["refused", "<*> connections", "some", undefined],
    ["refused", "<*> connections", "none", digits],
    ["user [0-9]+ failed", "user <*> failed", "all", digits],
    ["user [0-9]+ failed", "user <*> failed", "some", digitsAndMarks],
    ["user [0-9]+ failed", "user <*> failed", "some", undefined],
    ["user \\S+ failed", "user <*> failed", "all", undefined],
    ["user .* failed", "user <*> of <*> failed", "all", undefined],
    ["user .* failed", "failed for user <*>", "none", undefined],
    ["\\d", "took <*> ms", "all", undefined],
    ["[^ -~]", "took <*> ms", "none", digitsAndMarks],
    ["^<", "<*> done", "none", undefined],
    ["^\\d+ done$", "<*> done", "all", digits],
    ["done$", "done in <*>", "some", undefined],
    ["done$", "done (<*>)", "none", undefined],
    ["\\bms\\b", "took <*> ms", "all", undefined],
    ["(?i)WARN|5\\d\\d", "status <*>", "some", digits],
    ["^[^0-9]*$", "took <*> ms", "none", undefined],
    ["^[^0-9]*$", "took ms", "all", undefined],
    ["(?m)^b", "a\nb", "all", undefined],
    ["(?m)$^", "a\nb", "none", undefined],
    ["(?m)$^", "a\n\nb", "all", undefined],
    ["", "<*>", "all", undefined],
    [" ", "<*>", "some", undefined],
    [" ", "<*>", "none", digitsAndMarks],
    [" ", "a<*>", "none", undefined],
  ])("of %s on %s is %s, with classes %s", (pattern, templateText, result, classes) => {
    const template = Buffer.from(templateText.replaceAll("<*>", "\xff"), "latin1");
    const automaton = buildAutomaton(pattern, { whole: false })!;
    const ofSlots = classes === undefined ? undefined : Uint8Array.of(0, classes, classes);
    expect(matchTemplate(automaton, template, ofSlots, 1)).toBe(result);
  });
});

function eachPattern(
  whole: boolean,
  check: (automaton: PatternAutomaton, pattern: string, random: Random, draw: () => string) => void,
): void {
  for (let number = 0; number < patterns; number++) {
    const random = new Random(seed, number);
    const { pattern, draw } = randomPattern(random);
    check(buildAutomaton(pattern, { whole })!, pattern, random, draw);
  }
}

interface Template {
  bytes: Buffer;
  /** Texts between the variables, in latin1. */
  texts: string[];
  variables: string[];
}

/** A message as template and variables, split by a regular expression that says what FORMAT.md says. */
function randomTemplate(message: Buffer): Template {
  const text = message.toString("latin1");
  if (text.includes("\xff")) return { bytes: Buffer.of(0xff), texts: ["", ""], variables: [text] };
  const variable = /[A-Za-z_.\x80-\xff-]*[0-9][A-Za-z0-9_.\x80-\xff-]*/g;
  const texts = text.split(variable);
  return {
    bytes: Buffer.from(texts.join("\xff"), "latin1"),
    texts,
    variables: [...text.matchAll(variable)].map(([found]) => found),
  };
}

interface Instance {
  bytes: Buffer;
  variables: Buffer[];
}

function randomInstance({ texts, variables }: Template, random: Random): Instance {
  const values = variables.map((value) =>
    Buffer.from(random.below(2) ? value : randomVariable(random), "latin1"),
  );
  const bytes = Buffer.concat(
    texts.flatMap((text, i) => [Buffer.from(text, "latin1"), values[i] ?? Buffer.of()]),
  );
  return { bytes, variables: values };
}

/** A token that has a digit, in latin1. */
function randomVariable(random: Random): string {
  const characters = [..."0179aekKsSE_.-", "\xc3\xa9", "\xc5\xbf", "\xe2\x84\xaa", "\x80"];
  const part = () => Array.from({ length: random.below(4) }, () => oneOf(random, characters)).join("");
  return part() + oneOf(random, [..."0179"]) + (random.below(2) ? part() : "");
}

function slotClasses(messages: readonly Instance[]): Uint8Array {
  const slots = messages[0]!.variables.length;
  return Uint8Array.from({ length: slots }, (_, slot) =>
    messages.reduce((classes, { variables }) => {
      const value = variables[slot]!;
      return classes | classesOf(value, 0, value.length);
    }, 0),
  );
}
