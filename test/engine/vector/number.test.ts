/** Numbers read from bytes, against JavaScript's own parser and printer. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRoundTripBytes, parseRoundTripNumber } from "../../../engine/vector/number.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

const digits = fc.oneof(
  fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 18 }),
  fc.string({ unit: fc.constantFrom(..."0009"), maxLength: 12 }),
);
const text = fc.oneof(
  fc
    .tuple(fc.constantFrom("", "-", "+"), digits, fc.constantFrom("", "."), digits)
    .map((parts) => parts.join("")),
  fc.double().map(String),
  fc
    .tuple(fc.nat({ max: 2 ** 31 - 1 }), fc.nat({ max: 9 }))
    .map(([number, power]) => String(number / 10 ** power)),
  fc.string({ unit: fc.constantFrom(..."0123456789.-+eE"), maxLength: 8 }),
);

test(`a text is a number where JavaScript prints that number as this text (SVC_SEED=${seed})`, () => {
  fc.assert(
    fc.property(text, fc.constantFrom("9", "-", ".", "0"), (each, beside) => {
      const bytes = Buffer.from(`${beside}${each}${beside}`);
      expect(parseRoundTripBytes(bytes, 1, bytes.length - 1)).toBe(parseRoundTripNumber(each));
    }),
    { seed, numRuns: 50_000 },
  );
});
