/** The reader of MessagePack against another implementation, and its skipping of values as their bytes come. */
import { decode, encode } from "@msgpack/msgpack";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MessagePackReader, ValueSkipper } from "../../../../server/ingest/fluent/message-pack.ts";
import { writeMessagePack } from "../../../../server/ingest/fluent/message-pack-writer.ts";

const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true }),
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.array(tie("value"), { maxLength: 20 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 20, noNullPrototype: false }),
  ),
})).value!;

test("values are read as another implementation wrote them", () => {
  fc.assert(
    fc.property(value, (each) => {
      const reader = new MessagePackReader(Buffer.from(encode(each)));
      expect(toPlain(reader.readValue())).toEqual(toPlain(each));
      expect(reader.isAtEnd).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("a value is skipped to its end, whatever the pieces in which it comes", () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 40 }), (each, pieceBytes) => {
      const bytes = Buffer.from(encode(each));
      const skipper = new ValueSkipper(0);
      for (let to = pieceBytes; to < bytes.length; to += pieceBytes)
        expect(skipper.skip(bytes.subarray(0, to))).toBe(false);
      expect(skipper.skip(Buffer.concat([bytes, Buffer.from([1])]))).toBe(true);
      expect(skipper.at).toBe(bytes.length);
    }),
    { numRuns: 300 },
  );
});

test("what the server writes is read by another implementation", () => {
  const nonce = Uint8Array.of(1, 2);
  const sent = ["HELO", { nonce, keepalive: true, name: "größer" }];
  const [name, { nonce: received, ...others }] = decode(writeMessagePack(sent)) as [
    string,
    Record<string, unknown> & { nonce: Uint8Array },
  ];
  expect([name, others]).toEqual(["HELO", { keepalive: true, name: "größer" }]);
  expect([...received]).toEqual([1, 2]);
});

/** Without -0 and prototypes, which the format does not tell apart. */
function toPlain(each: unknown): unknown {
  return JSON.parse(JSON.stringify(each, (_key, member: unknown) => (Object.is(member, -0) ? 0 : member)));
}
