import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failure } from "../../../engine/failure.ts";
import { DataFile } from "../../../engine/lmdb/data-file.ts";
import { openState, type State, type StateChange } from "../../../engine/state/state.ts";
import type { Json } from "../../../engine/state/state-record.ts";
import { scaled } from "../../durability/campaign.ts";
import { anyDamage, damageFile, type FileDamage } from "../lmdb/random-environment.ts";

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-state-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function emptyPath(name: string): string {
  const path = join(dir, name);
  rmSync(path, { recursive: true, force: true });
  return path;
}

const anyId = fc.oneof(
  fc.constantFrom("a", "b", "c", "d", "e"),
  fc.string({ unit: "binary", maxLength: 20 }),
);
const anyValue = fc.option(
  fc.oneof(
    fc.jsonValue() as fc.Arbitrary<Json>,
    fc.nat(6_000).map((bytes) => "v".repeat(bytes)),
  ),
  { nil: undefined, freq: 4 },
);
const anyChange: fc.Arbitrary<StateChange> = fc.record({
  table: fc.constantFrom("tokens", "alerts"),
  id: anyId,
  value: anyValue,
});
const anyWrites = fc.array(fc.array(anyChange, { minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 25,
});

type Model = Map<string, Map<string, Json>>;

function apply(model: Model, changes: readonly StateChange[]): void {
  for (const { table, id, value } of changes) {
    const entries = model.get(table) ?? new Map<string, Json>();
    model.set(table, entries);
    if (value === undefined) entries.delete(id);
    else entries.set(id, JSON.parse(JSON.stringify(value)));
  }
}

function expectSame(state: State, model: Model): void {
  for (const table of ["tokens", "alerts"]) {
    const entries = [...(model.get(table) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(state.list(table).map(({ id, value }) => [id, value])).toEqual(entries);
    for (const [id, value] of entries) expect(state.get(table, id)).toEqual(value);
    expect(state.get(table, "never written")).toBeUndefined();
  }
}

/** Writes a state and closes it. Returns the entries that it must hold, and the names of all that were ever written. */
async function writeState(
  path: string,
  writes: StateChange[][],
): Promise<{ model: Model; names: [string, string][] }> {
  const model: Model = new Map();
  const state = await openState(path);
  for (const changes of writes) {
    await state.write(changes);
    apply(model, changes);
  }
  await state.close();
  return { model, names: writes.flat().map(({ table, id }) => [table, id]) };
}

describe("the state", () => {
  test("holds what was written, in order, across opening again", async () => {
    await fc.assert(
      fc.asyncProperty(anyWrites, async (writes) => {
        const path = emptyPath("model");
        const model: Model = new Map();
        let state = await openState(path);
        for (const [i, changes] of writes.entries()) {
          await state.write(changes);
          apply(model, changes);
          expectSame(state, model);
          if (i % 9 === 4) {
            await state.close();
            state = await openState(path);
            expect(state.damage).toEqual([]);
            expectSame(state, model);
          }
        }
        await state.close();
      }),
      { numRuns: scaled(15, 300) },
    );
  });

  test("groups writes that arrive together into few commits", async () => {
    const path = emptyPath("group");
    const state = await openState(path);
    await Promise.all(
      Array.from({ length: 500 }, (_, i) => state.write([{ table: "alerts", id: String(i), value: i }])),
    );
    const file = new DataFile(join(path, "a", "data.mdb"));
    expect(file.readNewestMeta().transactionId).toBeLessThan(10);
    file.close();
    expect(state.list("alerts").length).toBe(500);
    await state.close();
    await expect(state.write([{ table: "alerts", id: "late", value: 1 }])).rejects.toThrow("closed");
  });

  test("returns frozen values, and refuses ids that it cannot store", async () => {
    const state = await openState(emptyPath("frozen"));
    const value = { list: [1, { deep: true }] };
    const write = state.write([{ table: "alerts", id: "one", value }]);
    value.list.push(2);
    await write;
    const got = state.get("alerts", "one") as typeof value;
    expect(got).toEqual({ list: [1, { deep: true }] });
    expect(() => got.list.push(3)).toThrow(TypeError);
    for (const id of ["x".repeat(1_100), "\ud800"]) {
      const refused = state.write([
        { table: "alerts", id: "two", value: 1 },
        { table: "alerts", id, value: 1 },
      ]);
      await expect(refused).rejects.toMatchObject({ kind: "input" });
    }
    expect(state.get("alerts", "two")).toBeUndefined();
    await state.close();
  });

  test("holds every acknowledged write after kill -9", async () => {
    const path = emptyPath("killed");
    let last = 0;
    for (let round = 0; round < 8; round++) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "state-user.ts"), path]);
      let output = "";
      child.stdout.on("data", (text) => {
        output += String(text);
        // Waits for two writes, however slow the disk is, so that the kill interrupts a later one.
        if (output.split("\n").length > 3 && !child.killed)
          setTimeout(() => child.kill("SIGKILL"), (round * 13) % 50);
      });
      await new Promise((resolve) => child.on("close", resolve));
      last = Math.max(
        last,
        ...output
          .split("\n")
          .slice(0, -1)
          .map((line) => Number(line) || 0),
      );
      const state = await openState(path);
      expect(state.damage).toEqual([]);
      const counter = (state.get("counter", "last") as number | undefined) ?? 0;
      // A write that was not acknowledged is there as a whole or not at all.
      expect([last, last + 1]).toContain(counter);
      const expected = Array.from({ length: Math.min(counter, 10) }, (_, i) => counter - i);
      expect(
        state
          .list("entries")
          .map(({ id }) => Number(id))
          .sort((a, b) => b - a),
      ).toEqual(expected);
      await state.close();
      last = counter;
    }
    expect(last).toBeGreaterThanOrEqual(16);
  });
});

