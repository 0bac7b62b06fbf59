/** Ends of texts in quotes, against regular expressions. */
import { expect, test } from "vitest";
import { Random } from "../../../fixtures/random.ts";
import { QuotedTexts } from "../../../query/text/quoted-texts.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const withinLines = /"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*'|`[^`]*`/y;
const overLines = /"(?:[^"\\]|\\[\s\S])*"|`[^`]*`/y;

function endByPattern(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

test(`texts in quotes end where the pattern does (SVC_SEED=${seed})`, () => {
  const random = new Random(seed);
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: random.below(24) }, () => random.pick([..."\"'`\\\\a\n\r "])).join("");
    const [lines, whole] = [new QuotedTexts(text), new QuotedTexts(text, true)];
    for (let at = 0; at < text.length; at++) {
      const context = JSON.stringify([text, at]);
      expect(lines.findEnd(at, "\"'`"), context).toBe(endByPattern(withinLines, text, at));
      expect(whole.findEnd(at, '"`'), context).toBe(endByPattern(overLines, text, at));
    }
  }
});
