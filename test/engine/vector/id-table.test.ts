/** Tables of ids against a map of texts. */
import { describe, expect, test } from "vitest";
import { gatherIds, IdTable } from "../../../engine/vector/id-table.ts";
import { textAt } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));

describe(`ids (SVC_SEED=${seed})`, () => {
  test.each([4, 8, 16, 20, 32])("of %i bytes have codes in the order in which they came", (width) => {
    const random = new Random(seed + width);
    const table = new IdTable(width);
    const codes = new Map<string, number>();
    const words = new Uint32Array((width / 4) * 3);
    const known: Buffer[] = [];
    for (let i = 0; i < 20_000; i++) {
      const id =
        known.length > 0 && random.below(3) === 0
          ? known[random.below(known.length)]!
          : Buffer.from(Array.from({ length: width }, () => random.below(random.below(2) === 0 ? 2 : 256)));
      const text = id.toString("hex");
      if (!codes.has(text)) {
        codes.set(text, codes.size);
        known.push(id);
      }
      const at = random.below(3) * (width / 4);
      new Uint8Array(words.buffer).set(id, at * 4);
      if (random.below(1_000) === 0) table.reserve(random.below(5_000));
      expect(table.intern(words, at)).toBe(codes.get(text));
    }
    expect(table.size).toBe(codes.size);
    const texts = table.texts();
    expect(Array.from({ length: table.size }, (_, code) => textAt(texts, code))).toEqual([...codes.keys()]);
    const { bytes } = table.packed();
    expect(Buffer.from(bytes).toString("hex")).toBe([...codes.keys()].join(""));
    const picked = [1, -1, 0];
    const gathered = gatherIds(table.packed(), picked);
    expect(Buffer.from(gathered.bytes).toString("hex")).toBe(
      [known[1]!.toString("hex"), "00".repeat(width), known[0]!.toString("hex")].join(""),
    );
  });
});
