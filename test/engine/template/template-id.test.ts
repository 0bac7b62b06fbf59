/** Template ids: known hashes, and random messages against a second implementation. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { templateIdOf, templateTextOf } from "../../../engine/index.ts";
import { hash64 } from "../../../engine/vector/xxhash.ts";
import { hash64 as naiveHash, templateId, templateText } from "../../query/templates.ts";

const bytesOf = (text: string) => Buffer.from(text, "utf8");

describe("xxHash64", () => {
  test.each([
    ["", "ef46db3751d8e999"],
    ["a", "d24ec4f1a98c6e5b"],
    ["abc", "44bc2cf5ad770999"],
    ["Nobody inspects the spammish repetition", "fbcea83c8a378bf1"],
  ])("of %j", (text, hash) => {
    expect(hash64(bytesOf(text), 0, Buffer.byteLength(text))).toBe(hash);
  });

  test("of random bytes, anywhere in a larger buffer, agrees with the specification", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 150 }), fc.nat({ max: 9 }), (bytes, before) => {
        const all = Uint8Array.from([...new Array(before).fill(7), ...bytes, 9]);
        const hash = naiveHash(bytes).toString(16).padStart(16, "0");
        expect(hash64(all, before, before + bytes.length)).toBe(hash);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a template", () => {
  test.each([
    ["", "", "ef46db3751d8e999"],
    ["GET /cart 200 in 12ms", "GET /cart <*> in <*>", "cea5d810124c15d9"],
    ["a<*>b", "a<*>b", templateId("a<*>b")],
    ["é1 x", "<*> x", templateId("2 x")],
    ["Name: a b\nID 7:\t-\r\n x: {1} \nend 8", "Name: <*>\nID <*>:\t<*>\r\n x: <*> \nend <*>", undefined],
    ["a: b\nc: d", "a: b\nc: d", undefined],
  ])("of %j is %j", (message, text, id) => {
    expect(templateTextOf(message)).toBe(text);
    expect(templateIdOf(message)).toBe(id ?? templateId(message));
  });

  test.each([
    ["any characters", fc.string({ unit: "binary", maxLength: 60 })],
    ["lines", fc.string({ unit: fc.constantFrom(..."a1: \t\r\né-{"), maxLength: 60 })],
    ["lines `Key: value`", arbitraryLines()],
  ])("has the id and the text that the documentation defines, for messages of %s", (_, messages) => {
    fc.assert(
      fc.property(messages, (message) => {
        const stored = message.toWellFormed();
        expect(templateIdOf(stored)).toBe(templateId(stored));
        expect(templateTextOf(stored)).toBe(templateText(stored));
      }),
      { numRuns: 2_000 },
    );
  });

  function arbitraryLines(): fc.Arbitrary<string> {
    const blanks = fc.constantFrom("", " ", "\t\t", "\r", "        ");
    const word = fc.constantFrom(
      "Name",
      "id7",
      ":",
      "a:b",
      "-",
      "x y",
      "2024",
      "one two three four five six",
    );
    return fc
      .array(
        fc
          .tuple(blanks, word, fc.constantFrom(":", ": ", ":\t", ""), word, blanks, word)
          .map((parts) => parts.join("")),
        { maxLength: 7 },
      )
      .map((lines) => lines.join("\n"));
  }
});