const anyCopyDamage = fc.oneof(
  { weight: 8, arbitrary: fc.array(anyDamage, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant("removed" as const) },
  { weight: 1, arbitrary: fc.constant("emptied" as const) },
);

function damageCopy(path: string, damage: FileDamage[] | "removed" | "emptied"): void {
  if (damage === "removed") rmSync(path, { recursive: true });
  else if (damage === "emptied") truncateSync(join(path, "data.mdb"), 0);
  else damageFile(join(path, "data.mdb"), damage);
}

describe("damage", () => {
  test("to one copy loses nothing, and is repaired", async () => {
    await fc.assert(
      fc.asyncProperty(anyWrites, fc.constantFrom("a", "b"), anyCopyDamage, async (writes, copy, damage) => {
        const path = emptyPath("one");
        const { model } = await writeState(path, writes);
        damageCopy(join(path, copy), damage);
        let state = await openState(path);
        expectSame(state, model);
        const { damage: found } = state;
        await state.write([{ table: "alerts", id: "after", value: 1 }]);
        apply(model, [{ table: "alerts", id: "after", value: 1 }]);
        await state.close();
        if (damage === "removed" || damage === "emptied") expect(found.length).toBeGreaterThan(0);
        rmSync(join(path, copy === "a" ? "b" : "a"), { recursive: true });
        state = await openState(path);
        expectSame(state, model);
        await state.close();
      }),
      { numRuns: scaled(60, 2_000) },
    );
  });

  test("to both copies is reported where an entry is lost, out of date or deleted no more", async () => {
    let losses = 0;
    await fc.assert(
      fc.asyncProperty(anyWrites, anyCopyDamage, anyCopyDamage, async (writes, first, second) => {
        const path = emptyPath("both");
        const { model, names } = await writeState(path, writes);
        damageCopy(join(path, "a"), first);
        damageCopy(join(path, "b"), second);
        if (!existsSync(join(path, "a")) && !existsSync(join(path, "b"))) return;
        for (const opening of [1, 2]) {
          const state = await openState(path);
          if (opening === 1 && state.damage.length === 0) expectSame(state, model);
          losses += state.damage.some(({ where }) => where === path) ? 1 : 0;
          for (const [table, id] of names) expectRightOrReported(state, model, table, id, opening === 1);
          await state.close();
          if (opening === 2) expect(state.damage).toEqual([]);
        }
      }),
      { numRuns: scaled(60, 2_000) },
    );
    expect(losses).toBeGreaterThan(0);
  });

  test("to a value in both copies is reported with its id, and the entry is lost until it is written again", async () => {
    const path = emptyPath("value");
    let state = await openState(path);
    for (let i = 0; i < 20; i++)
      await state.write([{ table: "tokens", id: `t${i}`, value: "x".repeat(5_000) }]);
    await state.write([{ table: "tokens", id: "t7", value: "y".repeat(5_000) }]);
    await state.close();
    for (const copy of ["a", "b"]) flipIn(join(path, copy, "data.mdb"), "y".repeat(4_000));
    for (const opening of [1, 2]) {
      state = await openState(path);
      expect(state.damage.some(({ problem }) => problem.includes("tokens/t7 is lost"))).toBe(opening === 1);
      expect(() => state.get("tokens", "t7")).toThrow(Failure);
      expect(state.list("tokens").length).toBe(19);
      if (opening === 2) await state.write([{ table: "tokens", id: "t7", value: "new" }]);
      await state.close();
    }
    state = await openState(path);
    expect(state.get("tokens", "t7")).toBe("new");
    expect(state.damage).toEqual([]);
    await state.close();
  });

  test("to one copy while the state is open is reported, and the other copy takes the writes", async () => {
    const path = emptyPath("live");
    let state = await openState(path);
    await state.write([{ table: "tokens", id: "one", value: "x".repeat(9_000) }]);
    truncateSync(join(path, "b/data.mdb"), 8_192);
    for (const id of ["two", "three"]) await state.write([{ table: "tokens", id, value: 1 }]);
    expect(state.damage.length).toBe(1);
    await state.close();
    state = await openState(path);
    expect(state.list("tokens").map(({ id }) => id)).toEqual(["one", "three", "two"]);
    await state.close();
  });

  test("a full disk refuses writes until there is space again", async (context) => {
    const disk = emptyPath("disk");
    mkdirSync(disk);
    if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "none", disk]).status !== 0) {
      return context.skip("only root may mount a small disk");
    }
    try {
      let state = await openState(join(disk, "state"));
      await state.write([{ table: "tokens", id: "kept", value: "k" }]);
      writeFileSync(join(disk, "ballast"), Buffer.alloc(200_000));
      const big = { table: "tokens", id: "big", value: "b".repeat(900_000) };
      await expect(state.write([big])).rejects.toMatchObject({ kind: "disk-full" });
      expect(state.get("tokens", "big")).toBeUndefined();
      expect(state.get("tokens", "kept")).toBe("k");
      await state.close();
      state = await openState(join(disk, "state"));
      expect(state.list("tokens")).toMatchObject([{ id: "kept", value: "k" }]);
      rmSync(join(disk, "ballast"));
      await state.write([{ table: "tokens", id: "room", value: "r".repeat(100_000) }]);
      await state.close();
      state = await openState(join(disk, "state"));
      expect(state.list("tokens").map(({ id }) => id)).toEqual(["kept", "room"]);
      await state.close();
    } finally {
      spawnSync("umount", [disk]);
    }
  });
});

