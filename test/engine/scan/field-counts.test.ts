/** Counts of fields against a naive loop: random rows in every state, random steps and ranges. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FieldsQuery, Step } from "../../../engine/index.ts";
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
import { countFieldsNaively, toCompared } from "../naive-fields.ts";

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
        const counted = await filled.store.countFields(query);
        const context = `dataset ${number} (${set.state}): ${JSON.stringify(query, printBigInt)}`;
        expect(toCompared(counted), context).toEqual(countNaively(set, query));
        found += counted.rows;
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

function countNaively(set: Dataset, { fromNs, toNs, steps }: FieldsQuery) {
  const within = set.rows.filter(({ timeNs }) => timeNs >= fromNs && timeNs < toNs);
  return countFieldsNaively(within, steps);
}
