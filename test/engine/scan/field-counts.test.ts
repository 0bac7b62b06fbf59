/** Counts of fields against a naive loop: random rows in every state, random steps and ranges. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldsQuery, LogRow, Step } from "../../../engine/index.ts";
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

const datasets = 10;
const queriesEach = 50;

let filled: FilledStore;

describe(`random counts of fields (SVC_SEED=${seed})`, () => {
  beforeAll(async () => {
    filled = await fillStore(datasets, 32 * 2 ** 20);
  }, 120_000);

  afterAll(() => filled.close());

  test(`${datasets * queriesEach} counts are what a loop over the rows gives`, async () => {
    let found = 0;
    for (const [number, set] of filled.sets.entries()) {
      for (const query of sample(arbitraryQuery(set), queriesEach, 17_000 + number)) {
        const { rows, levels, attributes, isWhole } = await filled.store.countFields(query);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        const counted = { rows, levels, attributes: [...attributes].sort(), isWhole };
        expect(counted, context).toEqual(naiveCounts(set, query));
        found += rows;
      }
    }
    expect(found).toBeGreaterThan(500);
  }, 300_000);
});

/** Half of them without steps, which headers answer. */
function arbitraryQuery(set: Dataset): fc.Arbitrary<FieldsQuery> {
  const whole = fc.constant({ fromNs: set.fromNs, toNs: set.toNs + 86_400_000_000_000n });
  return fc
    .tuple(fc.oneof(arbitraryRange(set), whole), fc.oneof(arbitrarySteps(set.rows), fc.constant<Step[]>([])))
    .map(([range, steps]) => ({ signal: "logs", ...range, steps }));
}

function naiveCounts(set: Dataset, { fromNs, toNs, steps }: FieldsQuery) {
  const within = set.rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  const rows: LogRow[] = within.flatMap((each) => runSteps(steps, [each]));
  const attributes = new Map<string, number>();
  for (const row of rows) {
    for (const key of Object.keys(row.attributes)) attributes.set(key, (attributes.get(key) ?? 0) + 1);
  }
  const levels = rows.filter(({ level }) => level !== "").length;
  return { rows: rows.length, levels, attributes: [...attributes].sort(), isWhole: true };
}
