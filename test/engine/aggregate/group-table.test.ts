/** Group numbers against a map, of texts that were chosen to collide as well. */
import { describe, expect, test } from "vitest";
import { GroupTable } from "../../../engine/aggregate/group-table.ts";
import { textAt } from "../../../engine/vector/text.ts";
import { Random } from "../../../fixtures/random.ts";
import { seed } from "../datasets.ts";

const letters = [..."abcdefghijklmnopqrstuvwxyz"];
const fnvPrime = 0x01000193;

/** Two texts that take FNV-1a from one state to the same next one, and that state. Found by a birthday search. */
function findPair(random: Random, state: number): { pair: [string, string]; next: number } {
  const seen = new Map<number, string>();
  for (;;) {
    const text = Array.from({ length: 8 }, () => random.pick(letters)).join("");
    let hash = state;
    for (const letter of text) hash = Math.imul(hash ^ letter.charCodeAt(0), fnvPrime);
    const other = seen.get(hash);
    if (other !== undefined && other !== text) return { pair: [other, text], next: hash };
    seen.set(hash, text);
  }
}

/** 2^pairs texts of one hash. */
function makeColliding(random: Random, pairs: number): string[] {
  const found: [string, string][] = [];
  let state = 0x811c9dc5 | 0;
  for (let i = 0; i < pairs; i++) {
    const { pair, next } = findPair(random, state);
    found.push(pair);
    state = next;
  }
  return Array.from({ length: 2 ** pairs }, (_, n) => found.map((pair, i) => pair[(n >> i) & 1]).join(""));
}

describe(`groups (SVC_SEED=${seed})`, () => {
  test.each([1, 2, 3])("of %i fields have the numbers of a map", (fields) => {
    const random = new Random(seed + fields);
    const colliding = makeColliding(random, 9);
    const drawText = () => {
      if (random.oneIn(2)) return random.pick(colliding);
      return random.oneIn(3) ? "größe".slice(0, random.below(6)) : random.hex(random.below(4));
    };
    const table = new GroupTable(fields, { groupsMax: 1e6, bytesMax: 1e9 });
    const numbers = new Map<string, number>();
    for (let i = 0; i < 8_000; i++) {
      const texts = Array.from({ length: fields }, drawText);
      const key = JSON.stringify(texts);
      if (!numbers.has(key)) numbers.set(key, numbers.size);
      for (const text of texts) table.stageText(text);
      expect(table.findOrAddStaged()).toBe(numbers.get(key));
    }
    expect(table.count).toBe(numbers.size);
    const labels = table.finish();
    for (const [key, number] of numbers) {
      const texts = Array.from({ length: fields }, (_, field) => textAt(labels, number * fields + field));
      expect(texts).toEqual(JSON.parse(key));
    }
  });

  test("of texts that are split at other places differ, however many there are", () => {
    const table = new GroupTable(2, { groupsMax: 1e6, bytesMax: 1e9 });
    const text = "x".repeat(2_000);
    for (let use = 0; use < 2; use++) {
      for (let at = 0; at <= text.length; at++) {
        table.stageText(text.slice(0, at));
        table.stageText(text.slice(at));
        expect(table.findOrAddStaged()).toBe(at);
      }
    }
  });
});
