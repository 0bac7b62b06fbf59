/** Rows in the order of their arrival against a naive array: random rows, random steps, in every state that rows pass through. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type Arrived,
  type FoundRow,
  type LogRow,
  openStore,
  type Step,
  type Store,
} from "../../../engine/index.ts";
import { runSteps } from "../../query/naive.ts";
import { arbitrarySteps } from "../arbitrary.ts";
import {
  arbitraryRange,
  type Dataset,
  type FilledStore,
  fillStore,
  printBigInt,
  sample,
  seed,
} from "../datasets.ts";

interface Selection {
  steps: Step[];
  fromNs: bigint;
  rowsMax: number;
}

interface Asked {
  selections: Selection[];
  /** The part of the store's arrival numbers that is asked for. */
  part: [number, number];
}

let filled: FilledStore;
let store: Store;
let sets: Dataset[];

describe(`rows in order of arrival (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    filled = await fillStore(10, 12 * 2 ** 20);
    ({ store, sets } = filled);
  }, 120_000);

  afterAll(() => filled.close());

  test("pages put together give what the array gives, in its order, for all selections at once", async () => {
    for (const [number, set] of sets.entries()) {
      const numbers = await arrivals(set);
      for (const asked of sample(arbitraryAsked(set), 8, 21_000 + number)) {
        const { after, through } = boundsOf(asked.part);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify({ asked, after, through }, printBigInt)}`;
        const { selections } = asked;
        const found = await store.arrived({ signal: "logs", after, through, selections });
        for (const [i, selection] of selections.entries()) {
          const wanted = naive(set, numbers, selection, { after, through });
          if (selection.rowsMax === 0) {
            expect([...found[i]!.rows], context).toEqual([]);
            expect([found[i]!.count, found[i]!.through], context).toEqual([wanted.length, through]);
            continue;
          }
          const paged = await rest(selection, found[i]!, through);
          expect(paged.map(comparable), context).toEqual(wanted.map(comparable));
        }
      }
    }
  }, 120_000);

  test("a page says how far it goes", async () => {
    const selections = [{ steps: [], fromNs: 0n, rowsMax: 7 }];
    const query = { signal: "logs", after: 0, through: store.arrivalMax, selections } as const;
    const [page] = await store.arrived(query);
    expect(page!.rows).toHaveLength(7);
    expect(page!.count).toBe(7);
    expect(page!.through).toBe(page!.rows.at(6).arrival);
    expect(page!.rows.arrivalAt(6)).toBe(page!.through);
  });

  test("who waits is told when rows are on disk and found", async () => {
    const seen: number[] = [];
    const stop = store.onArrival(() => seen.push(store.arrivalMax));
    const row = { timeNs: 1n, level: "", message: "told", attributes: {} };
    await store.append("logs", [row, row]);
    const { arrivalMax } = store;
    expect(seen.at(-1)).toBe(arrivalMax);
    stop();
    await store.append("logs", [row]);
    expect(seen.at(-1)).toBe(arrivalMax);
    expect(store.arrivalMax).toBe(arrivalMax + 1);
  });
});

test("rows that are large together come in several pages", async () => {
  const dir = mkdtempSync(join(tmpdir(), "svc-arrived-"));
  store = await openStore({ dir, threads: 1 });
  const timeNs = 1_000_000_000n;
  const messages = Array.from({ length: 12 }, (_, i) => `${i} ${"x".repeat(1_900_000)}`);
  await store.append(
    "logs",
    messages.map((message) => ({ timeNs, level: "", message, attributes: {} })),
  );
  const selection = { steps: [], fromNs: timeNs, rowsMax: 1_000 };
  const through = store.arrivalMax;
  const query = { signal: "logs", after: 0, through, selections: [selection] } as const;
  const [first] = await store.arrived(query);
  expect(first!.rows.length).toBeLessThan(12);
  const paged = await rest(selection, first!, through);
  expect(paged.map(({ message }) => message)).toEqual(messages);
  await store.close();
  rmSync(dir, { recursive: true });
});

function arbitraryAsked(set: Dataset): fc.Arbitrary<Asked> {
  const selection = fc.record({
    steps: arbitrarySteps(set.rows).map((steps) => [within(set), ...steps]),
    fromNs: arbitraryRange(set).map(({ fromNs }) => fromNs),
    rowsMax: fc.constantFrom(0, 1, 7, 1_000),
  });
  return fc.record({
    selections: fc.array(selection, { minLength: 1, maxLength: 4 }),
    part: fc.constantFrom<[number, number]>([0, 1], [0, 1], [0.2, 0.9], [0.5, 0.6]),
  });
}

function boundsOf([from, to]: [number, number]) {
  return { after: Math.floor(store.arrivalMax * from), through: Math.floor(store.arrivalMax * to) };
}

/** The arrival number of each row of a dataset, in the order in which they were appended. */
async function arrivals({ fromNs, toNs, rows }: Dataset): Promise<number[]> {
  const { rows: found } = await store.search({ signal: "logs", fromNs, toNs, steps: [], limit: 10_000 });
  expect(found).toHaveLength(rows.length);
  return found.map(({ arrival }) => arrival).sort((a, b) => a - b);
}

/** The rows of a dataset alone: the others have days of their own. */
function within({ toNs }: Dataset): Step {
  const number = Number(toNs / 1_000_000n);
  return { kind: "filter", filter: { kind: "compares", field: { kind: "time" }, op: "<", number } };
}

function naive(
  set: Dataset,
  numbers: readonly number[],
  { fromNs, steps }: Selection,
  { after, through }: { after: number; through: number },
): LogRow[] {
  const asked = set.rows.filter(({ timeNs }, i) => {
    const arrival = numbers[i]!;
    return timeNs >= fromNs && arrival > after && arrival <= through;
  });
  return runSteps(steps, asked);
}

/** The first page and those after it. */
async function rest(selection: Selection, first: Arrived, through: number): Promise<FoundRow[]> {
  const rows = [...first.rows];
  for (let after = first.through; after < through; ) {
    const query = { signal: "logs", after, through, selections: [selection] } as const;
    const [page] = await store.arrived(query);
    expect(page!.rows.length).toBeLessThanOrEqual(selection.rowsMax);
    expect(page!.through).toBeGreaterThan(after);
    rows.push(...page!.rows);
    after = page!.through;
  }
  return rows;
}

function comparable({ timeNs, level, message, attributes }: LogRow): unknown {
  return [timeNs, level, message, Object.entries(attributes).sort()];
}
