/** Automatons over texts: both implementations against a loop over the bytes of each row. */
import { describe, expect, test } from "vitest";
import type { AutomatonTable } from "../../../engine/kernels/automaton.ts";
import type { Random } from "../../../fixtures/random.ts";
import { dirtyBitmap, expectBits, expectSame, forEachCase, implementations, seed } from "./kernel-cases.ts";
import type { TestMemory } from "./memory.ts";

/** Bytes of texts: some share a symbol, and the last two are in no table. */
const alphabet = Buffer.from("aabbc \n\x00é", "latin1");
const [none, all, unknown] = [0, 1, 2];

/** Transitions by state and symbol, as lists: states 0 to 2 are final. The symbol before the last is the end of a text. */
interface Transitions {
  symbolOf: number[];
  next: number[][];
}

function randomTransitions(random: Random): Transitions {
  const symbols = 1 + random.below(5);
  const states = 4 + random.below(12);
  const finalShare = random.pick([0, 0.02, 0.2, 0.6]);
  const symbolOf = Array.from({ length: 256 }, (_, byte) =>
    byte > 0 && byte < 128 ? byte % symbols : symbols + 1,
  );
  const next = Array.from({ length: states }, (_, state) =>
    Array.from({ length: symbols + 2 }, (_, symbol) => {
      if (state <= unknown) return state;
      if (symbol === symbols + 1) return unknown;
      const isFinal = symbol === symbols || random.below(1_000) < finalShare * 1_000;
      return isFinal ? random.pick([none, none, all, unknown]) : 3 + random.below(states - 3);
    }),
  );
  return { symbolOf, next };
}

function placeTable(
  { symbolOf, next }: Transitions,
  memory: TestMemory<ArrayBufferLike>,
  alignment: number,
): AutomatonTable {
  const width = next[0]!.length;
  return {
    width,
    symbols: memory.bytes(symbolOf, alignment),
    next: memory.words(
      next.flat().map((state) => state * width),
      alignment,
    ),
  };
}

function run({ symbolOf, next }: Transitions, start: number, text: Uint8Array): number {
  return text.reduce((state, byte) => next[state]![symbolOf[byte]!]!, start);
}

function randomRows(size: number, random: Random): { bytes: Uint8Array; cuts: number[] } {
  const bytes = Uint8Array.from({ length: size }, () => alphabet[random.below(random.pick([6, 9]))]!);
  const rows = random.below(Math.min(size, 300) + 3);
  const cuts = Array.from({ length: rows + 1 }, () => random.below(size + 1)).sort((a, b) => a - b);
  return { bytes, cuts };
}

describe.each(implementations)(`$name automatons (SVC_SEED=${seed})`, ({ kernels, memory }) => {
  test("the states after texts, of all rows and of some", () => {
    forEachCase(memory, (size, alignment, random) => {
      if (size > 5_000) return;
      const { bytes, cuts } = randomRows(size, random);
      const text = { bytes: memory.bytes(bytes, alignment), offsets: memory.words(cuts, random.below(16)) };
      const transitions = randomTransitions(random);
      const table = placeTable(transitions, memory, alignment);
      const rows = cuts.length - 1;
      const start = random.below(transitions.next.length);
      const wanted = Array.from(
        { length: rows },
        (_, row) => run(transitions, start, bytes.subarray(cuts[row], cuts[row + 1])) * table.width,
      );
      const states = memory.words(new Uint32Array(rows).fill(99), random.below(16));
      kernels.readTexts(text, null, table, start * table.width, states);
      expectSame(states, wanted);
      const some = Array.from({ length: rows === 0 ? 0 : random.below(40) }, () => random.below(rows));
      const ofSome = memory.words(new Uint32Array(some.length), random.below(16));
      kernels.readTexts(text, memory.words(some, alignment), table, start * table.width, ofSome);
      expectSame(
        ofSome,
        some.map((row) => wanted[row]!),
      );
    });
  });

  test("rows that are matched after a prefix, and the first place after which the table does not tell", () => {
    let [matched, undecided] = [0, 0];
    forEachCase(memory, (size, alignment, random) => {
      if (size > 5_000) return;
      const { bytes, cuts } = randomRows(size, random);
      const transitions = randomTransitions(random);
      const table = placeTable(transitions, memory, alignment);
      const [start, begun] = [3, 3 + random.below(transitions.next.length - 3)];
      const byteLength = 1 + random.below(3);
      const [from, to] = [cuts[0]!, cuts.at(-1)!];
      const places = Array.from({ length: to - from }, (_, i) => from + i).filter(
        () => random.below(4) === 0,
      );
      const wanted = readPlainly(transitions, bytes, cuts, places, byteLength, start, begun);
      const text = { bytes: memory.bytes(bytes, alignment), offsets: memory.words(cuts, random.below(16)) };
      const found = dirtyBitmap(memory, cuts.length - 1, random.below(16)).fill(0);
      const prefix = {
        ...{ byteLength, places: memory.words(places, alignment) },
        ...{ stateBefore: start * table.width, stateAfter: begun * table.width },
      };
      expect(kernels.matchAfterPrefix(text, prefix, table, found)).toBe(wanted.read);
      expectBits(found, wanted.rows, (is) => is);
      matched += wanted.rows.filter(Boolean).length;
      if (wanted.read < places.length) undecided++;
    });
    expect(matched).toBeGreaterThan(20);
    expect(undecided).toBeGreaterThan(20);
  });
});

/** As the contract says, one byte after the other. */
function readPlainly(
  { symbolOf, next }: Transitions,
  bytes: Uint8Array,
  cuts: readonly number[],
  places: readonly number[],
  byteLength: number,
  start: number,
  begun: number,
): { read: number; rows: boolean[] } {
  const rows = new Array<boolean>(cuts.length - 1).fill(false);
  const doneTo = new Map<number, number>();
  for (const [i, place] of places.entries()) {
    const row = cuts.findIndex((cut, at) => cut <= place && place < (cuts[at + 1] ?? -1));
    const end = cuts[row + 1]!;
    if (place < (doneTo.get(row) ?? 0) || place + byteLength > end) continue;
    let state = begun;
    let at = place + byteLength;
    for (; at < end && state > unknown && state !== start; at++) state = next[state]![symbolOf[bytes[at]!]!]!;
    if (state === start) {
      doneTo.set(row, at);
      continue;
    }
    const result = next[state]![next[state]!.length - 2]!;
    if (result === unknown) return { read: i, rows };
    if (result === all) rows[row] = true;
    doneTo.set(row, end);
  }
  return { read: places.length, rows };
}
