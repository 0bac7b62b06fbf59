/** The tokeniser in WebAssembly against the one in plain TypeScript, and both against the definition. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BlockMemory } from "../../../engine/kernels/block-memory.ts";
import { tokenizePlain } from "../../../engine/template/plain-tokenizer.ts";
import { tokenizeMessages } from "../../../engine/template/tokenizer.ts";
import { tokenizeIn, viewTokenized } from "../../../engine/template/tokenizer-kernel.ts";
import type { TextVector } from "../../../engine/vector/text.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

function makeVector(messages: readonly Uint8Array[], before: number): TextVector {
  const offsets = new Uint32Array(messages.length + 1).fill(before);
  for (const [i, message] of messages.entries()) offsets[i + 1] = offsets[i]! + message.length;
  // Bytes before and after the messages must not matter.
  return {
    offsets,
    bytes: new Uint8Array(Buffer.concat([Buffer.alloc(before, "7"), ...messages, Buffer.alloc(9, 0xff)])),
  };
}

const letters = "ab Z9-_.:/[]0é\u00ff\n\t\r";
const piece = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .string({ unit: fc.constantFrom(...letters), maxLength: 12 })
      .map((text) => Buffer.from(text)),
  },
  { weight: 3, arbitrary: fc.nat().map((n) => Buffer.from(`took ${n} ms `)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom("\n", "", "\n\n"), fc.constantFrom("a", "Key 7 of", "\tx"), fc.nat({ max: 40 }))
      .map(([before, key, n]) => Buffer.from(`${before}${key}: ${"v w".repeat(n)}${n} \n`)),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(" ", "x", "7")
      .chain((letter) => fc.nat({ max: 140 }).map((n) => Buffer.alloc(n, letter))),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)) },
);
const message = fc.array(piece, { maxLength: 9 }).map((pieces) => Buffer.concat(pieces));
const messages = fc
  .array(message, { minLength: 1, maxLength: 20 })
  .chain((distinct) =>
    fc.array(fc.constantFrom(...distinct), { maxLength: 90 }).map((more) => [...distinct, ...more]),
  );

describe(`splitting messages (SVC_SEED=${seed})`, () => {
  const tokenize = (text: TextVector, templatesMax = text.offsets.length) => {
    const memory = BlockMemory.take();
    const places = tokenizeIn(memory, text, templatesMax);
    const tokenized = places && viewTokenized(memory, places);
    memory.giveBack(1 << 28);
    return tokenized;
  };

  test("the kernel returns what the plain tokeniser returns", () => {
    fc.assert(
      fc.property(messages, fc.nat({ max: 20 }), (list, before) => {
        const text = makeVector(list, before);
        expect(tokenize(text)).toEqual(tokenizePlain(text));
      }),
      { seed, numRuns: 2_000 },
    );
  });

  test("the kernel ends where there are more templates than it may find", () => {
    fc.assert(
      fc.property(messages, fc.nat({ max: 20 }), (list, templatesMax) => {
        const text = makeVector(list, 0);
        const whole = tokenizePlain(text);
        const wanted = whole.firstRows.length > templatesMax ? undefined : whole;
        expect(tokenize(text, templatesMax)).toEqual(wanted);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test("the same where every other byte is a variable", () => {
    const text = makeVector(
      Array.from({ length: 100 }, (_, i) => Buffer.from("1 ".repeat(i * 7))),
      0,
    );
    expect(tokenize(text)).toEqual(tokenizePlain(text));
  });

  test("templates and variables restore the messages, and follow the definition", () => {
    fc.assert(
      fc.property(messages, (list) => {
        const { templates, codes, firstVariables, variableStarts, variableEnds, bytes } = tokenizeMessages(
          makeVector(list, 0),
        );
        expect(new Set(templates.map((template) => Buffer.from(template).toString("latin1"))).size).toBe(
          templates.length,
        );
        for (const [row, expected] of list.entries()) {
          const values: string[] = [];
          for (let i = firstVariables[row]!; i < firstVariables[row + 1]!; i++) {
            values.push(Buffer.from(bytes.subarray(variableStarts[i], variableEnds[i])).toString("latin1"));
          }
          const latin = expected.toString("latin1");
          expect(values).toEqual(latin.includes("\xff") ? [latin] : findVariables(latin));
          let next = 0;
          const template = Buffer.from(templates[codes[row]!]!).toString("latin1");
          expect(template.replaceAll("\xff", () => values[next++]!)).toBe(latin);
        }
      }),
      { seed, numRuns: 500 },
    );
  });
});

const tokenPattern = /[A-Za-z0-9_.\-\x80-\xff]+/g;
const linePattern = /^[ \t\r]*[^ \t\r].*?:[ \t\r]+(?=[^ \t\r])/s;

function findVariables(message: string): string[] {
  const lines = message.split("\n");
  const keys = lines.map((line) => linePattern.exec(line)?.[0]).map((key) => (isKey(key) ? key : undefined));
  const isKeyed = keys.filter((key) => key !== undefined).length >= 3;
  return lines.flatMap((line, i) => {
    const key = isKeyed ? keys[i] : undefined;
    const tokens = ((key ?? line).match(tokenPattern) ?? []).filter((token) => /\d/.test(token));
    return key === undefined ? tokens : [...tokens, line.slice(key.length).replace(/[ \t\r]+$/, "")];
  });
}

/** A key has at most seven blanks between its first and its last character. */
function isKey(key: string | undefined): key is string {
  if (key === undefined) return false;
  return (
    key
      .replace(/^[ \t\r]+/, "")
      .replace(/:[ \t\r]+$/, "")
      .replace(/[^ \t\r]/g, "").length <= 7
  );
}
