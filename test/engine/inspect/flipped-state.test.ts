/** Whatever bit of a copy of the state is flipped: what a start reports as damage, verify has found before. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openState, openStore, verifyStore } from "../../../engine/index.ts";
import { Random } from "../../../fixtures/random.ts";

const seed = Number(process.env.SVC_SEED ?? Math.trunc(Math.random() * 2 ** 31));
const folder = mkdtempSync(join(tmpdir(), "svc-flipped-state-"));
afterAll(() => rmSync(folder, { recursive: true }));
const original = join(folder, "original");
const copyFile = "control/b/data.mdb";

/** The ids differ at their beginning, so that the keys stay in order whatever is flipped at their end. */
const idOf = (i: number) => `${i}-entry-xyz`;

async function makeStore(): Promise<void> {
  const store = await openStore({ dir: original, threads: 1 });
  const state = await openState(join(original, "control"));
  for (let i = 0; i < 40; i++) await state.write([{ table: "left", id: idOf(i), value: { i } }]);
  await state.close();
  await store.close();
  expect((await verifyStore(original)).damage).toEqual([]);
}

/** Positions of a text in a file. */
function positionsOf(bytes: Buffer, text: string): number[] {
  const positions: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) positions.push(at);
  return positions;
}

/** What verify found, and then what a start found, in a copy of the store with one bit flipped. */
async function flip(at: number, bit: number): Promise<{ verified: boolean; started: boolean }> {
  const dir = join(folder, `${at}-${bit}`);
  cpSync(original, dir, { recursive: true });
  const bytes = readFileSync(join(dir, copyFile));
  bytes[at]! ^= 1 << bit;
  writeFileSync(join(dir, copyFile), bytes);
  const verified = (await verifyStore(dir)).damage.length > 0;
  const state = await openState(join(dir, "control"));
  const started = state.damage.length > 0;
  expect(state.get("left", idOf(7)), `bit ${bit} of byte ${at}`).toEqual({ i: 7 });
  await state.close();
  rmSync(dir, { recursive: true });
  return { verified, started };
}

test(`verify and a start agree (SVC_SEED=${seed})`, { timeout: 120_000 }, async () => {
  await makeStore();
  const bytes = readFileSync(join(original, copyFile));
  const random = new Random(seed);
  // A key of the tree stands before its frame, which has the key again; flipped there, the order of keys stays.
  const keys = positionsOf(bytes, "-entry-xyz").map((at) => at + "-entry-".length);
  expect(keys.length).toBeGreaterThan(80);
  const flips = [
    ...Array.from({ length: 24 }, () => [random.pick(keys), 1] as const),
    ...Array.from({ length: 24 }, () => [random.below(bytes.length), random.below(8)] as const),
  ];
  const found = [];
  for (const [at, bit] of flips) found.push({ at, bit, ...(await flip(at, bit)) });
  expect(found.filter(({ verified, started }) => verified !== started)).toEqual([]);
  expect(found.filter(({ started }) => started).length).toBeGreaterThan(0);
});