/** At the first opening an entry is right, throws a Failure, or the state has reported damage. */
function expectRightOrReported(
  state: State,
  model: Model,
  table: string,
  id: string,
  isFirstOpening: boolean,
): void {
  let got: Json | undefined;
  try {
    got = state.get(table, id);
  } catch (error) {
    expect(error).toBeInstanceOf(Failure);
    return;
  }
  const right = model.get(table)?.get(id);
  if (isFirstOpening && JSON.stringify(got) !== JSON.stringify(right))
    expect(state.damage.length).toBeGreaterThan(0);
}

/** Flips one bit in every occurrence of the text in the file. */
function flipIn(file: string, text: string): void {
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + text.length))
    bytes[at + 100]! ^= 1;
  writeFileSync(file, bytes);
}

test("deletions are dropped while the state is open, and no trace of them is left in its files", async () => {
  const path = emptyPath("deletions");
  const state = await openState(path);
  await state.write([{ table: "alerts", id: "kept", value: { name: "kept" } }]);
  for (let round = 0; round < 30; round++) {
    const ids = Array.from({ length: 100 }, (_, i) => `gone ${round} ${i}`);
    await state.write(ids.map((id) => ({ table: "tokens", id, value: { secret: id } })));
    await state.write(ids.map((id) => ({ table: "tokens", id, value: undefined })));
  }
  expect(state.list("tokens")).toEqual([]);
  const stored = [...state.snapshot().values()].length;
  expect(stored).toBeLessThan(1_200);
  await state.write([{ table: "alerts", id: "later", value: 1 }]);
  await state.close();
  for (const name of ["a", "b"]) {
    expect(existsSync(join(path, `${name}.old`)) || existsSync(join(path, `${name}.new`))).toBe(false);
    expect(readFileSync(join(path, name, "data.mdb")).includes("gone 0 ")).toBe(false);
  }
  const again = await openState(path);
  expect(again.damage).toEqual([]);
  expect(again.list("alerts").map(({ id }) => id)).toEqual(["kept", "later"]);
  expect(again.list("tokens")).toEqual([]);
  await again.close();
});
