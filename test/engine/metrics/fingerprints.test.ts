/** Fingerprints in WebAssembly against xxHash64 in TypeScript. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fingerprintTexts } from "../../../engine/metrics/fingerprints.ts";
import { hash64Words } from "../../../engine/vector/xxhash.ts";

test("fingerprints are xxHash64 of texts of any length and bytes", () => {
  const text = fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ minLength: 200, maxLength: 400 }));
  fc.assert(
    fc.property(fc.array(text, { maxLength: 20 }), (texts) => {
      const offsets = new Uint32Array(texts.length + 1);
      for (const [i, { length }] of texts.entries()) offsets[i + 1] = offsets[i]! + length;
      const fingerprints = fingerprintTexts({ offsets, bytes: new Uint8Array(Buffer.concat(texts)) });
      expect([...fingerprints]).toEqual(
        texts.flatMap((bytes) => {
          const { high, low } = hash64Words(bytes, 0, bytes.length);
          return [low, high];
        }),
      );
    }),
    { numRuns: 500 },
  );
});
